#include "bench/benchmark.h"

#include <math.h>

#include "model/batch.h"
#include "model/forward.h"

/* What the pass in float32 announced, in order. */
struct record {
    float *values;
    size_t count;
};

struct comparison {
    struct deviation *found;
    struct record *records; /* [layers + 1] */
    size_t count, next;
    struct arena arena; /* theirs, and that of the text */
};

static float *dense_copy(const struct tensor *values, struct arena *arena, struct err *err)
{
    float *copy = arena_alloc(arena, tensor_count(values), sizeof *copy, err);
    if (copy)
        tensor_copy(copy, values);
    return copy;
}

static int keep(void *context, const struct announcement *seen, struct err *err)
{
    struct comparison *comparison = context;
    struct record *record = &comparison->records[comparison->count++];
    *record = (struct record){dense_copy(&seen->values, &comparison->arena, err),
                              tensor_count(&seen->values)};
    return record->values ? 0 : -1;
}

/* Of two tensors; without a second one, the largest number of the first. */
static double largest_difference(const float *a, const float *b, size_t count)
{
    float largest = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmaxf(largest, fabsf(a[i] - (b ? b[i] : 0)));
    return (double)largest;
}

static int compare(void *context, const struct announcement *seen, struct err *err)
{
    struct comparison *comparison = context;
    struct deviation *found = comparison->found;
    const struct record *record = &comparison->records[comparison->next++];
    struct arena arena = {0};
    const float *values = dense_copy(&seen->values, &arena, err);
    double difference = values ? largest_difference(record->values, values, record->count) : 0;
    if (seen->site == SITE_LOGITS) {
        found->logits = difference;
        found->largest_logit = largest_difference(record->values, NULL, record->count);
    } else {
        found->weights = fmax(found->weights, difference);
    }
    arena_release(&arena);
    return values ? 0 : -1;
}

static int watch_both(struct watch *watch, const struct config *config, struct arena *arena,
                      struct err *err)
{
    if (watch_init(watch, config, arena, err))
        return -1;
    for (size_t layer = 0; layer < config->n_layer; layer++)
        watch_add(watch, SITE_WEIGHTS, layer);
    if (site_exists(config, SITE_LOGITS))
        watch_add(watch, SITE_LOGITS, 0);
    return 0;
}

static int run_with(enum precision precision, tap_sink sink, struct comparison *comparison,
                    struct bench_subject *subject, struct err *err)
{
    const struct config *config = &subject->model.config;
    struct pass_size size = {.texts = 1, .tokens = comparison->found->tokens};
    struct arena arena = {0};
    struct watch watch;
    struct batch batch;
    struct tap tap = {.watch = &watch, .sink = sink, .context = comparison};
    struct run run = {&subject->machine, config, &subject->model.weights, &batch};
    const struct text *text = task_texts(&size, config, &arena, err);
    subject->model.weights.precision = precision;
    int failed = !text || batch_init(&batch, config, text, 1, &arena, err) ||
                 watch_both(&watch, config, &arena, err) || forward(&run, &tap, &arena, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}

int deviation_measure(struct deviation *deviation, struct bench_subject *subject, struct err *err)
{
    const struct config *config = &subject->model.config;
    bool is_short = config->n_positions && config->n_positions < DEVIATION_TOKENS;
    struct comparison comparison = {.found = deviation};
    *deviation = (struct deviation){.tokens = is_short ? config->n_positions : DEVIATION_TOKENS};
    comparison.records =
        arena_alloc(&comparison.arena, config->n_layer + 1, sizeof *comparison.records, err);
    int failed = !comparison.records || run_with(PRECISION_FP32, keep, &comparison, subject, err) ||
                 run_with(PRECISION_BF16, compare, &comparison, subject, err);
    arena_release(&comparison.arena);
    return failed ? -1 : 0;
}
