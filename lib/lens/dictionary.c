#include "lens/dictionary.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "math/gemm.h"
#include "math/machine.h"
#include "math/rows.h"

enum { COLUMNS_AT_ONCE = 4096 };

static const double deviation_epsilon = 1e-5; /* added to the standard deviation, as in SAELens */

/* --- requests --------------------------------------------------------------------------------- */

/* If a text ends with the setting `name`, such as ",scale=0.5", cut the setting off and return its
 * value. NULL: the text does not end with it. */
static char *cut_setting(char *text, const char *name)
{
    char *comma = strrchr(text, ',');
    const size_t size = strlen(name);
    if (!comma || strncmp(comma + 1, name, size) != 0 || comma[1 + size] != '=')
        return NULL;
    *comma = '\0';
    return comma + size + 2;
}

int dictionary_request_read(struct dictionary_request *request, const char *text,
                            struct arena *arena, struct err *err)
{
    static const char *const centers[] = {"as-read", "on", "off"};
    char *path = arena_text(arena, text, strlen(text), err), *value;
    *request = (struct dictionary_request){.path = path, .layer = -1};
    for (bool more = path; more;) {
        more = false;
        if ((value = cut_setting(path, "site")))
            request->site = value;
        else if ((value = cut_setting(path, "scale"))) {
            if (!num_parse_double(value, 1e-30, 1e30, &request->scale))
                return err_usage(err, "scale: expected a number above 0, found '%s'", value);
        } else if ((value = cut_setting(path, "k"))) {
            if (!num_parse_integer(value, 1, INT_MAX, &request->k))
                return err_usage(err, "k: expected a number above 0, found '%s'", value);
        } else if ((value = cut_setting(path, "center"))) {
            size_t index = 0;
            if (names_choose(&index, NAMES_LIST(centers), "center", value, err))
                return -1;
            request->center = (enum dictionary_center)index;
        }
        more = value;
    }
    char *colon = path ? strrchr(path, ':') : NULL;
    long long layer = 0;
    if (colon && num_parse_integer(colon + 1, 0, INT_MAX, &layer)) {
        request->layer = (int)layer;
        *colon = '\0';
    }
    return path ? 0 : -1;
}

/* --- rows in and out -------------------------------------------------------------------------- */

static double mean_of(const float *x, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)x[i];
    return sum / (double)count;
}

static double square_of(const float *x, size_t count, double mean)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += ((double)x[i] - mean) * ((double)x[i] - mean);
    return sum;
}

void dictionary_rows(const struct dictionary *d, struct matrix x)
{
    for (size_t i = 0; d->of_direction && i < x.rows; i++) {
        float *row = matrix_row(x, i);
        double mean_square = square_of(row, x.columns, 0) / (double)x.columns;
        scale_row(row, row, x.columns, (float)(1 / sqrt(mean_square + (double)d->epsilon)));
    }
}

/* How a row is normalised, and how that is undone: x₁ = (x - shift) · factor,
 * y = y₁ · undo + back. */
struct row_norm {
    double shift, factor, undo, back;
};

static struct row_norm norm_of(const struct dictionary *d, const float *x)
{
    double mean = mean_of(x, d->in), back = d->centers ? mean : 0;
    if (d->norm == DICTIONARY_CONSTANT) {
        double factor = sqrt((double)d->in / square_of(x, d->in, back));
        return (struct row_norm){back, factor, 1 / factor, back};
    }
    if (d->norm == DICTIONARY_LAYER) {
        double deviation = sqrt(square_of(x, d->in, mean) / (double)(d->in - 1));
        return (struct row_norm){mean, 1 / (deviation + deviation_epsilon), deviation, mean};
    }
    return (struct row_norm){back, 1, 1, back};
}

/* --- encode ----------------------------------------------------------------------------------- */

struct ranked_feature {
    float size; /* the number by which features are ordered */
    uint32_t id;
};

static int larger_first(const void *a, const void *b)
{
    const struct ranked_feature *one = a, *other = b;
    if (one->size != other->size)
        return one->size < other->size ? 1 : -1;
    return one->id < other->id ? -1 : 1;
}

static float rank_of(const struct dictionary *d, size_t i)
{
    return d->rank ? d->rank[i] : 1;
}

/* Set all candidates but the k largest to 0. Features that are 0 or less are candidates only if
 * `keeps_negative`; ACTIVE_ABSTOPK compares absolute values. */
static void keep_largest(const struct dictionary *d, float *p, struct ranked_feature *candidates)
{
    size_t count = 0;
    for (uint32_t i = 0; i < d->count; i++) {
        float s = p[i] * rank_of(d, i);
        float size = d->active == ACTIVE_ABSTOPK ? fabsf(s) : s;
        if (d->keeps_negative || size > 0)
            candidates[count++] = (struct ranked_feature){size, i};
    }
    qsort(candidates, count, sizeof *candidates, larger_first);
    for (size_t i = d->k; i < count; i++)
        p[candidates[i].id] = 0;
}

static void keep_largest_of_groups(const struct dictionary *d, float *p)
{
    const size_t size = d->count / d->k;
    for (size_t group = 0; group < d->k; group++) {
        size_t best = group * size;
        for (size_t i = best + 1; i < (group + 1) * size; i++) {
            size_t less = p[i] * rank_of(d, i) > p[best] * rank_of(d, best) ? best : i;
            best = less == best ? i : best;
            p[less] = 0;
        }
    }
}

/* Turn pre-activations into activations: features that are not active get 0. */
static void keep_active(const struct dictionary *d, float *p, struct ranked_feature *candidates)
{
    if (d->active == ACTIVE_GROUPMAX)
        keep_largest_of_groups(d, p);
    if (d->active == ACTIVE_TOPK || d->active == ACTIVE_ABSTOPK)
        keep_largest(d, p, candidates);
    for (size_t i = 0; i < d->count; i++) {
        float s = p[i] * rank_of(d, i);
        bool active = s > 0 || d->active == ACTIVE_ABSTOPK || d->keeps_negative;
        if (d->active == ACTIVE_JUMPRELU)
            active = active && s > d->threshold[i];
        if (d->active == ACTIVE_GATED) {
            active = p[i] + d->b_gate[i] > 0;
            p[i] = fmaxf(p[i] * expf(d->r_mag[i]) + d->b_mag[i], 0);
            s = p[i] * rank_of(d, i);
        }
        p[i] = active ? d->ranked ? s : p[i] : 0;
    }
}

/* Compute the pre-activations p [T, count] = W_enc x + b_enc of normalised rows x [T, in]. */
static void multiply(const struct dictionary *d, struct machine *machine, struct matrix p,
                     struct matrix x)
{
    if (machine) {
        linear(machine, p, x, &d->encoder, ACTIVATION_NONE);
        return;
    }
    for (size_t row = 0; row < x.rows; row += gemv_rows_most()) {
        const size_t rows = num_min(gemv_rows_most(), x.rows - row);
        for (size_t at = 0; at < d->count; at += COLUMNS_AT_ONCE)
            gemv(matrix_columns(matrix_rows(p, row, rows), at,
                                num_min(COLUMNS_AT_ONCE, d->count - at)),
                 matrix_rows(x, row, rows), &d->encoder, at, false);
    }
    for (size_t row = 0; d->b_enc && row < x.rows; row++)
        add_to_row(matrix_row(p, row), d->b_enc, d->count);
}

static int collect(struct feature_row *row, const float *f, size_t count, struct arena *arena,
                   struct err *err)
{
    row->count = 0;
    for (size_t i = 0; i < count; i++)
        row->count += f[i] != 0;
    struct feature *items = arena_room(arena, row->count, sizeof *items, err);
    size_t at = 0;
    for (uint32_t i = 0; items && i < count; i++)
        if (f[i] != 0)
            items[at++] = (struct feature){i, f[i]};
    row->items = items;
    return items ? 0 : -1;
}

int dictionary_encode(const struct dictionary *d, struct machine *machine, struct feature_row *rows,
                      struct matrix x, struct arena *arena, struct err *err)
{
    struct arena own = {0};
    const size_t most = num_min(FEATURE_ROWS, x.rows);
    struct matrix p = matrix_new(most, d->count, &own, err);
    struct matrix normed = matrix_new(most, d->in, &own, err);
    struct ranked_feature *candidates = arena_room(&own, d->count, sizeof *candidates, err);
    int failed = !p.data || !normed.data || !candidates;
    for (size_t first = 0; first < x.rows && !failed; first += most) {
        p.rows = normed.rows = num_min(most, x.rows - first);
        for (size_t i = 0; i < p.rows; i++) {
            const float *from = matrix_row(x, first + i);
            const struct row_norm norm = norm_of(d, from);
            float *to = matrix_row(normed, i);
            for (size_t k = 0; k < d->in; k++)
                to[k] = (float)(((double)from[k] - norm.shift) * norm.factor * d->scale_in -
                                (d->b_in ? (double)d->b_in[k] : 0));
        }
        multiply(d, machine, p, normed);
        for (size_t i = 0; i < p.rows && !failed; i++) {
            keep_active(d, matrix_row(p, i), candidates);
            failed = collect(&rows[first + i], matrix_row(p, i), d->count, arena, err);
        }
    }
    arena_release(&own);
    return err_if(failed);
}

/* --- decode ----------------------------------------------------------------------------------- */

/* Return u of dictionary.h: the reconstruction adds the feature's value · u · its decoder row. */
static double unit_of(const struct dictionary *d, size_t feature)
{
    double unit = d->finetune ? (double)d->finetune[feature] : 1;
    return d->ranked && rank_of(d, feature) != 0 ? unit / (double)rank_of(d, feature) : unit;
}

void dictionary_direction(const struct dictionary *d, float *w, size_t feature, const float *x)
{
    const float *row = weight_row(&d->decoder, feature, 0, d->out, w);
    const double undo = x && d->restores ? norm_of(d, x).undo : 1;
    for (size_t i = 0; i < d->out; i++)
        w[i] = (float)((double)row[i] * unit_of(d, feature) / d->scale_out * undo);
}

void dictionary_add(const struct dictionary *d, float *x, const float *differences)
{
    enum { COLUMNS = 256 };
    const double undo = d->restores ? norm_of(d, x).undo : 1;
    for (size_t first = 0; first < d->out; first += COLUMNS) {
        const size_t count = num_min(COLUMNS, d->out - first);
        double sums[COLUMNS] = {0};
        float scratch[COLUMNS];
        bool changes = false;
        for (size_t i = 0; i < d->count; i++) {
            if (differences[i] == 0)
                continue;
            const float *row = weight_row(&d->decoder, i, first, count, scratch);
            const double factor = (double)differences[i] * unit_of(d, i) / d->scale_out * undo;
            for (size_t k = 0; k < count; k++)
                sums[k] += factor * (double)row[k];
            changes = true;
        }
        for (size_t k = 0; changes && k < count; k++)
            x[first + k] = (float)((double)x[first + k] + sums[k]);
    }
}

int dictionary_decode(const struct dictionary *d, struct matrix y, const struct feature_row *rows,
                      struct matrix x, struct arena *arena, struct err *err)
{
    double *sums = arena_room(arena, d->out, sizeof *sums, err);
    float *scratch = arena_room(arena, num_max(d->in, d->out), sizeof *scratch, err);
    if (!sums || !scratch)
        return -1;
    for (size_t i = 0; i < y.rows; i++) {
        const float *from = matrix_row(x, i);
        const struct row_norm norm = d->restores ? norm_of(d, from) : (struct row_norm){.undo = 1};
        for (size_t k = 0; k < d->out; k++)
            sums[k] = d->b_out ? (double)d->b_out[k] : 0;
        for (size_t j = 0; j < rows[i].count; j++) {
            const struct feature *f = &rows[i].items[j];
            const float *row = weight_row(&d->decoder, f->id, 0, d->out, scratch);
            const double factor = (double)f->value * unit_of(d, f->id);
            for (size_t k = 0; k < d->out; k++)
                sums[k] += factor * (double)row[k];
        }
        for (size_t k = 0; k < d->out; k++) {
            double value = sums[k] / d->scale_out * norm.undo + norm.back;
            if (weight_exists(&d->skip)) {
                const struct number_rows numbers = weight_number_rows(&d->skip, 0, k);
                for (size_t c = 0; c < d->in; c++)
                    value += (double)from[c] * (double)number_at(&numbers, 0, c);
            }
            matrix_row(y, i)[k] = (float)value;
        }
    }
    return 0;
}

double dictionary_error(const float *x, const float *y, size_t count)
{
    double error = 0;
    for (size_t i = 0; i < count; i++)
        error += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
    return sqrt(error / square_of(x, count, 0));
}

void dictionary_release(struct dictionary *dictionary)
{
    dump_release(&dictionary->files);
    arena_release(&dictionary->arena);
}

/* --- edits of features ------------------------------------------------------------------------ */

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

/* Copy a row of a block, whose heads may be apart in memory, to a dense row or, if `to_block`,
 * back. */
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

/* Return the value of a feature at a token after the edit. */
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

/* Apply an edit to a row x, whose active features are `row`. `differences` is scratch memory with a
 * number for each feature of the dictionary. */
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

/* Edit the features of each row of a block. If memory runs out, each row gets a NaN, which the pass
 * reports as an error. */
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

int feature_edit_fill(struct feature_edit *edit, const struct edit_donor *donor,
                      struct arena *arena, struct err *err)
{
    const struct dictionary *d = edit->dictionary;
    const size_t layer = site_row(d->site)->in_layer ? d->layer : 0, longest = donor->longest;
    struct arena own = {0};
    size_t *texts = arena_alloc(&own, longest, sizeof *texts, err);
    edit->taken = arena_alloc(arena, longest * d->count, sizeof *edit->taken, err);
    edit->rows = longest;
    int failed = !texts || !edit->taken;
    for (size_t k = 0; k < donor->count && !failed; k++) {
        const struct tensor *values = &donor->values[layer * donor->count + k];
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
