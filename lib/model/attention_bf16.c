#include "model/attention_strip.h"

#include "base/num.h"
#include "math/bf16.h"
#include "math/tensor.h"

bool attention_bf16_measure(struct attention_size *size, const struct attention_problem *problem)
{
    const struct config *c = problem->config;
    struct attention_pairs_size *pairs = &size->pairs;
    size_t queries = strip_round_up(problem->queries, STEP); /* kernels read whole steps */
    size_t pages = strip_round_up(problem->fresh_keys, KEY_PANEL) / KEY_PANEL;
    size->panels = KEY_PANEL * c->d_k;
    size->context_stride = strip_round_up(c->d_v, PAIR_COLUMNS);
    pairs->query_stride = matrix_stride(bf16_pairs(c->d_k));
    pairs->weight_stride = matrix_stride(bf16_pairs(size->stride));
    pairs->weights = size->rows * pairs->weight_stride;
    return num_multiply(&pairs->keys, pages, head_pairs_of_keys(c->d_k)) &&
           num_multiply(&pairs->values, pages, head_pairs_of_values(c->d_v)) &&
           num_multiply(&pairs->queries, queries, pairs->query_stride);
}

void attention_bf16_score_shape(struct kernel_shape *shape, const struct attention_layer *layer)
{
    const struct pass *pass = layer->pass;
    shape->pairs = 1;
    shape->k = (int)bf16_pairs(pass->config->d_k);
    shape->b_stride = (int)pass->scratch.attention[0].pairs.query_stride;
}

void attention_bf16_context_shape(struct kernel_shape *shape, const struct attention_layer *layer)
{
    shape->pairs = 1;
    shape->m = PAIR_COLUMNS;
    shape->k /= 2;
    shape->a_stride = PAIR_COLUMNS;
    shape->b_stride = (int)layer->pass->scratch.attention[0].pairs.weight_stride;
}

static uint32_t *keys_of(const struct attention_head *head, size_t key)
{
    return head->memory->pairs.keys + key / KEY_PANEL * head_pairs_of_keys(head->k.columns);
}

static uint32_t *values_of(const struct attention_head *head, size_t key)
{
    return head->memory->pairs.values + key / KEY_PANEL * head_pairs_of_values(head->v.columns);
}

void attention_bf16_begin(const struct attention_head *head)
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

static const uint32_t *find_keys(const struct attention_head *head, size_t key)
{
    if (head->cache)
        return cache_key_pairs(head->cache, head->layer->layer, head->group, key);
    return keys_of(head, key);
}

static const uint32_t *find_values(const struct attention_head *head, size_t key)
{
    if (head->cache)
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

const uint32_t *attention_bf16_weights(const struct attention_head *head, const struct strip *strip,
                                       const float *weights, size_t keys)
{
    const struct attention_memory *memory = head->memory;
    const struct attention_pairs *pairs = &memory->pairs;
    for (size_t row = 0; row < strip->rows; row++)
        bf16_pair_row(pairs->weights + row * pairs->weight_stride, weights + row * memory->stride,
                      keys);
    return pairs->weights;
}

void attention_bf16_context(const struct attention_head *head, const struct kernel *kernel,
                            size_t key, const uint32_t *weights, float *to)
{
    const uint32_t *values = find_values(head, key) + key % KEY_PANEL / 2 * PAIR_COLUMNS;
    struct kernel from_key = *kernel;
    from_key.shape.begun = (int)(key / 2 % TILE_PAIRS); /* steps begin where the key alone says */
    for (size_t i = 0; i < head->v.columns; i += PAIR_COLUMNS, values += HEAD_PAIRS_APART)
        kernel_call(&from_key, values, weights, to + i, values);
}
