/* What leaves the pass: values for the tap, and failures for values that are no numbers. */
#include "model/pass.h"

#include <stdio.h>

#include "math/rows.h"

/* "'h.0.scores' head 1: expected …, found … (text 0)" */
static enum pass_state fail_at(struct pass *pass, const struct place_in_pass *place,
                               const char *what)
{
    char site[SITE_NAME_BYTES];
    char head[32] = "";
    site_tensor_name(site, SITE_OF(pass->part, place->site), (int)place->layer);
    if (place->head != NO_HEAD)
        snprintf(head, sizeof head, " head %zu", place->head);
    err_set(pass->err, "'%s'%s: expected %s (text %zu)", site, head, what,
            pass->batch->first + place->text);
    return PASS_FAILED;
}

enum pass_state pass_fail_number(struct pass *pass, const struct place_in_pass *place)
{
    bool in_layer = site_row(place->site)->in_layer;
    int layer = in_layer ? (int)(pass->first_layer + place->layer) : -1;
    if (weights_check_finite(pass->weights, layer, pass->err))
        return PASS_FAILED;
    return fail_at(pass, place, "finite numbers, found infinity or nan");
}

enum pass_state pass_fail_weight(struct pass *pass, const struct place_in_pass *place)
{
    return fail_at(pass, place, "rows that sum to more than 0, found one of 0");
}

enum pass_state pass_fail_sight(struct pass *pass, const struct place_in_pass *place)
{
    if (pass->edits)
        return fail_at(pass, place,
                       "at least one visible key for each query, found none after the edits");
    return fail_at(pass, place,
                   "at least one visible key for each query, found none with both --attention and "
                   "the model's window: add 'window:1+…'");
}

enum pass_state pass_check_rows(struct pass *pass, enum site site, size_t layer, struct matrix rows)
{
    for (size_t s = 0; s < pass->batch->count; s++) {
        struct span span = pass->batch->queries[s];
        struct matrix part = matrix_rows(rows, span.first, span.count);
        for (size_t row = 0; row < part.rows; row++)
            if (first_nonfinite(part.data + row * part.stride, part.columns) < part.columns)
                return pass_fail_number(pass,
                                        &(struct place_in_pass){site, layer, s, .head = NO_HEAD});
    }
    return PASS_ON;
}

static bool is_sound(const struct tensor *values)
{
    size_t last = values->rank - 1;
    if (values->rank > 1) {
        for (size_t i = 0; i < values->shape[0]; i++) {
            struct tensor slice = tensor_slice(values, i);
            if (!is_sound(&slice))
                return false;
        }
        return true;
    }
    size_t count = values->shape[last];
    if (values->stride[last] == 1)
        return first_nonfinite(values->data, count) == count;
    for (size_t i = 0; i < count; i++)
        if (first_nonfinite(values->data + i * values->stride[last], 1) == 0)
            return false;
    return true;
}

/* True when heads stand side by side in the rows of tokens and all elements of these are finite:
 * found row by row, as they lie in memory, where head by head would take several times as long. */
static bool are_sound_in_rows(const struct tensor *values, struct span heads)
{
    if (values->rank != 3 || values->stride[2] != 1 || values->stride[0] != values->shape[2])
        return false;
    size_t count = heads.count * values->shape[2];
    const float *row = values->data + heads.first * values->shape[2];
    for (size_t i = 0; i < values->shape[1]; i++, row += values->stride[1])
        if (first_nonfinite(row, count) < count)
            return false;
    return true;
}

/* The first of some heads, or rows where there are no heads, that has such a value; how many there
 * are in all where none has. */
static size_t first_unsound(const struct tensor *values, struct span heads)
{
    if (are_sound_in_rows(values, heads))
        return values->shape[0];
    for (size_t i = heads.first; i < heads.first + heads.count; i++) {
        struct tensor slice = tensor_slice(values, i);
        if (!is_sound(&slice))
            return i;
    }
    return values->shape[0];
}

int tap_show(struct pass *pass, enum site site, size_t layer, size_t text, struct tensor values)
{
    struct announcement seen = {
        .site = SITE_OF(pass->part, site),
        .layer = site_row(site)->in_layer ? (int)layer : -1,
        .text = text,
        .values = values,
    };
    return pass->tap->sink(pass->tap->context, &seen, pass->err);
}

/* Hand one text's values to the sink, if there are any and all of them are numbers. */
static int announce(struct pass *pass, enum site site, size_t layer, size_t text,
                    struct tensor values)
{
    if (values.shape[values.rank - 2] == 0)
        return 0;
    bool has_heads = values.rank == 3;
    struct span all = {0, values.shape[0]};
    size_t bad = first_unsound(&values, has_heads ? pass_heads(pass, site, layer) : all);
    struct place_in_pass place = {site, layer, text, has_heads ? bad : NO_HEAD};
    if (bad == values.shape[0])
        return tap_show(pass, site, layer, text, values);
    pass_fail_number(pass, &place);
    return -1;
}

enum pass_state tap_rows(struct pass *pass, enum site site, size_t layer, struct matrix rows)
{
    pass_edit_rows(pass, site, layer, rows);
    for (size_t s = 0; pass_watches(pass, site, layer) && s < pass->batch->count; s++) {
        struct span span = pass->batch->queries[s];
        struct tensor values = tensor_of_matrix(matrix_rows(rows, span.first, span.count));
        if (announce(pass, site, layer, s, values))
            return PASS_FAILED;
    }
    return pass_after(pass, site, layer);
}

enum pass_state tap_heads(struct pass *pass, enum site site, size_t layer, struct matrix rows)
{
    bool of_keys = site_row(site)->axes == AXES_GROUP_TOKEN_DIM;
    const struct span *spans = of_keys ? pass->batch->keys : pass->batch->queries;
    size_t heads = of_keys ? pass->config->n_kv_head : pass->config->n_head;
    size_t width = rows.columns / heads;
    pass_edit_rows(pass, site, layer, rows);
    for (size_t s = 0; pass_watches(pass, site, layer) && s < pass->batch->count; s++) {
        struct tensor values = {
            .data = rows.data + spans[s].first * rows.stride,
            .rank = 3,
            .shape = {heads, spans[s].count, width},
            .stride = {width, rows.stride, 1},
        };
        if (announce(pass, site, layer, s, values))
            return PASS_FAILED;
    }
    return pass_after(pass, site, layer);
}

enum pass_state tap_logits(struct pass *pass)
{
    struct matrix logits = pass->scratch.logits;
    pass_edit_logits(pass);
    for (size_t s = 0; s < pass->batch->count; s++) {
        struct span tokens = pass_logit_rows(pass, s);
        struct tensor values = {
            .data = logits.data + tokens.first * logits.stride,
            .rank = 2,
            .shape = {tokens.count, pass->config->vocab_size},
            .stride = {logits.stride, 1},
        };
        if (announce(pass, SITE_LOGITS, 0, s, values))
            return PASS_FAILED;
    }
    return PASS_OVER;
}
