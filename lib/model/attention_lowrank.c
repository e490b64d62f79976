/* attention_lowrank.c: the text in R segments of nearly the same size; a query attends to the mean
 * key and the mean value of each. Time is n · R, memory R.
 *
 * A segment counts as often as it has tokens, and they share its weight equally: the weights are
 * those of dense attention in which each key is the mean of its segment, and with a segment for
 * each token those of the model.
 */
#include <string.h>

#include "base/num.h"
#include "math/rows.h"
#include "model/attention_strip.h"

static size_t count_segments(const struct config *config, size_t keys)
{
    return num_min(config->mechanism.segments, keys);
}

static bool measure(struct attention_size *size, const struct attention_problem *problem)
{
    const struct config *c = problem->config;
    size->rows = 1;
    size->context_stride = c->d_v;
    size->row = count_segments(c, problem->keys);
    return num_multiply(&size->sums, size->row, c->d_k + c->d_v);
}

static struct key_range segment(const struct attention_head *head, size_t index, size_t count)
{
    return (struct key_range){index * head->keys / count, (index + 1) * head->keys / count};
}

/* memory->sums: mean keys [dk, R], then mean values [R, dv]. */
static void find_means(const struct attention_head *head, size_t count)
{
    size_t dk = head->k.columns;
    size_t dv = head->v.columns;
    float *keys = head->memory->sums;
    float *values = keys + dk * count;
    memset(keys, 0, count * (dk + dv) * sizeof *keys);
    for (size_t r = 0; r < count; r++) {
        struct key_range own = segment(head, r, count);
        float share = 1.0f / (float)(own.end - own.first);
        for (size_t key = own.first; key < own.end; key++) {
            const float *k = head->k.data + key * head->k.stride;
            const float *v = head->v.data + key * head->v.stride;
            for (size_t i = 0; i < dk; i++)
                keys[i * count + r] += k[i] * share;
            add_scaled_row(values + r * dv, v, dv, share, v);
        }
    }
}

/* A row of a map, if it is watched: each key has the number of its segment, or its share of it. */
static void put_row(const struct attention_head *head, float *map, size_t query, size_t count,
                    bool shared)
{
    float *row = strip_map_row(head, map, query);
    for (size_t r = 0; row && r < count; r++) {
        struct key_range own = segment(head, r, count);
        float keys = shared ? (float)(own.end - own.first) : 1;
        for (size_t key = own.first; key < own.end; key++)
            row[key] = head->memory->row[r] / keys;
    }
}

static enum head_fault compute_query(const struct attention_head *head, const struct strip *strip)
{
    size_t query = strip->first;
    size_t count = count_segments(head->layer->pass->config, head->keys);
    const struct attention_memory *memory = head->memory;
    size_t dk = head->k.columns;
    size_t dv = head->v.columns;
    const float *q = head->q.data + query * head->q.stride;
    float *row = memory->row;
    memset(row, 0, count * sizeof *row);
    for (size_t i = 0; i < dk; i++)
        add_scaled_row(row, memory->sums + i * count, count, q[i], memory->sums);
    put_row(head, head->scores, query, count, false);
    scale_row(row, row, count, head->layer->rule.scale);
    put_row(head, head->masked, query, count, false);
    if (!softmax_row(row, count))
        return HEAD_NO_NUMBER;
    for (size_t r = 0; r < count; r++) {
        struct key_range own = segment(head, r, count);
        row[r] *= (float)(own.end - own.first);
    }
    normalise_row(row, count);
    put_row(head, head->weights, query, count, true);
    memset(memory->context, 0, dv * sizeof(float));
    for (size_t r = 0; r < count; r++) {
        const float *v = memory->sums + dk * count + r * dv;
        add_scaled_row(memory->context, v, dv, row[r], v);
    }
    strip_write_context(head, strip);
    return HEAD_SOUND;
}

static enum head_fault compute(const struct attention_head *head)
{
    find_means(head, count_segments(head->layer->pass->config, head->keys));
    return strip_for_each(head, 0, 1, compute_query);
}

const struct attention_method attention_lowrank = {measure, NULL, compute};
