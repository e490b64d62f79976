#include "measure/sparse_features.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "math/gemm.h"
#include "math/rows.h"
#include "measure/token_scores.h"
#include "model/layer.h"
#include "text/label.h"

void features_select(struct selection *selection, const struct dictionary *dictionary)
{
    *selection = (struct selection){.layers = {&dictionary->layer, 1}};
    site_set_add(&selection->sites, dictionary->site);
    site_set_add(&selection->sites, dictionary->site_out);
}

void features_add_memory(struct memory *memory, const struct viewer *viewer,
                         const struct dictionary *dictionary, const struct text_with_source *pair)
{
    struct selection selection;
    features_select(&selection, dictionary);
    viewer_add_memory(memory, viewer, &selection, pair, CAPTURE_ALL);
    memory->during += (double)dictionary->count * sizeof(float) * 2 * FEATURE_ROWS;
}

/* Copy the values of a site to rows, [T, channels], with heads side by side. */
static struct matrix rows_of(const struct report *report, enum site site, size_t layer,
                             struct arena *arena, struct err *err)
{
    const struct array *array = report_find(report, site, layer);
    const size_t heads = num_max(array->heads.size, 1), D = array->columns.size;
    const size_t tokens = array->rows.size;
    struct matrix x = matrix_new(tokens, heads * D, arena, err);
    for (size_t head = 0; x.data && head < heads; head++)
        for (size_t i = 0; i < tokens; i++)
            memcpy(matrix_row(x, i) + head * D, array->data + (head * tokens + i) * D,
                   D * sizeof *x.data);
    return x;
}

int features_of_report(struct feature_row **rows, struct matrix *x, const struct feature_plan *plan,
                       const struct report *report, struct arena *arena, struct err *err)
{
    const struct dictionary *d = plan->dictionary;
    *x = rows_of(report, d->site, d->layer, arena, err);
    *rows = arena_alloc(arena, x->rows, sizeof **rows, err);
    if (!x->data || !*rows)
        return -1;
    dictionary_rows(d, *x);
    return dictionary_encode(d, &plan->viewer->machine, *rows, *x, arena, err);
}

/* --- promoted tokens -------------------------------------------------------------------------- */

/* True if features promote tokens: the dictionary writes to the stream, directly or through norms
 * alone. */
static bool features_promote(const struct feature_plan *plan)
{
    static const enum site written[] = {SITE_EMBEDDING,  SITE_RESID_PRE, SITE_RESID_MID,
                                        SITE_RESID_POST, SITE_ATTN_OUT,  SITE_MLP_OUT,
                                        SITE_LN_1_POST,  SITE_LN_2_POST};
    const struct config *c = &plan->viewer->model.config;
    bool found = false;
    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        found = found || written[i] == plan->dictionary->site_out;
    return found && plan->dictionary->out == c->n_embd && !config_classifies(c) &&
           !config_copies(c) && !c->n_word && !stack_of(c, BRANCH_TEXT)->unembed.dense &&
           config_logits(c);
}

/* Multiply w by the scales γ of the last norm, after subtracting the mean of w if the norm
 * subtracts it. */
static int towards_logits(const struct feature_plan *plan, float *w, struct err *err)
{
    const struct config *c = &plan->viewer->model.config;
    const size_t C = c->n_embd;
    struct norm norm;
    double mean = 0;
    if (!c->final_norm)
        return 0;
    if (weights_norm(&plan->viewer->model.weights, slot_of_text(SLOT_FINAL_NORM), &norm, err))
        return -1;
    for (size_t i = 0; i < C && !norm.rms; i++)
        mean += (double)w[i] / (double)C;
    for (size_t i = 0; i < C; i++)
        w[i] = (float)(((double)w[i] - mean) *
                       (norm.plain ? 1 : (double)norm.offset + (double)norm.scale[i]));
    return 0;
}

/* Find the tokens whose logits one unit of each feature raises most: best [count, plan->promoted].
 * `logprob` is the change of a logit less the mean change of all logits. The divisor of the last
 * norm is left out. */
static int features_promoted(struct likely *best, const struct feature_plan *plan,
                             const uint32_t *features, size_t count, struct arena *arena,
                             struct err *err)
{
    struct viewer *viewer = plan->viewer;
    const size_t V = config_logits(&viewer->model.config), C = viewer->model.config.n_embd;
    const size_t most = logits_piece_rows(V, num_max(count, 1));
    struct arena own = {0};
    struct weight words;
    struct matrix w = matrix_new(most, C, &own, err), logits = matrix_new(most, V, &own, err);
    int failed =
        !w.data || !logits.data || weights_unembedding(&viewer->model.weights, &words, err);
    (void)arena;
    for (size_t first = 0; first < count && !failed; first += most) {
        w.rows = logits.rows = num_min(most, count - first);
        for (size_t i = 0; i < w.rows && !failed; i++) {
            dictionary_direction(plan->dictionary, matrix_row(w, i), features[first + i], NULL);
            failed = towards_logits(plan, matrix_row(w, i), err);
        }
        if (failed)
            break;
        words.bias = NULL;
        linear(&viewer->machine, logits, w, &words, ACTIVATION_NONE);
        for (size_t i = 0; i < w.rows; i++) {
            const float *row = matrix_row(logits, i);
            topk(best + (first + i) * plan->promoted, plan->promoted, row, V,
                 (double)sum_row(row, V) / (double)V);
        }
    }
    arena_release(&own);
    return err_if(failed);
}

/* --- the table -------------------------------------------------------------------------------- */

/* The features of a text that are shown, each once, and their promoted tokens in words. */
struct shown_features {
    const struct feature_plan *plan;
    uint32_t *ids; /* [count] numbers of the features, ascending */
    const char **promoted;
    size_t count;
};

static int by_size(const void *a, const void *b)
{
    const struct feature *one = a, *other = b;
    if (fabsf(one->value) != fabsf(other->value))
        return fabsf(one->value) < fabsf(other->value) ? 1 : -1;
    return one->id < other->id ? -1 : 1;
}

static int by_number(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    return one < other ? -1 : one > other;
}

/* Return the features to show for a token: the listed features, active or not, or the largest
 * features. */
static struct feature_row shown_of(const struct feature_plan *plan, const struct feature_row *row,
                                   struct arena *arena, struct err *err)
{
    const size_t count = plan->listed ? plan->listed_count : row->count;
    struct feature *items = arena_alloc(arena, count, sizeof *items, err);
    struct feature_row shown = {items, 0};
    if (!items)
        return shown;
    shown.count = plan->listed ? count : num_min(count, plan->top);
    if (!plan->listed) {
        memcpy(items, row->items, count * sizeof *items);
        qsort(items, count, sizeof *items, by_size);
        return shown;
    }
    for (size_t i = 0; i < count; i++) {
        items[i].id = (uint32_t)plan->listed[i];
        for (size_t j = 0; j < row->count; j++)
            if (row->items[j].id == items[i].id)
                items[i].value = row->items[j].value;
    }
    return shown;
}

static int name_promoted(struct shown_features *shown, const struct feature_row *rows,
                         size_t tokens, struct arena *arena, struct err *err)
{
    const struct feature_plan *plan = shown->plan;
    const struct tokenizer *tokenizer = plan->viewer->tokenizer;
    size_t all = 0;
    for (size_t i = 0; i < tokens; i++)
        all += rows[i].count;
    if (!plan->promoted || !features_promote(plan))
        return 0;
    shown->ids = arena_alloc(arena, all, sizeof *shown->ids, err);
    if (!shown->ids)
        return -1;
    for (size_t i = 0; i < tokens; i++)
        for (size_t j = 0; j < rows[i].count; j++)
            shown->ids[shown->count++] = rows[i].items[j].id;
    qsort(shown->ids, shown->count, sizeof *shown->ids, by_number);
    size_t once = 0;
    for (size_t i = 0; i < all; i++)
        if (!i || shown->ids[i] != shown->ids[i - 1])
            shown->ids[once++] = shown->ids[i];
    shown->count = once;
    const size_t each = plan->promoted;
    struct likely *best = arena_alloc(arena, once * each, sizeof *best, err);
    shown->promoted = arena_alloc(arena, once, sizeof *shown->promoted, err);
    if (!best || !shown->promoted || features_promoted(best, plan, shown->ids, once, arena, err))
        return -1;
    for (size_t i = 0; i < once; i++) {
        struct buf text = {0};
        for (size_t k = 0; k < each; k++)
            buf_format(&text, "%s%s", k ? " " : "",
                       label_of_word(tokenizer, best[i * each + k].id, arena, err).text);
        shown->promoted[i] = buf_keep(&text, arena, err);
    }
    return err_if(err->kind);
}

static const char *promoted_of(const struct shown_features *shown, uint32_t feature)
{
    const uint32_t *found =
        shown->count ? bsearch(&feature, shown->ids, shown->count, sizeof feature, by_number)
                     : NULL;
    return found ? shown->promoted[found - shown->ids] : NULL;
}

/* Return the share of the variance of x, from row `first` on, that y does not explain. */
static double unexplained(struct matrix x, struct matrix y, size_t first, struct arena *arena,
                          struct err *err)
{
    double *mean = arena_alloc(arena, x.columns, sizeof *mean, err), errors = 0, variance = 0;
    for (size_t i = first; mean && i < x.rows; i++)
        for (size_t k = 0; k < x.columns; k++)
            mean[k] += (double)matrix_row(x, i)[k] / (double)(x.rows - first);
    for (size_t i = first; mean && i < x.rows; i++)
        for (size_t k = 0; k < x.columns; k++) {
            double value = (double)matrix_row(x, i)[k], error = value - (double)matrix_row(y, i)[k];
            errors += error * error;
            variance += (value - mean[k]) * (value - mean[k]);
        }
    return errors / variance;
}

/* Return the share of the variance that the dictionary does not explain if it centers its rows. */
static double unexplained_centered(const struct feature_plan *plan, struct matrix x,
                                   struct matrix out, size_t first, struct arena *arena,
                                   struct err *err)
{
    struct dictionary d = *plan->dictionary;
    struct feature_row *rows = arena_alloc(arena, x.rows, sizeof *rows, err);
    struct matrix y = matrix_new(x.rows, d.out, arena, err);
    d.centers = true;
    d.restores = d.restores || d.site == d.site_out;
    return rows && y.data && !dictionary_encode(&d, &plan->viewer->machine, rows, x, arena, err) &&
                   !dictionary_decode(&d, y, rows, x, arena, err)
               ? unexplained(out, y, first, arena, err)
               : NAN;
}

static int make_table(struct report *report, const struct feature_plan *plan,
                      const struct feature_row *rows, struct matrix x, struct matrix y,
                      struct arena *arena, struct err *err)
{
    const struct tokenized *text = &report->text;
    struct shown_features shown = {plan};
    struct feature_row *of = arena_alloc(arena, x.rows, sizeof *of, err);
    struct table *table = arena_alloc(arena, 1, sizeof *table, err);
    struct table_rows out = {.arena = arena, .err = err};
    if (!of || !table)
        return -1;
    for (size_t i = 0; i < x.rows; i++) {
        of[i] = shown_of(plan, &rows[i], arena, err);
        out.most += num_max(of[i].count, 1);
    }
    if (err->kind || name_promoted(&shown, of, x.rows, arena, err))
        return -1;
    for (size_t i = 0; i < x.rows; i++)
        for (size_t j = 0; j < num_max(of[i].count, 1); j++, rows_next(&out)) {
            const struct feature *f = of[i].count ? &of[i].items[j] : NULL;
            rows_integer(&out, "position", COLUMN_KEY, (long long)i);
            rows_label(&out, "token", COLUMN_KEY, text->labels[i]);
            rows_integer(&out, "l0", 0, (long long)rows[i].count);
            rows_title(&out, "L0");
            rows_float(&out, (struct column){"error", .digits = 3},
                       dictionary_error(matrix_row(x, i), matrix_row(y, i), x.columns));
            rows_integer(&out, "feature", COLUMN_KEY, f ? (long long)f->id : COLUMN_MISSING);
            rows_float(&out, (struct column){"activation", .digits = 4},
                       f ? (double)f->value : NAN);
            if (plan->promoted)
                rows_text(&out, "promotes", COLUMN_SHRINKS, f ? promoted_of(&shown, f->id) : NULL);
        }
    report->tables = table;
    report->table_count = 1;
    return rows_finish(table, &out, "features", "token");
}

/* Add an array of activations: [tokens, features], or only the listed features. */
static int make_array(struct report *report, const struct feature_plan *plan,
                      const struct feature_row *rows, size_t tokens, struct arena *arena,
                      struct err *err)
{
    const size_t count = plan->listed ? plan->listed_count : plan->dictionary->count;
    float *values = arena_alloc(arena, tokens * count, sizeof *values, err);
    struct array array = {.name = "features",
                          .layer = -1,
                          .rows = {"token", tokens, report->text.labels, 0},
                          .data = values};
    if (!values || axis_of_numbers(&array.columns, "feature", plan->listed, count, arena, err))
        return -1;
    for (size_t i = 0; i < tokens; i++) {
        for (size_t j = 0; j < rows[i].count && !plan->listed; j++)
            values[i * count + rows[i].items[j].id] = rows[i].items[j].value;
        if (!plan->listed)
            continue;
        const struct feature_row shown = shown_of(plan, &rows[i], arena, err);
        for (size_t j = 0; j < shown.count; j++)
            values[i * count + j] = shown.items[j].value;
    }
    return err_if(err->kind || report_add_array(report, &array, arena, err));
}

int features_report(struct report *report, const struct feature_plan *plan, struct arena *arena,
                    struct err *err)
{
    const struct dictionary *d = plan->dictionary;
    struct feature_row *rows = NULL;
    struct matrix x, out;
    size_t active = 0;
    double centered = NAN;
    struct facts *facts = facts_new(arena, err);
    if (!facts || features_of_report(&rows, &x, plan, report, arena, err))
        return -1;
    struct matrix y = matrix_new(x.rows, d->out, arena, err);
    out = d->site_out == d->site ? x : rows_of(report, d->site_out, d->layer, arena, err);
    if (!y.data || !out.data || dictionary_decode(d, y, rows, x, arena, err))
        return -1;
    const size_t first = num_min(report->text.added_before, x.rows);
    for (size_t i = first; i < x.rows; i++)
        active += rows[i].count;
    const double l0 = (double)active / (double)(x.rows - first);
    const double share = unexplained(out, y, first, arena, err);
    if (d->may_center)
        centered = unexplained_centered(plan, x, out, first, arena, err);
    facts_text(facts, "site", site_name(d->site));
    facts_integer(facts, "layer", (long long)d->layer);
    facts_float(facts, "l0", l0);
    facts_float(facts, "unexplained", share);
    if (d->may_center)
        facts_float(facts, "unexplained_centered", centered);
    report->facts = &facts->table;
    report->arrays = NULL;
    report->array_count = 0;
    report->about =
        d->may_center
            ? arena_format(arena, err,
                           "layer %zu %s: L0 %.1f of %zu, unexplained %.3f, with ,center=on %.3f",
                           d->layer, site_name(d->site), l0, d->count, share, centered)
            : arena_format(arena, err,
                           "layer %zu %s: %.1f of %zu features active, unexplained variance %.3f",
                           d->layer, site_name(d->site), l0, d->count, share);
    return err_if(!report->about ||
                  (plan->dense ? make_array(report, plan, rows, x.rows, arena, err)
                               : make_table(report, plan, rows, out, y, arena, err)));
}
