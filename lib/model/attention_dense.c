/* attention_dense.c: every query against every key that the mask allows, strip by strip.
 *
 * A strip is 32 queries of one head against all keys they may see: small enough to stay in cache,
 * large enough for the kernels. The strip of scores is scaled, masked, made weights where it
 * lies, and multiplied with the values. What is watched is copied out of the strip on the way;
 * nothing else of the [T, S] map is ever stored.
 */
#include <math.h>

#include "base/num.h"
#include "math/rows.h"
#include "model/attention_strip.h"

static bool measure(struct attention_size *size, const struct attention_problem *problem)
{
    size_t rows = problem->queries < STRIP ? problem->queries : STRIP;
    size->rows = strip_rows_of_size(strip_row_size(rows));
    size->stride = matrix_stride(strip_round_up(problem->keys, KEY_PANEL));
    return strip_measure(size, problem);
}

/* The kernels that strips of so many queries against `keys` keys call. */
static void fetch_kernels_of(struct attention_layer *layer, size_t rows, size_t keys)
{
    size_t rest = strip_round_up(keys % KEY_PANEL, STEP);
    strip_fetch_scores(layer, rows, KEY_PANEL);
    if (rest)
        strip_fetch_scores(layer, rows, rest);
    if (!layer->wants_context)
        return;
    if (keys >= KEY_PANEL)
        strip_fetch_context(layer, rows, KEY_PANEL, false);
    if (keys >= 2 * KEY_PANEL)
        strip_fetch_context(layer, rows, KEY_PANEL, true);
    if (rest)
        strip_fetch_context(layer, rows, rest, keys / KEY_PANEL * KEY_PANEL % CHAIN > 0);
    if (rest && layer->rule.back < SIZE_MAX) /* it may be the first panel */
        strip_fetch_context(layer, rows, rest, false);
}

static void prepare(struct attention_layer *layer)
{
    const struct batch *batch = layer->pass->batch;
    kernels_begin(layer->pass->machine->kernels);
    for (size_t s = 0; s < batch->count; s++) {
        size_t queries = batch->queries[s].count;
        for (size_t first = 0; first < queries; first += STRIP) {
            size_t rows = queries - first < STRIP ? queries - first : STRIP;
            size_t last = batch->past[s] + first + rows - 1;
            size_t keys = score_visible(&layer->rule, last, batch_keys(batch, s)).end;
            fetch_kernels_of(layer, strip_row_size(rows), keys);
        }
    }
}

/* Raw scores, the future included. False: one is no number. */
static bool put_scores(const struct attention_head *head, struct matrix rows, size_t query)
{
    bool sound = true;
    attention_edit_scores(head, rows, query);
    for (size_t row = 0; head->scores && row < rows.rows; row++) {
        const float *scores = rows.data + row * rows.stride;
        sound &= first_nonfinite(scores, head->keys) == head->keys;
        strip_put_row(head, head->scores, query + row, scores, head->keys, 0.0f);
    }
    return sound;
}

/* What is not seen is -infinity, which softmax makes 0. */
static enum head_fault mask_before(const struct attention_head *head, struct matrix rows,
                                   size_t query)
{
    struct softmax_range ranges[STRIP];
    const struct score_rule *rule = &head->layer->rule;
    for (size_t row = 0; row < rows.rows; row++) {
        struct key_range keys = strip_visible(head, query + row);
        ranges[row] = (struct softmax_range){.first = keys.first, .end = keys.end};
        if (score_bends(rule))
            score_apply(rule, head->slope, rows.data + row * rows.stride + keys.first, keys);
    }
    softmax_range_scale(rows, ranges, score_bends(rule) ? 1.0f : rule->scale);
    enum head_fault fault = attention_edit_masked(head, rows, ranges, query);
    if (fault != HEAD_SOUND)
        return fault;
    for (size_t row = 0; head->masked && row < rows.rows; row++)
        strip_put_range(head, head->masked, query + row, rows.data + row * rows.stride,
                        (struct key_range){ranges[row].first, ranges[row].end}, -INFINITY);
    return softmax_range_apply(rows, ranges) ? HEAD_SOUND : HEAD_NO_NUMBER;
}

/* Softmax over all keys; then the future is made 0, and the rest is divided by its sum. */
static enum head_fault mask_after(const struct attention_head *head, struct matrix rows,
                                  size_t query)
{
    for (size_t end = query + rows.rows; query < end; query++, rows.data += rows.stride) {
        struct key_range all = {0, head->keys};
        struct key_range seen = strip_visible(head, query);
        score_apply(&head->layer->rule, head->slope, rows.data, all);
        if (!softmax_row(rows.data, head->keys))
            return HEAD_NO_NUMBER;
        attention_edit(head, SITE_SOFTMAX, query, rows.data, all);
        strip_put_row(head, head->softmax, query, rows.data, head->keys, 0.0f);
        for (size_t key = 0; key < seen.first; key++)
            rows.data[key] = 0.0f;
        attention_edit(head, SITE_MASKED, query, rows.data, seen);
        strip_put_row(head, head->masked, query, rows.data, seen.end, 0.0f);
        if (!normalise_row(rows.data, seen.end))
            return HEAD_NO_WEIGHT;
        for (size_t key = seen.end; key < rows.columns; key++)
            rows.data[key] = 0.0f;
    }
    return HEAD_SOUND;
}

/* Turn a few rows of scores into weights; what cannot be seen gets weight 0. What is no number is
 * found in the scores, or by the softmax. */
static enum head_fault weigh_rows(const struct attention_head *head, struct matrix rows,
                                  size_t query)
{
    bool after = head->layer->rule.mask_after;
    bool sound = put_scores(head, rows, query);
    enum head_fault fault = (after ? mask_after : mask_before)(head, rows, query);
    for (size_t row = 0; row < rows.rows && fault == HEAD_SOUND; row++) {
        float *weights = rows.data + row * rows.stride;
        struct key_range seen = strip_visible(head, query + row);
        strip_drop(head, weights, query + row, (struct key_range){0, seen.end});
        attention_edit(head, SITE_WEIGHTS, query + row, weights, seen);
        strip_put_row(head, head->weights, query + row, weights, seen.end, 0.0f);
    }
    return sound ? fault : HEAD_NO_NUMBER;
}

/* As many rows at a time as stay near the processor from one step of the softmax to the next. */
static enum head_fault weigh_strip(const struct attention_head *head, const struct strip *strip,
                                   size_t keys)
{
    enum { NEAR = 8192 }; /* floats */
    const struct attention_memory *memory = head->memory;
    struct matrix all = {memory->scores, strip->rows, keys, memory->stride};
    size_t some = keys < NEAR ? NEAR / keys : 1;
    enum head_fault fault = HEAD_SOUND;
    for (size_t row = 0; row < all.rows && fault == HEAD_SOUND; row += some) {
        struct matrix rows = matrix_rows(all, row, num_min(all.rows - row, some));
        fault = weigh_rows(head, rows, strip->first + row);
    }
    return fault;
}

static enum head_fault compute_strip(const struct attention_head *head, const struct strip *strip)
{
    const struct attention_memory *memory = head->memory;
    size_t keys = strip_visible(head, strip->first + strip->rows - 1).end;
    bool all = head->scores || head->layer->rule.mask_after;
    size_t first = all ? 0 : strip_visible(head, strip->first).first / KEY_PANEL * KEY_PANEL;
    struct key_range seen = {first, strip_round_up(keys, STEP)};
    struct key_range scored = {first, all ? strip_round_up(head->keys, KEY_PANEL) : seen.end};
    strip_scores(head, strip, scored, memory->scores + first);
    enum head_fault fault = weigh_strip(head, strip, seen.end);
    if (head->layer->wants_context) {
        strip_context(head, strip, seen, memory->scores + first);
        strip_write_context(head, strip);
    }
    return fault;
}

static enum head_fault compute(const struct attention_head *head)
{
    strip_pack_keys(head);
    return strip_for_each(head, 0, STRIP, compute_strip);
}

const struct attention_method attention_dense = {measure, prepare, compute};
