/* attention_sparse.c: every query against the keys of a pattern, one by one, and no others. Time
 * and memory grow with the keys that are seen. Sums have the order of dense attention: a pattern of
 * all keys gives the same bits. */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "math/isa.h"
#include "math/rows.h"
#include "model/attention_strip.h"

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
