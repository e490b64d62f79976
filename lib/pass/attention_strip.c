/* attention_strip.c: products of a strip of queries with keys and values, in float32 or in pairs of
 * bf16 (pass_attention_precision). */
#include "pass/attention_strip.h"

#include <string.h>

#include "base/num.h"
#include "math/precision.h"
#include "math/rng.h"
#include "math/rows.h"
#include "math/tensor.h"
#include "pass/tap.h"

_Static_assert((int)KEY_PANEL == (int)PAIR_COLUMNS, "rows of keys and of values are as long");

size_t strip_round_up(size_t size, size_t step)
{
    return (size + step - 1) / step * step;
}

size_t strip_row_size(size_t rows)
{
    return rows == 1 ? 0 : strip_round_up(rows, STEP) / STEP;
}

size_t strip_rows_of_size(size_t size)
{
    return size == 0 ? 1 : size * STEP;
}

bool strip_measure(struct attention_size *size, const struct attention_problem *problem)
{
    const struct head_rule *head = &problem->attention->head;
    size->strides.context = head->d_v;
    if (problem->keys > CHAIN)
        size->part_rows = size->rows;
    size_t keys = strip_round_up(problem->fresh_keys, KEY_PANEL);
    if (!problem->bf16)
        return num_multiply(&size->panels, keys, head->d_k);

    /* in bf16, a thread needs memory for one panel, and for the rounded keys, values, queries and
     * weights of a head */
    size_t queries = strip_round_up(problem->queries, STEP); /* kernels read all rows of a step */
    size->panels = KEY_PANEL * head->d_k;
    size->strides.context = strip_round_up(head->d_v, PAIR_COLUMNS);
    size->strides.query = matrix_stride(bf16_pairs(head->d_k));
    size->strides.weight = matrix_stride(KEY_PANEL / 2);
    size->weight_pairs = size->rows * size->strides.weight;
    return num_multiply(&size->key_pairs, keys / KEY_PANEL, head_pairs_of_keys(head->d_k)) &&
           num_multiply(&size->value_pairs, keys / KEY_PANEL, head_pairs_of_values(head->d_v)) &&
           num_multiply(&size->query_pairs, queries, size->strides.query);
}

/* Return about how many multiply-adds a kernel computes in all heads, with one call for each
 * strip. */
static double work_of(const struct attention_layer *layer, const struct kernel_shape *shape)
{
    const struct pass *pass = layer->pass;
    size_t strips = pass->batch->tokens / (size_t)shape->n + 1;
    double calls = (double)(layer->heads->heads * strips);
    return calls * (double)shape->m * (double)shape->n * (double)shape->k;
}

void strip_fetch_scores(struct attention_layer *layer, size_t row_size, size_t keys)
{
    const struct pass *pass = layer->pass;
    struct kernel_shape shape = {
        .m = (int)keys,
        .n = (int)strip_rows_of_size(row_size),
        .k = (int)layer->heads->d_k,
        .a_stride = KEY_PANEL,
        .b_stride = (int)pass->scratch.q.stride,
        .c_stride = (int)pass->scratch.attention[0].strides.scores,
    };
    if (layer->bf16) { /* compute complete panels: scores after the last key are never read */
        shape.pairs = 1;
        shape.m = KEY_PANEL;
        shape.k = (int)bf16_pairs(layer->heads->d_k);
        shape.b_stride = (int)pass->scratch.attention[0].strides.query;
    }
    kernels_get(pass->machine->kernels, &layer->score_kernels[row_size][keys / STEP - 1], &shape,
                work_of(layer, &shape));
}

void strip_fetch_context(struct attention_layer *layer, size_t row_size, size_t keys, bool add)
{
    const struct pass *pass = layer->pass;
    struct kernel_shape shape = {
        .m = (int)layer->heads->d_v,
        .n = (int)strip_rows_of_size(row_size),
        .k = (int)keys,
        .a_stride = (int)pass->scratch.v.stride,
        .b_stride = (int)pass->scratch.attention[0].strides.scores,
        .c_stride = (int)pass->scratch.attention[0].strides.context,
        .accumulate = add,
    };
    if (layer->bf16) {
        shape.pairs = 1;
        shape.m = PAIR_COLUMNS;
        shape.k = (int)bf16_pairs(keys);
        shape.a_stride = PAIR_COLUMNS;
        shape.b_stride = (int)pass->scratch.attention[0].strides.weight;
    }
    kernels_get(pass->machine->kernels, &layer->context_kernels[row_size][keys / STEP - 1][add],
                &shape, work_of(layer, &shape));
}

struct key_range strip_visible(const struct attention_head *head, size_t query)
{
    return score_visible(&head->layer->rule, head->past + query, head->keys);
}

/* --- keys and values of a head ---------------------------------------------------------------- */

void *strip_panel(const struct attention_head *head, size_t key)
{
    const struct attention_memory *memory = head->memory;
    size_t width = head->k.columns, page = key / KEY_PANEL;
    if (head->cache)
        return cache_keys(head->cache, head->layer->layer, head->kv_head, key);
    if (head->layer->bf16)
        return memory->key_pairs + page * head_pairs_of_keys(width);
    return memory->panels + page * KEY_PANEL * width;
}

static uint32_t *value_pairs_of(const struct attention_head *head, size_t key)
{
    if (head->cache)
        return cache_values(head->cache, head->layer->layer, head->kv_head, key);
    return head->memory->value_pairs + key / KEY_PANEL * head_pairs_of_values(head->v.columns);
}

const float *strip_values(const struct attention_head *head, size_t key)
{
    if (head->cache)
        return cache_values(head->cache, head->layer->layer, head->kv_head, key);
    return matrix_row(head->v, key);
}

static void pair_rows(uint32_t *pairs, size_t stride, struct matrix rows)
{
    for (size_t row = 0; row < rows.rows; row++)
        bf16_pair_row(pairs + row * stride, matrix_row(rows, row), rows.columns);
}

void strip_pack_keys(const struct attention_head *head)
{
    const struct attention_memory *memory = head->memory;
    size_t width = head->k.columns;
    bool bf16 = head->layer->bf16;
    if (bf16)
        pair_rows(memory->query_pairs, memory->strides.query, head->q);
    for (size_t key = 0; !head->cache && key < head->k.rows; key += KEY_PANEL) {
        size_t count = num_min(head->k.rows - key, KEY_PANEL);
        float *panel = bf16 ? memory->panels : strip_panel(head, key);
        if (count < KEY_PANEL)
            memset(panel, 0, KEY_PANEL * width * sizeof *panel);
        transpose((struct matrix){panel, width, count, KEY_PANEL},
                  matrix_rows(head->k, key, count));
        if (!bf16)
            continue;
        head_pairs_fill_keys(strip_panel(head, key), panel, width);
        head_pairs_fill_values(value_pairs_of(head, key), matrix_rows(head->v, key, count));
    }
}

/* --- strips ----------------------------------------------------------------------------------- */

static void give_rows(const struct attention_head *head, const struct strip *strip)
{
    const struct pass *pass = head->layer->pass;
    for (size_t i = 0; i < ATTENTION_MAPS * strip->rows; i++) {
        size_t map = i / strip->rows, query = strip->first + i % strip->rows;
        const struct attention_map_row row = {
            .site = SITE_OF(pass->branch, SITE_SCORES + map),
            .layer = (int)head->layer->layer,
            .text = head->text,
            .head = head->head,
            .query = query,
            .keys = head->keys,
            .values = strip_map_row(head, head->maps[map], query),
        };
        if (row.values)
            head->lent.take(pass->tap->context, &row);
    }
}

enum head_fault strip_for_each(const struct attention_head *head, size_t first, size_t most,
                               strip_work *work)
{
    enum head_fault fault = HEAD_SOUND;
    for (; first < head->q.rows && fault == HEAD_SOUND; first += most) {
        struct strip strip = {first, num_min(head->q.rows - first, most)};
        fault = work(head, &strip);
        for (const struct attention_head *own = head; own; own = own->second)
            if (fault == HEAD_SOUND && own->lent.take)
                give_rows(own, &strip);
    }
    return fault;
}

/* Return how many keys of a range, from `key` on, are in the same panel as `key`. */
static size_t part_of_panel(struct key_range keys, size_t key)
{
    return num_min(keys.end - key, KEY_PANEL - key % KEY_PANEL);
}

void strip_scores(const struct attention_head *head, const struct strip *strip,
                  struct key_range keys, float *to)
{
    const struct kernel *kernels = head->layer->score_kernels[strip_row_size(strip->rows)];
    const struct attention_memory *memory = head->memory;
    const void *q = head->layer->bf16
                        ? (void *)(memory->query_pairs + strip->first * memory->strides.query)
                        : (void *)matrix_row(head->q, strip->first);
    for (size_t key = keys.first, count = 0; key < keys.end; key += count, to += count) {
        count = part_of_panel(keys, key);
        const float *panel = strip_panel(head, key);
        kernel_call(&kernels[count / STEP - 1], panel + key % KEY_PANEL, q, to, q);
    }
}

/* --- sums over values ------------------------------------------------------------------------- */

enum { NO_CHAIN = -1 };

/* The state of the sum over keys that gives the contexts of a strip. */
struct sum {
    const float *weights; /* weights of the keys that are added next */
    float *to;            /* sum of the current chain: memory->context, or memory->part */
    ptrdiff_t chain;      /* index of the chain that is being summed; NO_CHAIN: no chain has
                           * begun */
};

static void end_chain(const struct attention_head *head, const struct strip *strip, struct sum *sum)
{
    const struct attention_memory *memory = head->memory;
    size_t stride = memory->strides.context;
    struct matrix context = {memory->context, strip->rows, head->v.columns, stride};
    struct matrix part = {memory->part, strip->rows, head->v.columns, stride};
    if (sum->chain != NO_CHAIN && sum->to == memory->part)
        add_rows(context, part);
    sum->to = memory->part;
}

/* Add the values of some keys of a panel times their weights, as pairs of bf16. The weights are
 * rounded first. */
static void add_pairs(const struct attention_head *head, const struct strip *strip,
                      const struct kernel *kernel, struct key_range keys, const struct sum *sum)
{
    const struct attention_memory *memory = head->memory;
    const uint32_t *values = value_pairs_of(head, keys.first);
    pair_rows(memory->weight_pairs, memory->strides.weight,
              (struct matrix){(float *)sum->weights, strip->rows, keys.end - keys.first,
                              memory->strides.scores});
    for (size_t i = 0; i < head->v.columns; i += PAIR_COLUMNS, values += HEAD_PAIRS_APART)
        kernel_call(kernel, values, memory->weight_pairs, sum->to + i, values);
}

/* Add the weighted values of some keys of one panel. */
static void add_part(const struct attention_head *head, const struct strip *strip, struct sum *sum,
                     struct key_range keys)
{
    const struct kernel(*kernels)[2] = head->layer->context_kernels[strip_row_size(strip->rows)];
    size_t count = keys.end - keys.first;
    ptrdiff_t chain = (ptrdiff_t)(keys.first / CHAIN);
    bool goes_on = chain == sum->chain;
    if (!goes_on && sum->chain != NO_CHAIN)
        end_chain(head, strip, sum);
    sum->chain = chain;
    const struct kernel *kernel = &kernels[count / STEP - 1][goes_on];
    if (head->layer->bf16) {
        add_pairs(head, strip, kernel, keys, sum);
    } else {
        const float *v = strip_values(head, keys.first);
        kernel_call(kernel, v, sum->weights, sum->to, v);
    }
    sum->weights += count;
}

void strip_context(const struct attention_head *head, const struct strip *strip,
                   struct key_range keys, const float *weights, bool adds)
{
    const struct attention_memory *memory = head->memory;
    struct sum sum = {weights, memory->context, NO_CHAIN};
    if (adds && keys.first < CHAIN)
        sum.chain = 0; /* the first chain may have begun in an earlier range */
    else if (adds)
        sum.to = memory->part;
    for (size_t key = keys.first, count = 0; key < keys.end; key += count) {
        count = part_of_panel(keys, key);
        add_part(head, strip, &sum, (struct key_range){key, key + count});
    }
    end_chain(head, strip, &sum);
}

void strip_write_context(const struct attention_head *head, const struct strip *strip)
{
    const struct attention_memory *memory = head->memory;
    size_t stride = head->context.stride;
    float *to = head->context.data + strip->first * stride;
    struct matrix context = {memory->context, strip->rows, head->v.columns,
                             memory->strides.context};
    copy_rows((struct matrix){to, strip->rows, context.columns, stride}, context);
}

float *strip_map_row(const struct attention_head *head, float *map, size_t query)
{
    size_t row = head->lent.take ? query % STRIP : head->lent.rows ? head->lent.rows[query] : query;
    return map && row != ATTENTION_NO_ROW ? map + row * head->keys : NULL;
}

void strip_put_row(const struct attention_head *head, float *map, size_t query, const float *from,
                   size_t count)
{
    strip_put_range(head, map, query, from, (struct key_range){0, count}, 0.0f);
}

void strip_put_range(const struct attention_head *head, float *map, size_t query, const float *from,
                     struct key_range keys, float others)
{
    float *row = strip_map_row(head, map, query);
    if (!row)
        return;
    nontemporal_fill(row, keys.first, others);
    nontemporal_copy(row + keys.first, from + keys.first, keys.end - keys.first);
    nontemporal_fill(row + keys.end, head->keys - keys.end, others);
}

void strip_drop(const struct attention_head *head, float *weights, size_t query,
                struct key_range keys)
{
    float rate = head->layer->pass->config->mechanism.dropout;
    uint64_t key = splitmix64(head->dropout_key + head->past + query);
    if (rate > 0)
        rng_dropout_part(weights, keys.end - keys.first, keys.first, key, rate);
}
