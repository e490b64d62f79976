#include "model/attention_dense.h"

#include <math.h>

#include "math/rows.h"
#include "model/attention_strip.h"

static bool measure(struct attention_size *size, const struct attention_demand *demand)
{
    size_t rows = demand->queries < STRIP ? demand->queries : STRIP;
    size->rows = strip_rows_of_size(strip_row_size(rows));
    size->stride = matrix_stride(strip_round_up(demand->keys, KEY_PANEL));
    return strip_measure(size, demand);
}

/* The kernels that strips of so many queries against `keys` keys call. */
static void fetch_kernels_of(struct layer_job *layer, size_t rows, size_t keys)
{
    size_t rest = strip_round_up(keys % KEY_PANEL, STEP);
    strip_fetch_scores(layer, rows, KEY_PANEL);
    if (!layer->wants_context)
        return;
    if (keys >= KEY_PANEL)
        strip_fetch_context(layer, rows, KEY_PANEL, false);
    if (keys >= 2 * KEY_PANEL)
        strip_fetch_context(layer, rows, KEY_PANEL, true);
    if (rest)
        strip_fetch_context(layer, rows, rest, keys > KEY_PANEL);
}

static int prepare(struct layer_job *layer)
{
    const struct batch *batch = layer->pass->batch;
    bool causal = batch->causal;
    kernels_begin(layer->pass->machine->kernels);
    for (size_t s = 0; s < batch->count; s++) {
        size_t queries = batch->queries[s].count;
        for (size_t first = 0; first < queries; first += STRIP) {
            size_t rows = queries - first < STRIP ? queries - first : STRIP;
            size_t keys = causal ? batch->past[s] + first + rows : batch_keys(batch, s);
            fetch_kernels_of(layer, strip_row_size(rows), keys);
        }
    }
    return 0;
}

/* The future is -infinity, which softmax makes 0. */
static enum head_fault mask_before(const struct head_job *head, float *row, size_t query,
                                   size_t visible)
{
    scale_row(row, row, visible, head->layer->scale);
    strip_put_row(head, head->masked, query, row, visible, -INFINITY);
    return softmax_row(row, visible) ? HEAD_SOUND : HEAD_NO_NUMBER;
}

/* Softmax over all keys; then the future is made 0, and the rest is divided by its sum. */
static enum head_fault mask_behind(const struct head_job *head, float *row, size_t query,
                                   size_t visible)
{
    scale_row(row, row, head->keys, head->layer->scale);
    if (!softmax_row(row, head->keys))
        return HEAD_NO_NUMBER;
    strip_put_row(head, head->softmax, query, row, head->keys, 0.0f);
    strip_put_row(head, head->masked, query, row, visible, 0.0f);
    return share_row(row, visible) ? HEAD_SOUND : HEAD_NO_WEIGHT;
}

/* Turn one row of scores into weights; what cannot be seen gets weight 0. What is no number is
 * found in the scores, or by the softmax. */
static enum head_fault weigh_row(const struct head_job *head, float *row, size_t query,
                                 size_t padded_keys)
{
    bool behind = head->layer->masks_behind;
    size_t visible = strip_visible(head, query);
    bool sound = !head->scores || first_bad(row, head->keys) == head->keys;
    strip_put_row(head, head->scores, query, row, head->keys, 0.0f);
    enum head_fault fault = (behind ? mask_behind : mask_before)(head, row, query, visible);
    strip_drop(head, row, query, (struct stretch){0, visible});
    strip_put_row(head, head->weights, query, row, visible, 0.0f);
    for (size_t key = visible; key < padded_keys; key++)
        row[key] = 0.0f;
    return sound ? fault : HEAD_NO_NUMBER;
}

static enum head_fault compute_strip(const struct head_job *head, const struct strip *strip)
{
    const struct attention_memory *memory = head->memory;
    size_t keys = strip_visible(head, strip->first + strip->rows - 1);
    bool all = head->scores || head->layer->masks_behind;
    size_t scored = strip_round_up(all ? head->keys : keys, KEY_PANEL);
    struct stretch stretch = {0, strip_round_up(keys, STEP)};
    enum head_fault fault = HEAD_SOUND;
    strip_scores(head, strip, (struct stretch){0, scored}, memory->scores);
    for (size_t row = 0; row < strip->rows && fault == HEAD_SOUND; row++)
        fault =
            weigh_row(head, memory->scores + row * memory->stride, strip->first + row, stretch.end);
    if (head->layer->wants_context) {
        strip_context(head, strip, stretch, memory->scores, false);
        strip_write_context(head, strip);
    }
    return fault;
}

static enum head_fault compute(const struct head_job *head)
{
    enum head_fault fault = HEAD_SOUND;
    strip_begin(head);
    for (size_t first = 0; first < head->q.rows && fault == HEAD_SOUND; first += STRIP) {
        struct strip strip = strip_at(head, first, STRIP);
        fault = compute_strip(head, &strip);
    }
    return fault;
}

const struct attention_way attention_dense = {measure, prepare, compute};
