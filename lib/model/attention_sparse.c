/* attention_sparse.c: attention to few keys, or to few means of keys, a query at a time.
 *
 * Sparse: the keys of a pattern, one by one. Time and memory grow with the visible keys. Sums have
 * the order of dense attention: a pattern of all keys gives the same bits.
 *
 * Low-rank: the text in R segments of nearly the same size; a query attends to the mean key and the
 * mean value of each. Time is n · R, memory R. A segment counts as often as it has tokens, and they
 * share its weight equally: the weights are those of dense attention in which each key is the mean
 * of its segment, and with a segment for each token those of the model.
 */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "math/isa.h"
#include "math/rows.h"
#include "model/attention_strip.h"

/* --- sparse ----------------------------------------------------------------------------------- */

enum {
    FEW = 64,   /* keys at a time */
    CHAINS = 8, /* sums at a time: a fused multiply-add takes four cycles, two start in each */
};

static bool measure(struct attention_size *size, const struct attention_problem *problem)
{
    const struct pattern *pattern = problem->rule.pattern;
    size->rows = size->part_rows = 1;
    size->context_stride = problem->config->d_v;
    size->row = score_most(&problem->rule, problem->keys);
    size->seen = size->row;
    if (pattern->random)
        size->drawn = num_min(pattern->random + 1, problem->keys);
    return true;
}

/* y[i] = x · rows[i], whose elements are `step` floats apart: one chain each, as in a kernel. */
FOR_EACH_ISA
static void multiply_chains(float *restrict y, const float *restrict x,
                            const float *const rows[CHAINS], size_t width, size_t step)
{
    float sums[CHAINS] = {0};
    for (size_t i = 0; i < width; i++)
        for (size_t c = 0; c < CHAINS; c++)
            sums[c] = fmaf(x[i], rows[c][i * step], sums[c]);
    memcpy(y, sums, sizeof sums);
}

/* q · k of some keys, in ascending order; those of a cache are in panels. */
static void multiply_keys(const struct attention_head *head, size_t query, const uint32_t *keys,
                          size_t count, float *to)
{
    const float *q = head->q.data + query * head->q.stride;
    for (size_t first = 0, some = 0; first < count; first += some) {
        const float *rows[CHAINS];
        float sums[CHAINS];
        bool cached = keys[first] < head->past;
        for (some = 0; some < CHAINS && first + some < count; some++) {
            size_t key = keys[first + some];
            if ((key < head->past) != cached)
                break;
            rows[some] = cached ? strip_panel(head, key) + key % KEY_PANEL
                                : head->k.data + (key - head->past) * head->k.stride;
        }
        for (size_t unused = some; unused < CHAINS; unused++)
            rows[unused] = rows[0];
        multiply_chains(sums, q, rows, head->q.columns, cached ? KEY_PANEL : 1);
        memcpy(to + first, sums, some * sizeof *to);
    }
}

/* Raw scores are those of all keys. */
static bool put_scores(const struct attention_head *head, size_t query)
{
    float *row = strip_map_row(head, head->scores, query);
    for (size_t key = 0; row && key < head->keys; key += FEW) {
        uint32_t keys[FEW];
        for (size_t i = 0; i < FEW; i++)
            keys[i] = (uint32_t)(key + i);
        multiply_keys(head, query, keys, num_min(FEW, head->keys - key), row + key);
    }
    return !row || first_nonfinite(row, head->keys) == head->keys;
}

/* A row of a map, if it is watched: the numbers of the seen keys, and another for the rest. */
static void put_row(const struct attention_head *head, float *map, size_t query, size_t count,
                    float others)
{
    float *row = strip_map_row(head, map, query);
    for (size_t key = 0; row && key < head->keys; key++)
        row[key] = others;
    for (size_t i = 0; row && i < count; i++)
        row[head->memory->seen[i]] = head->memory->row[i];
}

/* In chains of CHAIN keys of the text. */
static void sum_values(const struct attention_head *head, size_t count)
{
    const struct attention_memory *memory = head->memory;
    size_t width = head->v.columns;
    memset(memory->context, 0, width * sizeof(float));
    for (size_t first = 0, end = 0; first < count; first = end) {
        float *to = first ? memory->part : memory->context;
        memset(to, 0, width * sizeof(float));
        for (; end < count && memory->seen[end] / CHAIN == memory->seen[first] / CHAIN; end++) {
            const float *v = strip_values(head, memory->seen[end]);
            add_scaled_row(to, v, width, memory->row[end], v);
        }
        if (first)
            add_rows((struct matrix){memory->context, 1, width, width},
                     (struct matrix){memory->part, 1, width, width});
    }
}

static enum head_fault compute_query(const struct attention_head *head, const struct strip *strip)
{
    size_t query = strip->first;
    const struct attention_memory *memory = head->memory;
    const struct score_rule *rule = &head->layer->rule;
    size_t count = score_keys(rule, head->past + query, head->keys, memory->seen, memory->drawn);
    if (!put_scores(head, query))
        return HEAD_NO_NUMBER;
    if (count == 0)
        return HEAD_NO_KEY;
    multiply_keys(head, query, memory->seen, count, memory->row);
    if (!score_bends(rule))
        scale_row(memory->row, memory->row, count, rule->scale);
    for (size_t i = 0; score_bends(rule) && i < count; i++)
        score_apply(rule, head->slope, memory->row + i,
                    (struct key_range){memory->seen[i], memory->seen[i] + 1});
    put_row(head, head->masked, query, count, -INFINITY);
    if (!softmax_row(memory->row, count))
        return HEAD_NO_NUMBER;
    for (size_t i = 0; head->layer->pass->config->mechanism.dropout > 0 && i < count; i++)
        strip_drop(head, memory->row + i, query,
                   (struct key_range){memory->seen[i], memory->seen[i] + 1});
    put_row(head, head->weights, query, count, 0.0f);
    if (!head->layer->wants_context)
        return HEAD_SOUND;
    sum_values(head, count);
    strip_write_context(head, strip);
    return HEAD_SOUND;
}

static enum head_fault compute(const struct attention_head *head)
{
    return strip_for_each(head, 0, 1, compute_query);
}

const struct attention_method attention_sparse = {measure, NULL, compute};

/* --- low-rank --------------------------------------------------------------------------------- */

static size_t count_segments(const struct config *config, size_t keys)
{
    return num_min(config->mechanism.segments, keys);
}

static bool measure_segments(struct attention_size *size, const struct attention_problem *problem)
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
static void put_segments(const struct attention_head *head, float *map, size_t query, size_t count,
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

static enum head_fault compute_by_segment(const struct attention_head *head,
                                          const struct strip *strip)
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
    put_segments(head, head->scores, query, count, false);
    scale_row(row, row, count, head->layer->rule.scale);
    put_segments(head, head->masked, query, count, false);
    if (!softmax_row(row, count))
        return HEAD_NO_NUMBER;
    for (size_t r = 0; r < count; r++) {
        struct key_range own = segment(head, r, count);
        row[r] *= (float)(own.end - own.first);
    }
    normalise_row(row, count);
    put_segments(head, head->weights, query, count, true);
    memset(memory->context, 0, dv * sizeof(float));
    for (size_t r = 0; r < count; r++) {
        const float *v = memory->sums + dk * count + r * dv;
        add_scaled_row(memory->context, v, dv, row[r], v);
    }
    strip_write_context(head, strip);
    return HEAD_SOUND;
}

static enum head_fault compute_lowrank(const struct attention_head *head)
{
    find_means(head, count_segments(head->layer->pass->config, head->keys));
    return strip_for_each(head, 0, 1, compute_by_segment);
}

const struct attention_method attention_lowrank = {measure_segments, NULL, compute_lowrank};
