#include "model/attention_strip.h"

#include <string.h>

#include "base/num.h"
#include "math/bf16.h"
#include "math/tensor.h"

_Static_assert((int)KEY_PANEL == (int)PAIR_COLUMNS, "rows of keys and of values are as long");

bool attention_bf16_widens(const struct pass *pass)
{
    enum { FEW = 8 }; /* queries: for no more a cache is read as it is */
    bool bf16 = pass_attention_precision(pass) == PRECISION_BF16;
    bool widens = bf16 && input_widens(pass->machine);
    for (size_t s = 0; s < pass->batch->count; s++)
        widens = widens && (!pass_cache(pass, s) || pass->batch->queries[s].count > FEW);
    return widens;
}

/* What pairs take, as pairs or as floats. */
static size_t words_of_pairs(bool widens, size_t pairs)
{
    return widens ? 2 * pairs : pairs;
}

static size_t words_of_keys(const struct attention_layer *layer, size_t keys)
{
    return words_of_pairs(layer->widens, bf16_pairs(keys));
}

bool attention_bf16_measure(struct attention_size *size, const struct attention_problem *problem)
{
    const struct config *c = problem->config;
    bool widens = problem->widens;
    struct attention_pairs_size *pairs = &size->pairs;
    size_t queries = strip_round_up(problem->queries, STEP); /* kernels read whole steps */
    size_t keys = widens ? problem->keys : problem->fresh_keys;
    size_t pages = strip_round_up(keys, KEY_PANEL) / KEY_PANEL;
    size->panels = KEY_PANEL * c->d_k;
    size->context_stride = strip_round_up(c->d_v, PAIR_COLUMNS);
    pairs->query_stride = matrix_stride(words_of_pairs(widens, bf16_pairs(c->d_k)));
    pairs->weight_stride = matrix_stride(words_of_pairs(widens, KEY_PANEL / 2));
    pairs->weights = size->rows * pairs->weight_stride;
    return num_multiply(&pairs->keys, pages, words_of_pairs(widens, head_pairs_of_keys(c->d_k))) &&
           num_multiply(&pairs->values, pages,
                        words_of_pairs(widens, head_pairs_of_values(c->d_v))) &&
           num_multiply(&pairs->queries, queries, pairs->query_stride);
}

void attention_bf16_score_shape(struct kernel_shape *shape, const struct attention_layer *layer)
{
    const struct pass *pass = layer->pass;
    shape->pairs = !layer->widens;
    shape->flushes = layer->widens;
    shape->k = (int)words_of_keys(layer, pass->config->d_k);
    shape->b_stride = (int)pass->scratch.attention[0].pairs.query_stride;
}

void attention_bf16_context_shape(struct kernel_shape *shape, const struct attention_layer *layer)
{
    shape->pairs = !layer->widens;
    shape->flushes = layer->widens;
    shape->m = PAIR_COLUMNS;
    shape->k = (int)words_of_keys(layer, (size_t)shape->k);
    shape->a_stride = PAIR_COLUMNS;
    shape->b_stride = (int)layer->pass->scratch.attention[0].pairs.weight_stride;
}

static uint32_t *keys_of(const struct attention_head *head, size_t key)
{
    size_t page = words_of_pairs(head->layer->widens, head_pairs_of_keys(head->k.columns));
    return head->memory->pairs.keys + key / KEY_PANEL * page;
}

static uint32_t *values_of(const struct attention_head *head, size_t key)
{
    size_t page = words_of_pairs(head->layer->widens, head_pairs_of_values(head->v.columns));
    return head->memory->pairs.values + key / KEY_PANEL * page;
}

/* --- floats ----------------------------------------------------------------------------------- */

/* Rows [count, columns] rounded to rows [rows, KEY_PANEL], every two in turn; others are 0. */
static void round_page(float *page, size_t rows, struct matrix from)
{
    for (size_t row = 0; row < rows; row++, page += KEY_PANEL) {
        size_t other = row ^ 1;
        if (other < from.rows)
            bf16_round_each(page, from.data + other * from.stride, from.columns);
        else
            memset(page, 0, KEY_PANEL * sizeof *page);
    }
}

static void widen_page(float *page, const uint32_t *pairs, size_t count)
{
    for (size_t i = 0; i < count; i += KEY_PANEL)
        bf16_widen_pairs(page + 2 * i, page + 2 * i + KEY_PANEL, pairs + i, KEY_PANEL);
}

static void widen_cached(const struct attention_head *head, size_t key)
{
    size_t layer = head->layer->layer;
    widen_page((float *)keys_of(head, key), cache_key_pairs(head->cache, layer, head->group, key),
               head_pairs_of_keys(head->k.columns));
    widen_page((float *)values_of(head, key),
               cache_value_pairs(head->cache, layer, head->group, key),
               head_pairs_of_values(head->v.columns));
}

static void round_fresh(const struct attention_head *head, size_t key)
{
    size_t d_k = head->k.columns;
    size_t count = num_min(head->k.rows - key, KEY_PANEL);
    float *values = (float *)values_of(head, key);
    strip_transpose_panel(head, key, head->memory->panels);
    round_page((float *)keys_of(head, key), 2 * bf16_pairs(d_k),
               (struct matrix){head->memory->panels, d_k, KEY_PANEL, KEY_PANEL});
    for (size_t i = 0; i < head->v.columns; i += PAIR_COLUMNS, values += 2 * HEAD_PAIRS_APART) {
        size_t columns = num_min(head->v.columns - i, PAIR_COLUMNS);
        round_page(values, KEY_PANEL, matrix_columns(matrix_rows(head->v, key, count), i, columns));
    }
}

static void begin_floats(const struct attention_head *head)
{
    const struct attention_pairs *pairs = &head->memory->pairs;
    bf16_round_rows((float *)pairs->queries, pairs->query_stride, head->q);
    for (size_t key = 0; key < head->keys; key += KEY_PANEL)
        (head->cache ? widen_cached : round_fresh)(head, key);
}

/* --- pairs ------------------------------------------------------------------------------------ */

static void begin_pairs(const struct attention_head *head)
{
    const struct attention_pairs *pairs = &head->memory->pairs;
    for (size_t row = 0; row < head->q.rows; row++)
        bf16_pair_row(pairs->queries + row * pairs->query_stride,
                      head->q.data + row * head->q.stride, head->q.columns);
    for (size_t key = 0; !head->cache && key < head->k.rows; key += KEY_PANEL) {
        size_t count = num_min(head->k.rows - key, KEY_PANEL);
        strip_transpose_panel(head, key, head->memory->panels);
        head_pairs_fill_keys(keys_of(head, key), head->memory->panels, head->k.columns);
        head_pairs_fill_values(values_of(head, key), matrix_rows(head->v, key, count));
    }
}

void attention_bf16_begin(const struct attention_head *head)
{
    (head->layer->widens ? begin_floats : begin_pairs)(head);
}

/* --- products --------------------------------------------------------------------------------- */

static const uint32_t *find_keys(const struct attention_head *head, size_t key)
{
    if (head->cache && !head->layer->widens)
        return cache_key_pairs(head->cache, head->layer->layer, head->group, key);
    return keys_of(head, key);
}

static const uint32_t *find_values(const struct attention_head *head, size_t key)
{
    if (head->cache && !head->layer->widens)
        return cache_value_pairs(head->cache, head->layer->layer, head->group, key);
    return values_of(head, key);
}

void attention_bf16_scores(const struct attention_head *head, const struct strip *strip,
                           const struct kernel *kernel, size_t key, float *to)
{
    const struct attention_pairs *pairs = &head->memory->pairs;
    const uint32_t *keys = find_keys(head, key) + key % KEY_PANEL;
    kernel_call(kernel, keys, pairs->queries + strip->first * pairs->query_stride, to, keys);
}

static const uint32_t *round_weights(const struct attention_head *head, struct matrix weights)
{
    const struct attention_pairs *pairs = &head->memory->pairs;
    if (head->layer->widens) {
        bf16_round_rows((float *)pairs->weights, pairs->weight_stride, weights);
        return pairs->weights;
    }
    for (size_t row = 0; row < weights.rows; row++)
        bf16_pair_row(pairs->weights + row * pairs->weight_stride,
                      weights.data + row * weights.stride, weights.columns);
    return pairs->weights;
}

void attention_bf16_context(const struct attention_head *head, const struct strip *strip,
                            const struct kernel *kernel, struct key_range keys,
                            const float *weights, float *to)
{
    const struct attention_layer *layer = head->layer;
    size_t apart = words_of_pairs(layer->widens, HEAD_PAIRS_APART);
    const uint32_t *values =
        find_values(head, keys.first) + words_of_keys(layer, keys.first % KEY_PANEL) * PAIR_COLUMNS;
    const uint32_t *rounded =
        round_weights(head, (struct matrix){(float *)weights, strip->rows, keys.end - keys.first,
                                            head->memory->stride});
    struct kernel from_key = *kernel;
    size_t pair = keys.first / 2;
    from_key.shape.begun = (int)(pair % TILE_PAIRS); /* steps begin where the key alone says */
    for (size_t i = 0; i < head->v.columns; i += PAIR_COLUMNS, values += apart)
        kernel_call(&from_key, values, rounded, to + i, values);
}
