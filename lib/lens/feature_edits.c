#include "lens/feature_edits.h"

#include <math.h>
#include <string.h>

#include "base/num.h"

int feature_edit_check(const struct dictionary *dictionary, const char *words, struct err *err)
{
    return dictionary->site == dictionary->site_out && !dictionary->of_direction
               ? 0
               : err_unsupported(err,
                                 "%s: expected an autoencoder, whose features are of what it "
                                 "writes, found a transcoder of '%s' to '%s'",
                                 words, site_name(dictionary->site),
                                 site_name(dictionary->site_out));
}

/* Copy between a row of a block, whose heads are apart, and a dense one. */
static void copy_row(float *dense, const struct edit_block *block, size_t row, bool to_block)
{
    for (size_t head = 0; head < block->heads; head++) {
        float *part = block->data + head * block->head_stride + row * block->row_stride;
        float *own = dense + head * block->columns;
        memcpy(to_block ? part : own, to_block ? own : part, block->columns * sizeof *own);
    }
}

static bool is_listed(const struct edit_indices *list, size_t feature)
{
    bool found = !list->count;
    for (size_t i = 0; i < list->count && !found; i++)
        found =
            list->items[i].first <= (ptrdiff_t)feature && (ptrdiff_t)feature <= list->items[i].last;
    return found;
}

/* The new value of a feature at a token. */
static double changed(const struct feature_edit *edit, size_t feature, double value, size_t token)
{
    switch (edit->op) {
    case EDIT_SET:
        return (double)edit->number;
    case EDIT_SCALE:
        return value * (double)edit->number;
    case EDIT_ADD:
        return value + (double)edit->number;
    default:
        return token < edit->rows ? (double)edit->taken[token * edit->dictionary->count + feature]
                                  : value;
    }
}

/* Add the changes of the features of a row x, of which `row` are active. */
static void change_row(const struct feature_edit *edit, float *x, const struct feature_row *row,
                       float *differences, size_t token)
{
    const struct dictionary *d = edit->dictionary;
    for (size_t i = 0, at = 0; i < d->count; i++) {
        const bool active = at < row->count && row->items[at].id == i;
        const double value = active ? (double)row->items[at].value : 0;
        at += active;
        differences[i] =
            is_listed(&edit->features, i) ? (float)(changed(edit, i, value, token) - value) : 0;
    }
    dictionary_add(d, x, differences);
}

/* Without memory the rows become NaN, which the pass reports. */
void feature_edit_apply(void *context, const struct edit_block *block)
{
    const struct feature_edit *edit = context;
    const struct dictionary *d = edit->dictionary;
    struct arena arena = {0};
    struct err err = {0};
    struct matrix x = matrix_new(block->rows, d->in, &arena, &err);
    struct matrix y = matrix_new(block->rows, d->in, &arena, &err);
    struct feature_row *rows = arena_alloc(&arena, block->rows, sizeof *rows, &err);
    float *differences = arena_alloc(&arena, d->count, sizeof *differences, &err);
    for (size_t i = 0; x.data && i < block->rows; i++)
        copy_row(matrix_row(x, i), block, i, false);
    bool failed = err.kind || dictionary_encode(d, NULL, rows, x, &arena, &err) ||
                  (edit->decoded && dictionary_decode(d, y, rows, x, &arena, &err));
    for (size_t i = 0; i < block->rows; i++) {
        if (failed) {
            *(block->data + i * block->row_stride) = NAN;
            continue;
        }
        const size_t token = block->first_row + (block->one_row ? 0 : i);
        if (!edit->decoded)
            change_row(edit, matrix_row(x, i), &rows[i], differences, token);
        copy_row(matrix_row(edit->decoded ? y : x, i), block, i, true);
    }
    arena_release(&arena);
}

int feature_edit_fill(struct feature_edit *edit, const struct edit_source *source,
                      struct arena *arena, struct err *err)
{
    const struct dictionary *d = edit->dictionary;
    const size_t layer = site_row(d->site)->in_layer ? d->layer : 0, longest = source->longest;
    struct arena own = {0};
    size_t *texts = arena_alloc(&own, longest, sizeof *texts, err);
    edit->taken = arena_alloc(arena, longest * d->count, sizeof *edit->taken, err);
    edit->rows = longest;
    int failed = !texts || !edit->taken;
    for (size_t k = 0; k < source->count && !failed; k++) {
        const struct tensor *values = &source->values[layer * source->count + k];
        const size_t axis = values->rank - 2, tokens = values->shape[axis];
        const size_t heads = axis ? values->shape[0] : 1, D = values->shape[axis + 1];
        struct matrix x = matrix_new(tokens, d->in, &own, err);
        struct feature_row *rows = arena_alloc(&own, tokens, sizeof *rows, err);
        for (size_t i = 0; x.data && i < tokens * heads; i++)
            memcpy(matrix_row(x, i % tokens) + i / tokens * D,
                   values->data + (axis ? i / tokens * values->stride[0] : 0) +
                       i % tokens * values->stride[axis],
                   D * sizeof *x.data);
        failed = err->kind || dictionary_encode(d, NULL, rows, x, &own, err);
        for (size_t i = 0; i < num_min(tokens, longest) && !failed; i++) {
            texts[i]++;
            for (size_t j = 0; j < rows[i].count; j++)
                edit->taken[i * d->count + rows[i].items[j].id] += rows[i].items[j].value;
        }
    }
    for (size_t i = 0; i < longest && !failed; i++)
        for (size_t j = 0; j < d->count && texts[i] > 1; j++)
            edit->taken[i * d->count + j] /= (float)texts[i];
    arena_release(&own);
    return err_if(failed);
}
