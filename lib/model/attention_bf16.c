#include "model/attention_strip.h"

#include "base/num.h"
#include "math/precision.h"
#include "math/tensor.h"

_Static_assert((int)KEY_PANEL == (int)PAIR_COLUMNS, "rows of keys and of values are as long");

bool attention_bf16_measure(struct attention_size *size, const struct attention_problem *problem)
{
    const struct config *c = problem->config;
    struct attention_pairs_size *pairs = &size->pairs;
    size_t queries = strip_round_up(problem->queries, STEP); /* kernels read whole steps */
    size_t pages = strip_round_up(problem->fresh_keys, KEY_PANEL) / KEY_PANEL;
    size->panels = KEY_PANEL * c->d_k;
    size->context_stride = strip_round_up(c->d_v, PAIR_COLUMNS);
    pairs->query_stride = matrix_stride(bf16_pairs(c->d_k));
    pairs->weight_stride = matrix_stride(KEY_PANEL / 2);
    pairs->weights = size->rows * pairs->weight_stride;
    return num_multiply(&pairs->keys, pages, head_pairs_of_keys(c->d_k)) &&
           num_multiply(&pairs->values, pages, head_pairs_of_values(c->d_v)) &&
           num_multiply(&pairs->queries, queries, pairs->query_stride);
}

/* Scores of whole panels: what comes after the last key is never read. */
void attention_bf16_score_shape(struct kernel_shape *shape, const struct pass *pass)
{
    shape->pairs = 1;
    shape->m = KEY_PANEL;
    shape->k = (int)bf16_pairs(pass->config->d_k);
    shape->b_stride = (int)pass->scratch.attention[0].pairs.query_stride;
}

void attention_bf16_context_shape(struct kernel_shape *shape, const struct pass *pass)
{
    shape->pairs = 1;
    shape->m = PAIR_COLUMNS;
    shape->k = (int)bf16_pairs((size_t)shape->k);
    shape->a_stride = PAIR_COLUMNS;
    shape->b_stride = (int)pass->scratch.attention[0].pairs.weight_stride;
}

static uint32_t *keys_of(const struct attention_head *head, size_t key)
{
    if (head->cache)
        return cache_key_pairs(head->cache, head->layer->layer, head->group, key);
    return head->memory->pairs.keys + key / KEY_PANEL * head_pairs_of_keys(head->k.columns);
}

static uint32_t *values_of(const struct attention_head *head, size_t key)
{
    if (head->cache)
        return cache_value_pairs(head->cache, head->layer->layer, head->group, key);
    return head->memory->pairs.values + key / KEY_PANEL * head_pairs_of_values(head->v.columns);
}

static void pair_rows(uint32_t *pairs, size_t stride, struct matrix rows)
{
    for (size_t row = 0; row < rows.rows; row++)
        bf16_pair_row(pairs + row * stride, rows.data + row * rows.stride, rows.columns);
}

void attention_bf16_begin(const struct attention_head *head)
{
    const struct attention_pairs *pairs = &head->memory->pairs;
    pair_rows(pairs->queries, pairs->query_stride, head->q);
    for (size_t key = 0; !head->cache && key < head->k.rows; key += KEY_PANEL) {
        size_t count = num_min(head->k.rows - key, KEY_PANEL);
        strip_transpose_panel(head, key, head->memory->panels);
        head_pairs_fill_keys(keys_of(head, key), head->memory->panels, head->k.columns);
        head_pairs_fill_values(values_of(head, key), matrix_rows(head->v, key, count));
    }
}

void attention_bf16_scores(const struct attention_head *head, const struct strip *strip,
                           const struct kernel *kernel, size_t key, float *to)
{
    const struct attention_pairs *pairs = &head->memory->pairs;
    const uint32_t *keys = keys_of(head, key);
    kernel_call(kernel, keys, pairs->queries + strip->first * pairs->query_stride, to, keys);
}

void attention_bf16_context(const struct attention_head *head, const struct strip *strip,
                            const struct kernel *kernel, struct key_range keys,
                            const float *weights, float *to)
{
    const struct attention_pairs *pairs = &head->memory->pairs;
    const uint32_t *values = values_of(head, keys.first);
    pair_rows(pairs->weights, pairs->weight_stride,
              (struct matrix){(float *)weights, strip->rows, keys.end - keys.first,
                              head->memory->stride});
    for (size_t i = 0; i < head->v.columns; i += PAIR_COLUMNS, values += HEAD_PAIRS_APART)
        kernel_call(kernel, values, pairs->weights, to + i, values);
}
