/* attention_blocked.c: dense attention a block of keys at a time: exact, in memory that does not
 * grow with the keys.
 *
 * Of every query the largest score so far and the sum so far are kept. A block whose scores are
 * larger makes what was summed before smaller by e^(old - new); at the end everything is divided by
 * the sum. The weights are what dense attention has, but for rounding. Watched maps are written
 * on the way, and put right at the end of a strip.
 */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "math/rows.h"
#include "model/attention_strip.h"

/* What is known of each query of a strip so far. */
struct so_far {
    float *largest; /* [rows] of its scores */
    float *sum;     /* [rows] of e^(score - largest) */
};

static size_t block_of(const struct config *config)
{
    return config->mechanism.block;
}

static struct so_far so_far_of(const struct attention_head *head)
{
    return (struct so_far){head->memory->row, head->memory->row + STRIP};
}

static bool measure(struct attention_size *size, const struct attention_problem *problem)
{
    const struct config *c = problem->config;
    size_t rows = problem->queries < STRIP ? problem->queries : STRIP;
    size_t keys = strip_round_up(problem->keys, KEY_PANEL);
    size_t block = strip_round_up(block_of(c), STEP) + STEP; /* it may begin within a step */
    size->rows = strip_rows_of_size(strip_row_size(rows));
    size->stride = matrix_stride(block < keys ? block : keys);
    if (size->stride < KEY_PANEL) /* raw scores go by panels */
        size->stride = matrix_stride(KEY_PANEL);
    size->row = 2 * STRIP;
    return strip_measure(size, problem);
}

static void prepare(struct attention_layer *layer)
{
    const struct pass *pass = layer->pass;
    bool fetched[ROW_SIZES] = {false};
    kernels_begin(pass->machine->kernels);
    for (size_t s = 0; s < pass->batch->count; s++) {
        size_t queries = pass->batch->queries[s].count;
        if (queries >= STRIP)
            fetched[strip_row_size(STRIP)] = true;
        if (queries % STRIP)
            fetched[strip_row_size(queries % STRIP)] = true;
    }
    for (size_t rows = 0; rows < ROW_SIZES; rows++)
        if (fetched[rows])
            strip_fetch_all(layer, rows);
}

/* --- attention maps that are watched ------------------------------------------------------- */

/* Raw scores, the future included, panel by panel. */
static enum head_fault put_scores(const struct attention_head *head, const struct strip *strip)
{
    const struct attention_memory *memory = head->memory;
    for (size_t key = 0; head->scores && key < head->keys; key += KEY_PANEL) {
        size_t count = head->keys - key < KEY_PANEL ? head->keys - key : KEY_PANEL;
        strip_scores(head, strip, (struct key_range){key, key + KEY_PANEL}, memory->scores);
        for (size_t i = 0; i < strip->rows; i++) {
            const float *row = memory->scores + i * memory->stride;
            if (first_nonfinite(row, count) < count)
                return HEAD_NO_NUMBER;
            float *to = strip_map_row(head, head->scores, strip->first + i);
            if (to)
                nontemporal_copy(to + key, row, count);
        }
    }
    return HEAD_SOUND;
}

/* Scaled scores of a block; weights are made of them when their sum is known. */
static void put_block(const struct attention_head *head, size_t query, struct key_range keys,
                      const float *scaled)
{
    float *const maps[] = {head->masked, head->weights};
    for (size_t i = 0; i < 2; i++) {
        float *row = strip_map_row(head, maps[i], query);
        if (row)
            memcpy(row + keys.first, scaled, (keys.end - keys.first) * sizeof *scaled);
    }
}

static void finish_maps(const struct attention_head *head, size_t query, float largest, float sum)
{
    struct key_range keys = strip_visible(head, query);
    size_t seen = keys.end - keys.first;
    size_t future = head->keys - keys.end;
    float *masked = strip_map_row(head, head->masked, query);
    float *weights = strip_map_row(head, head->weights, query);
    if (masked) {
        nontemporal_fill(masked, keys.first, -INFINITY);
        nontemporal_fill(masked + keys.end, future, -INFINITY);
    }
    if (!weights)
        return;
    exp_row(weights + keys.first, seen, largest);
    divide_row(weights + keys.first, seen, sum);
    strip_drop(head, weights + keys.first, query, keys);
    nontemporal_fill(weights, keys.first, 0.0f);
    nontemporal_fill(weights + keys.end, future, 0.0f);
}

/* --- the work --------------------------------------------------------------------------------- */

/* Take one query's scores of a block in: they become e^(score - largest), and what was summed
 * before is made smaller. */
static void take_in(const struct attention_head *head, size_t query, size_t index, float *scores,
                    struct key_range keys)
{
    struct so_far so_far = so_far_of(head);
    size_t count = keys.end - keys.first;
    float *context = head->memory->context + index * head->memory->context_stride;
    score_apply(&head->layer->rule, head->slope, scores, keys);
    put_block(head, query, keys, scores);
    float before = so_far.largest[index];
    float here = max_row(scores, count);
    float largest = here > before ? here : before;
    if (largest == -INFINITY) { /* nothing so far that is to be seen */
        memset(scores, 0, count * sizeof *scores);
        return;
    }
    if (largest > before && before > -INFINITY) {
        float factor = before;
        exp_row(&factor, 1, largest);
        so_far.sum[index] *= factor;
        scale_row(context, context, head->v.columns, factor);
    }
    so_far.largest[index] = largest;
    so_far.sum[index] += exp_row(scores, count, largest);
    strip_drop(head, scores, query, keys);
}

static void compute_block(const struct attention_head *head, const struct strip *strip,
                          struct key_range block)
{
    const struct attention_memory *memory = head->memory;
    struct key_range steps = {block.first / STEP * STEP, strip_round_up(block.end, STEP)};
    strip_scores(head, strip, steps, memory->scores);
    for (size_t i = 0; i < strip->rows; i++) {
        float *row = memory->scores + i * memory->stride;
        struct key_range seen = strip_visible(head, strip->first + i);
        seen = (struct key_range){num_max(seen.first, block.first), num_min(seen.end, block.end)};
        if (seen.end > seen.first)
            take_in(head, strip->first + i, i, row + seen.first - steps.first, seen);
        else
            seen.first = seen.end = block.first;
        memset(row, 0, (seen.first - steps.first) * sizeof *row);
        memset(row + seen.end - steps.first, 0, (steps.end - seen.end) * sizeof *row);
    }
    if (head->layer->wants_context)
        strip_add_context(head, strip, steps, memory->scores);
}

static enum head_fault finish(const struct attention_head *head, const struct strip *strip)
{
    struct so_far so_far = so_far_of(head);
    for (size_t i = 0; i < strip->rows; i++) {
        float *context = head->memory->context + i * head->memory->context_stride;
        if (!(so_far.sum[i] >= 1.0f) || isinf(so_far.sum[i]) || !isfinite(so_far.largest[i]))
            return HEAD_NO_NUMBER;
        divide_row(context, head->v.columns, so_far.sum[i]);
        finish_maps(head, strip->first + i, so_far.largest[i], so_far.sum[i]);
    }
    if (head->layer->wants_context)
        strip_write_context(head, strip);
    return HEAD_SOUND;
}

static enum head_fault compute_strip(const struct attention_head *head, const struct strip *strip)
{
    struct so_far so_far = so_far_of(head);
    size_t block = block_of(head->layer->pass->config);
    size_t keys = strip_visible(head, strip->first + strip->rows - 1).end;
    enum head_fault fault = put_scores(head, strip);
    if (fault != HEAD_SOUND)
        return fault;
    size_t rows = strip_rows_of_size(strip_row_size(strip->rows));
    memset(head->memory->context, 0, rows * head->memory->context_stride * sizeof(float));
    for (size_t i = 0; i < strip->rows; i++) {
        so_far.largest[i] = -INFINITY;
        so_far.sum[i] = 0.0f;
    }
    size_t first = strip_visible(head, strip->first).first / block * block;
    for (; first < keys; first += block) {
        size_t rest = keys - first;
        compute_block(head, strip,
                      (struct key_range){first, first + (rest < block ? rest : block)});
    }
    return finish(head, strip);
}

static enum head_fault compute(const struct attention_head *head)
{
    strip_pack_keys(head);
    return strip_for_each(head, 0, STRIP, compute_strip);
}

const struct attention_method attention_blocked = {measure, prepare, compute};
