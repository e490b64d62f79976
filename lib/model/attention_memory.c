/* What attention works in: a list of buffers a thread, sized by the kind of attention. */
#include <string.h>

#include "base/num.h"
#include "model/pass.h"
#include "model/attention_strip.h"

/* A buffer of a thread: where its pointer and its size stand. All are of floats or of what is as
 * large. */
static const struct buffer_row {
    size_t pointer;      /* in struct attention_memory */
    size_t rows, stride; /* in struct attention_size */
    bool zeroed;
} buffer_rows[] = {
#define BUFFER(pointer, rows, stride, zeroed)                                              \
    {                                                                                      \
        offsetof(struct attention_memory, pointer), offsetof(struct attention_size, rows), \
            offsetof(struct attention_size, stride), zeroed                                \
    }
    BUFFER(panels, panels, one, false),
    BUFFER(scores, rows, stride, false),
    BUFFER(context, rows, context_stride, false),
    BUFFER(part, part_rows, context_stride, false),
    BUFFER(row, row, one, false),
    BUFFER(sums, sums, one, false),
    BUFFER(seen, seen, one, false),
    BUFFER(drawn, drawn, one, false),
    BUFFER(pairs.keys, pairs.keys, one, true),
    BUFFER(pairs.values, pairs.values, one, true),
    BUFFER(pairs.queries, pairs.queries, one, true),
    BUFFER(pairs.weights, pairs.weights, one, true),
#undef BUFFER
};

enum { BUFFERS = sizeof buffer_rows / sizeof *buffer_rows };

static size_t size_at(const struct attention_size *size, size_t offset)
{
    return *(const size_t *)(const void *)((const char *)size + offset);
}

/* The floats of a buffer; false: more than can be counted. */
static bool count_floats(size_t *count, const struct attention_size *size, size_t buffer)
{
    const struct buffer_row *row = &buffer_rows[buffer];
    return num_multiply(count, size_at(size, row->rows), size_at(size, row->stride));
}

/* The bytes that a thread takes for such a text; false: more than can be counted. */
static bool measure(struct attention_size *size, size_t *bytes,
                    const struct attention_problem *problem)
{
    *size = (struct attention_size){.one = 1};
    *bytes = 0;
    if (!attention_method(problem->rule.kind)->measure(size, problem))
        return false;
    for (size_t i = 0; i < BUFFERS; i++) {
        size_t count = 0;
        if (!count_floats(&count, size, i) || !num_multiply(&count, count, sizeof(float)) ||
            !num_add(bytes, *bytes, count))
            return false;
    }
    return true;
}

size_t attention_bytes(const struct config *config, size_t queries, size_t keys)
{
    struct attention_problem problem = {
        .config = config, .queries = queries, .keys = keys, .fresh_keys = keys};
    enum site_part last = config->n_encoder_layer ? PART_CROSS : PART_SENTENCE;
    size_t all = 0;
    for (enum site_part part = PART_SENTENCE; part <= last; part++) { /* each has its own */
        struct attention_size size;
        size_t bytes = 0;
        problem.rule = score_rule_read(config, part, 0);
        if (!measure(&size, &bytes, &problem) || !num_add(&all, all, bytes))
            return SIZE_MAX;
    }
    return all;
}

size_t attention_whole_bytes(const struct config *config, size_t queries, size_t keys,
                             size_t threads)
{
    size_t bytes = 0;
    return num_multiply(&bytes, attention_bytes(config, queries, keys), threads) ? bytes : SIZE_MAX;
}

static struct attention_problem problem_of(const struct pass *pass)
{
    const struct batch *batch = pass->batch;
    struct attention_problem problem = {
        .config = pass->config,
        .rule = score_rule_read(pass->config, pass->part, 0),
        .queries = batch->longest_queries,
        .keys = batch->longest_keys,
        .bf16 = pass_attention_precision(pass) == PRECISION_BF16,
    };
    for (size_t s = 0; s < batch->count; s++)
        if (!pass_cache(pass, s) && batch->keys[s].count > problem.fresh_keys)
            problem.fresh_keys = batch->keys[s].count;
    for (int i = 0; i < ATTENTION_MAPS; i++)
        problem.maps |= attention_maps_are_wanted(pass, (enum site)(SITE_SCORES + i));
    return problem;
}

static int take_for_thread(struct pass *pass, struct attention_memory *memory,
                           const struct attention_size *size)
{
    *memory = (struct attention_memory){
        .stride = size->stride,
        .context_stride = size->context_stride,
        .pairs.query_stride = size->pairs.query_stride,
        .pairs.weight_stride = size->pairs.weight_stride,
    };
    for (size_t i = 0; i < BUFFERS; i++) {
        size_t count = 0;
        count_floats(&count, size, i);
        if (count == 0)
            continue;
        void *room = (buffer_rows[i].zeroed ? arena_alloc : arena_room)(pass->arena, count,
                                                                        sizeof(float), pass->err);
        if (!room)
            return -1;
        memcpy((char *)memory + buffer_rows[i].pointer, &room, sizeof room);
    }
    return 0;
}

int attention_take_memory(struct pass *pass)
{
    size_t threads = pool_threads(pass->machine->pool);
    struct attention_problem problem = problem_of(pass);
    struct attention_size size;
    size_t bytes = 0;
    if (!measure(&size, &bytes, &problem))
        return err_memory(pass->err, SIZE_MAX);
    struct attention_memory *memory = arena_alloc(pass->arena, threads, sizeof *memory, pass->err);
    if (!memory)
        return -1;
    for (size_t t = 0; t < threads; t++)
        if (take_for_thread(pass, &memory[t], &size))
            return -1;
    pass->scratch.attention = memory;
    return 0;
}
