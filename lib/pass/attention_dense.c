/* attention_dense.c: attention of every query to every key that the mask allows, strip by strip: to
 * all keys at once, or to one block of keys after the other.
 *
 * A strip is up to 32 queries of a head with all keys that are visible to them: small enough for
 * the processor's cache, large enough for the kernels. Its scores are scaled, masked and replaced
 * by weights, which are multiplied with the values. Watched maps are copied from the strip; no
 * other part of the [T, S] map is stored.
 *
 * With blocks, the memory for scores does not grow with the keys. Each query has its largest score
 * so far and the sum of its blocks so far: if a block has a larger score, the sum is multiplied by
 * e^(old - new); at the end, context and weights are divided by the sum. Weights differ from dense
 * attention only by rounding. A watched map of weights contains scores until the sum is known. */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "math/rng.h"
#include "math/rows.h"
#include "pass/attention_strip.h"

/* --- all keys at once ------------------------------------------------------------------------- */

static bool measure(struct attention_size *size, const struct attention_problem *problem)
{
    size_t keys = strip_round_up(problem->keys, KEY_PANEL);
    size->rows = strip_rows_of_size(strip_row_size(num_min(problem->queries, STRIP)));
    if (problem->attention->score.kind == ATTENTION_BLOCKED) {
        size_t block = problem->config->mechanism.block;
        block = strip_round_up(block, STEP) + STEP;      /* a block may begin between two multiples
                                                          * of STEP */
        keys = num_max(num_min(block, keys), KEY_PANEL); /* put_panels computes raw scores for
                                                          * KEY_PANEL keys at a time */
        size->row = 2 * STRIP;
    }
    size->strides.scores = matrix_stride(keys);
    return strip_measure(size, problem);
}

/* Fetch the kernels for strips of row size `rows` (strip_row_size) that attend to `keys` keys. */
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
    if (rest && layer->rule.back < SIZE_MAX) /* with a window, these last keys may also be the first
                                              * keys of the sum */
        strip_fetch_context(layer, rows, rest, false);
}

static void prepare(struct attention_layer *layer)
{
    const struct batch *batch = layer->pass->batch;
    bool blocked = layer->rule.kind == ATTENTION_BLOCKED;
    size_t widest = num_min(layer->pass->scratch.attention[0].strides.scores, KEY_PANEL);
    kernels_begin(layer->pass->machine->kernels);
    for (size_t s = 0; s < batch->count; s++) {
        size_t queries = batch->queries[s].count;
        for (size_t first = 0; first < queries; first += STRIP) {
            size_t rows = num_min(queries - first, STRIP);
            size_t last = batch->queries[s].past + first + rows - 1;
            size_t keys = score_visible(&layer->rule, last, batch_keys(batch, s)).end;
            size_t size = strip_row_size(rows);
            if (!blocked)
                fetch_kernels_of(layer, size, keys);
            /* with blocks of keys, a product may have any multiple of STEP as its number of keys */
            for (keys = STEP; blocked && keys <= widest; keys += STEP) {
                strip_fetch_scores(layer, size, keys);
                strip_fetch_context(layer, size, keys, false);
                strip_fetch_context(layer, size, keys, true);
            }
        }
    }
}

/* Replace scores by their softmax over the visible keys; masked keys count as -infinity. */
static enum head_fault mask_before(const struct attention_head *head, struct matrix rows,
                                   size_t query)
{
    struct softmax_range ranges[STRIP];
    const struct score_rule *rule = &head->layer->rule;
    for (size_t row = 0; row < rows.rows; row++) {
        struct key_range keys = strip_visible(head, query + row);
        ranges[row] =
            (struct softmax_range){.first = keys.first, .end = keys.end, .sink = head->sink};
        if (score_bends(rule))
            score_apply(rule, &head->bias, head->past + query + row,
                        matrix_row(rows, row) + keys.first, keys, head->keys);
    }
    softmax_range_scale(rows, ranges, score_bends(rule) ? 1.0f : rule->scale);
    enum head_fault fault = attention_edit_masked(head, rows, ranges, query);
    if (fault != HEAD_SOUND)
        return fault;
    for (size_t row = 0; head->masked && row < rows.rows; row++)
        strip_put_range(head, head->masked, query + row, matrix_row(rows, row),
                        (struct key_range){ranges[row].first, ranges[row].end}, -INFINITY);
    bool sound = softmax_range_apply(rows, ranges);
    for (size_t row = 0; head->sink && row < rows.rows; row++)
        head->rests.data[(query + row) * head->rests.stride] = ranges[row].rest;
    return sound ? HEAD_SOUND : HEAD_NO_NUMBER;
}

/* Replace scores by their softmax over all keys; then set weights of masked keys to 0 and divide
 * the other weights by their sum. */
static enum head_fault mask_after(const struct attention_head *head, struct matrix rows,
                                  size_t query)
{
    for (size_t end = query + rows.rows; query < end; query++, rows.data += rows.stride) {
        struct key_range all = {0, head->keys};
        struct key_range visible = strip_visible(head, query);
        score_apply(&head->layer->rule, &head->bias, head->past + query, rows.data, all,
                    head->keys);
        if (!softmax_row(rows.data, head->keys))
            return HEAD_NO_NUMBER;
        attention_edit(head, SITE_SOFTMAX, query, rows.data, all);
        strip_put_row(head, head->softmax, query, rows.data, head->keys);
        for (size_t key = 0; key < visible.first; key++)
            rows.data[key] = 0.0f;
        attention_edit(head, SITE_MASKED, query, rows.data, visible);
        strip_put_row(head, head->masked, query, rows.data, visible.end);
        if (!normalise_row(rows.data, visible.end))
            return HEAD_NO_WEIGHT;
        for (size_t key = visible.end; key < rows.columns; key++)
            rows.data[key] = 0.0f;
    }
    return HEAD_SOUND;
}

/* Convert a few rows of raw scores, which include scores of masked keys, to weights. Weights of
 * masked keys are 0. Returns a fault if a watched score is not finite, or if the softmax fails. */
static enum head_fault weigh_rows(const struct attention_head *head, struct matrix rows,
                                  size_t query)
{
    const struct dropout *drop = &head->layer->dropout;
    bool after = head->layer->rule.mask_after;
    bool sound = true; /* false: a watched score is not finite */
    attention_edit_scores(head, rows, query);
    for (size_t row = 0; head->scores && row < rows.rows; row++) {
        const float *scores = matrix_row(rows, row);
        sound &= first_nonfinite(scores, head->keys) == head->keys;
        strip_put_row(head, head->scores, query + row, scores, head->keys);
    }

    enum head_fault fault = (after ? mask_after : mask_before)(head, rows, query);
    for (size_t row = 0; row < rows.rows && fault == HEAD_SOUND; row++) {
        float *weights = matrix_row(rows, row);
        struct key_range visible = strip_visible(head, query + row);
        strip_drop(head, weights, query + row, (struct key_range){0, visible.end});
        attention_edit(head, SITE_WEIGHTS, query + row, weights, visible);
        strip_put_row(head, head->weights, query + row, weights, visible.end);
        rng_dropout(weights + visible.first, visible.end - visible.first, drop->key,
                    (head->text * head->layer->heads->heads + head->head) * head->q.rows + query +
                        row,
                    drop->rate);
    }
    return sound ? fault : HEAD_NO_NUMBER;
}

/* Convert a strip's scores to weights. Rows are converted in groups that stay in the processor's
 * cache from one step of the softmax to the next. */
static enum head_fault weigh_strip(const struct attention_head *head, const struct strip *strip,
                                   size_t keys)
{
    enum { NEAR = 8192 }; /* number of scores that stay in a core's cache */
    const struct attention_memory *memory = head->memory;
    struct matrix all = {memory->scores, strip->rows, keys, memory->strides.scores};
    size_t some = keys < NEAR ? NEAR / keys : 1;
    enum head_fault fault = HEAD_SOUND;
    for (size_t row = 0; row < all.rows && fault == HEAD_SOUND; row += some) {
        struct matrix rows = matrix_rows(all, row, num_min(all.rows - row, some));
        fault = weigh_rows(head, rows, strip->first + row);
    }
    return fault;
}

/* With differential attention: subtract the weights of the second head, times lambda, from the
 * weights of the first. */
static void subtract(const struct attention_head *head, const struct strip *strip)
{
    for (size_t i = 0; i < strip->rows; i++) {
        const size_t query = strip->first + i;
        float *weights = head->memory->scores + i * head->memory->strides.scores;
        const float *other = head->second->memory->scores + i * head->memory->strides.scores;
        struct key_range visible = strip_visible(head, query);
        add_scaled_row(weights + visible.first, other + visible.first, visible.end - visible.first,
                       -head->layer->lambda, other);
        attention_edit(head, SITE_DIFFERENCE, query, weights, visible);
        strip_put_row(head, head->difference, query, weights, visible.end);
    }
}

static enum head_fault compute_strip(const struct attention_head *head, const struct strip *strip)
{
    const float *weights = head->memory->scores;
    size_t keys = strip_visible(head, strip->first + strip->rows - 1).end;
    struct key_range visible = {0, strip_round_up(keys, STEP)};
    for (const struct attention_head *own = head; own; own = own->second) {
        bool all = own->scores || own->layer->rule.mask_after;
        size_t first = all ? 0 : strip_visible(own, strip->first).first / KEY_PANEL * KEY_PANEL;
        size_t end = all ? strip_round_up(own->keys, KEY_PANEL) : visible.end;
        visible.first = first;
        strip_scores(own, strip, (struct key_range){first, end}, own->memory->scores + first);
        enum head_fault fault = weigh_strip(own, strip, visible.end);
        if (fault != HEAD_SOUND)
            return fault;
    }
    if (head->second)
        subtract(head, strip);
    for (const struct attention_head *own = head; own; own = own->second)
        if (own->layer->wants_context) {
            strip_context(own, strip, visible, weights + visible.first, false);
            strip_write_context(own, strip);
        }
    return HEAD_SOUND;
}

/* --- block by block --------------------------------------------------------------------------- */

/* The state of the softmax of each query of a strip after some blocks of keys. */
struct so_far {
    float *largest; /* [rows]: the largest score so far */
    float *sum;     /* [rows]: the sum of e^(score - largest) so far */
};

static struct so_far so_far_of(const struct attention_head *head)
{
    return (struct so_far){head->memory->row, head->memory->row + STRIP};
}

/* If raw scores are watched, compute the raw scores of a strip for all keys, masked or not, panel
 * by panel, and write them to their map. */
static enum head_fault put_panels(const struct attention_head *head, const struct strip *strip)
{
    const struct attention_memory *memory = head->memory;
    for (size_t key = 0; head->scores && key < head->keys; key += KEY_PANEL) {
        size_t count = num_min(head->keys - key, KEY_PANEL);
        strip_scores(head, strip, (struct key_range){key, key + KEY_PANEL}, memory->scores);
        for (size_t i = 0; i < strip->rows; i++) {
            const float *row = memory->scores + i * memory->strides.scores;
            if (first_nonfinite(row, count) < count)
                return HEAD_NO_NUMBER;
            float *to = strip_map_row(head, head->scores, strip->first + i);
            if (to)
                nontemporal_copy(to + key, row, count);
        }
    }
    return HEAD_SOUND;
}

/* Copy the scaled scores of a block to the map of masked scores and to the map of weights, if these
 * are watched. The scores in the map of weights are replaced by weights when the sum of the softmax
 * is known. */
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
    size_t visible = keys.end - keys.first;
    size_t future = head->keys - keys.end;
    float *masked = strip_map_row(head, head->masked, query);
    float *weights = strip_map_row(head, head->weights, query);
    if (masked) {
        nontemporal_fill(masked, keys.first, -INFINITY);
        nontemporal_fill(masked + keys.end, future, -INFINITY);
    }
    if (!weights)
        return;
    exp_row(weights + keys.first, visible, largest);
    divide_row(weights + keys.first, visible, sum);
    strip_drop(head, weights + keys.first, query, keys);
    nontemporal_fill(weights, keys.first, 0.0f);
    nontemporal_fill(weights + keys.end, future, 0.0f);
}

/* Replace one query's scores in a block by e^(score - largest). If `largest` grows, scale the
 * earlier sums. */
static void add_block(const struct attention_head *head, size_t query, size_t index, float *scores,
                      struct key_range keys)
{
    struct so_far so_far = so_far_of(head);
    size_t count = keys.end - keys.first;
    float *context = head->memory->context + index * head->memory->strides.context;
    score_apply(&head->layer->rule, &head->bias, head->past + query, scores, keys, head->keys);
    put_block(head, query, keys, scores);
    float before = so_far.largest[index];
    float here = max_row(scores, count);
    float largest = here > before ? here : before;
    if (largest == -INFINITY) { /* the scores of this and all earlier blocks are -infinity */
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
        float *row = memory->scores + i * memory->strides.scores;
        struct key_range visible = strip_visible(head, strip->first + i);
        visible = (struct key_range){num_max(visible.first, block.first),
                                     num_min(visible.end, block.end)};
        if (visible.end > visible.first)
            add_block(head, strip->first + i, i, row + visible.first - steps.first, visible);
        else
            visible.first = visible.end = block.first;
        memset(row, 0, (visible.first - steps.first) * sizeof *row);
        memset(row + visible.end - steps.first, 0, (steps.end - visible.end) * sizeof *row);
    }
    if (head->layer->wants_context)
        strip_context(head, strip, steps, memory->scores, true);
}

static enum head_fault finish(const struct attention_head *head, const struct strip *strip)
{
    struct so_far so_far = so_far_of(head);
    for (size_t i = 0; i < strip->rows; i++) {
        float *context = head->memory->context + i * head->memory->strides.context;
        if (!(so_far.sum[i] >= 1.0f) || isinf(so_far.sum[i]) || !isfinite(so_far.largest[i]))
            return HEAD_NO_NUMBER;
        divide_row(context, head->v.columns, so_far.sum[i]);
        finish_maps(head, strip->first + i, so_far.largest[i], so_far.sum[i]);
        if (!head->sink)
            continue;
        float rest = *head->sink;
        exp_row(&rest, 1, so_far.largest[i]);
        head->rests.data[(strip->first + i) * head->rests.stride] = rest / so_far.sum[i];
    }
    if (head->layer->wants_context)
        strip_write_context(head, strip);
    return HEAD_SOUND;
}

static enum head_fault compute_blocks(const struct attention_head *head, const struct strip *strip)
{
    struct so_far so_far = so_far_of(head);
    size_t block = head->layer->pass->config->mechanism.block;
    size_t keys = strip_visible(head, strip->first + strip->rows - 1).end;
    enum head_fault fault = put_panels(head, strip);
    if (fault != HEAD_SOUND)
        return fault;
    size_t rows = strip_rows_of_size(strip_row_size(strip->rows));
    memset(head->memory->context, 0, rows * head->memory->strides.context * sizeof(float));
    for (size_t i = 0; i < strip->rows; i++) {
        so_far.largest[i] = head->sink ? *head->sink : -INFINITY;
        so_far.sum[i] = head->sink ? 1.0f : 0.0f;
    }
    size_t first = strip_visible(head, strip->first).first / block * block;
    for (; first < keys; first += block)
        compute_block(head, strip, (struct key_range){first, num_min(first + block, keys)});
    return finish(head, strip);
}

static enum head_fault compute(const struct attention_head *head)
{
    bool blocked = head->layer->rule.kind == ATTENTION_BLOCKED;
    for (const struct attention_head *own = head; own; own = own->second)
        strip_pack_keys(own);
    return strip_for_each(head, 0, STRIP, blocked ? compute_blocks : compute_strip);
}

const struct attention_method attention_dense = {measure, prepare, compute};
const struct attention_method attention_blocked = {measure, prepare, compute};
