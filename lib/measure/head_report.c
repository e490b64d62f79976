/* head_report.c: what heads do, as a table for all formats, and as matrices for pictures:
 *
 *     layer,head,induction,induction_baseline
 *     0,0,0.0036,0.0036
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "measure/head_scores.h"
#include "text/label.h"

/* Columns are scores; with a baseline each has its own after it. */
static size_t column_count(const struct head_results *results)
{
    return results->scores->count * (results->with_baseline ? 2 : 1);
}

static const struct score *score_of(const struct head_results *results, size_t column)
{
    return &results->scores->items[column / (results->with_baseline ? 2 : 1)];
}

/* "induction_baseline"; NULL with `err`. */
static const char *column_name(const struct head_results *results, size_t column,
                               struct arena *arena, struct err *err)
{
    bool is_baseline = results->with_baseline && column % 2;
    return arena_format(arena, err, "%s%s", score_of(results, column)->name,
                        is_baseline ? "_baseline" : "");
}

/* A column of a table without its name and values. */
static struct column score_column(const struct head_results *results, size_t column)
{
    const struct score *score = score_of(results, column);
    const struct score_row *row = score->row;
    bool is_baseline = results->with_baseline && column % 2;
    bool has_argument = score_has_argument(score);
    return (struct column){
        .title = is_baseline    ? "baseline"
                 : has_argument ? score->name
                                : row->heading,
        .brief = is_baseline    ? "base"
                 : has_argument ? score->name + strlen(row->name)
                                : row->brief,
        .unit = row->unit,
        .flags = COLUMN_COLOURED | COLUMN_PLAIN,
        .digits = 3,
        .fraction = !row->unit,
    };
}

/* --- rows ------------------------------------------------------------------------------------- */

struct row {
    double key;
    size_t layer, head;
};

/* NaN where the model has no such head. */
static double value_of(const struct head_result *result, size_t column, const struct row *row)
{
    if (row->layer >= result->layers || row->head >= result->heads)
        return (double)NAN;
    return result->values[(column * result->layers + row->layer) * result->heads + row->head];
}

/* The highest first, then by layer and head. */
static int compare(const void *a, const void *b)
{
    const struct row *one = a;
    const struct row *other = b;
    if (one->key != other->key)
        return one->key < other->key ? 1 : -1;
    if (one->layer != other->layer)
        return one->layer < other->layer ? -1 : 1;
    return (one->head > other->head) - (one->head < other->head);
}

/* How many of a table's heads are shown. */
static size_t shown(const struct head_results *results, size_t heads)
{
    return results->top ? num_min(results->top, heads) : heads;
}

/* All heads of so many layers in the order of a model's scores, those without a score last; and
 * labels of the first `count`. NULL with `err`. */
static const struct row *sort_heads(struct label *labels, size_t count,
                                    const struct head_results *results,
                                    const struct head_result *by, size_t layers, size_t heads,
                                    struct arena *arena, struct err *err)
{
    struct row *rows = arena_alloc(arena, layers * heads, sizeof *rows, err);
    size_t column = 0;
    while (results->sort && score_of(results, column) != results->sort)
        column++;
    for (size_t i = 0; rows && i < layers * heads; i++) {
        rows[i] = (struct row){0, i / heads, i % heads};
        double key = results->sort ? value_of(by, column, &rows[i]) : 0;
        rows[i].key = isnan(key) ? (double)-INFINITY : key;
    }
    if (rows)
        qsort(rows, layers * heads, sizeof *rows, compare);
    for (size_t i = 0; rows && i < count; i++)
        if (label_of_head(&labels[i], rows[i].layer, rows[i].head, arena, err))
            return NULL;
    return rows;
}

/* --- the table -------------------------------------------------------------------------------- */

enum { MODEL, LAYER, HEAD, SCORES }; /* the last column is that of verdicts */

static int fill_model(struct frame *frame, size_t first, const struct head_results *results,
                      const struct head_result *result, struct label *labels, struct arena *arena,
                      struct err *err)
{
    size_t verdict = SCORES + column_count(results);
    size_t count = shown(results, result->layers * result->heads);
    const struct row *rows = sort_heads(labels + first, count, results, result, result->layers,
                                        result->heads, arena, err);
    for (size_t i = 0; rows && i < count; i++) {
        size_t at = first + i;
        frame_texts(frame, MODEL)[at] = result->model;
        frame_integers(frame, LAYER)[at] = (long long)rows[i].layer;
        frame_integers(frame, HEAD)[at] = (long long)rows[i].head;
        frame_texts(frame, verdict)[at] =
            result->verdicts[rows[i].layer * result->heads + rows[i].head];
        for (size_t k = SCORES; k < verdict; k++)
            frame_floats(frame, k)[at] = value_of(result, k - SCORES, &rows[i]);
    }
    return rows ? 0 : -1;
}

/* The columns of models and verdicts are left out where they say nothing. */
static void drop_columns(struct frame *frame, bool has_models)
{
    bool has_verdicts = false;
    for (size_t i = 0; i < frame->rows.size; i++)
        has_verdicts |= *column_text(&frame->columns[frame->count - 1], i, true) != '\0';
    frame->count -= !has_verdicts + !has_models;
    frame->columns += !has_models;
    frame->flags = has_models ? COLUMN_DATA_ONLY : 0;
}

static int add_table(struct frame *frame, const struct head_results *results, struct arena *arena,
                     struct err *err)
{
    size_t count = 0;
    size_t scores = column_count(results);
    for (size_t m = 0; m < results->count; m++)
        count += shown(results, results->items[m].layers * results->items[m].heads);
    struct label *labels = arena_alloc(arena, count, sizeof *labels, err);
    struct column *columns = arena_alloc(arena, SCORES + scores + 1, sizeof *columns, err);
    if (!labels || !columns)
        return -1;
    columns[MODEL] = (struct column){"model", .kind = COLUMN_TEXT, .flags = COLUMN_KEY};
    columns[LAYER] = (struct column){"layer", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY};
    columns[HEAD] = (struct column){"head", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY};
    for (size_t k = 0; k < scores; k++) {
        columns[SCORES + k] = score_column(results, k);
        if (!(columns[SCORES + k].name = column_name(results, k, arena, err)))
            return -1;
    }
    columns[SCORES + scores] =
        (struct column){"verdict", .title = "", .kind = COLUMN_TEXT, .flags = COLUMN_TEXT_ONLY};
    *frame = (struct frame){"heads", {"head", count, labels, 0}};
    if (frame_columns(frame, columns, SCORES + scores + 1, arena, err))
        return -1;
    count = 0;
    for (size_t m = 0; m < results->count; m++) {
        const struct head_result *result = &results->items[m];
        if (fill_model(frame, count, results, result, labels, arena, err))
            return -1;
        count += shown(results, result->layers * result->heads);
    }
    drop_columns(frame, results->count > 1);
    return 0;
}

/* --- several models --------------------------------------------------------------------------- */

static const char *visible_name(const char *model, struct arena *arena, struct err *err)
{
    struct buf text = {0};
    label_line(&text, model, strlen(model));
    return buf_keep(&text, arena, err);
}

/* For people: one score, a column for each model, in the order of the last one. */
static int add_comparison(struct frame *frame, const struct head_results *results, size_t column,
                          struct arena *arena, struct err *err)
{
    const struct head_result *items = results->items;
    size_t layers = 0;
    size_t heads = 0;
    for (size_t m = 0; m < results->count; m++) {
        layers = num_max(layers, items[m].layers);
        heads = num_max(heads, items[m].heads);
    }
    size_t count = shown(results, layers * heads);
    struct label *labels = arena_alloc(arena, count, sizeof *labels, err);
    struct column *columns = arena_alloc(arena, results->count + 1, sizeof *columns, err);
    const struct row *rows = labels ? sort_heads(labels, count, results, &items[results->count - 1],
                                                 layers, heads, arena, err)
                                    : NULL;
    if (!rows || !columns)
        return -1;
    columns[0] = (struct column){"head", column_name(results, column, arena, err),
                                 .kind = COLUMN_LABEL, .flags = COLUMN_KEY, .values = labels};
    for (size_t m = 0; m < results->count; m++) {
        struct column *of_model = &columns[m + 1];
        *of_model = score_column(results, column);
        of_model->name = visible_name(items[m].model, arena, err);
        of_model->title = of_model->brief = NULL;
        of_model->flags = of_model->fraction ? COLUMN_COLOURED | COLUMN_PLAIN : 0;
        if (!of_model->name)
            return -1;
    }
    *frame = (struct frame){"comparison", {"head", count, labels, 0}, .flags = COLUMN_TEXT_ONLY};
    if (!columns[0].title || frame_columns(frame, columns, results->count + 1, arena, err))
        return -1;
    for (size_t m = 0; m < results->count; m++)
        for (size_t i = 0; i < count; i++)
            frame_floats(frame, m + 1)[i] = value_of(&items[m], column, &rows[i]);
    return 0;
}

/* Each model, and the material it was measured on. */
static int add_models(struct frame *frame, const struct head_results *results, struct arena *arena,
                      struct err *err)
{
    enum { NAME, HASH, ORIGIN, COLUMNS };
    static const struct column columns[COLUMNS] = {
        [NAME] = {"model", .kind = COLUMN_LABEL, .flags = COLUMN_KEY},
        [HASH] = {"weights_sha256", .kind = COLUMN_TEXT, .flags = COLUMN_DATA_ONLY},
        [ORIGIN] = {"measured_on", .title = "measured on", .kind = COLUMN_TEXT},
    };
    *frame = (struct frame){"models", {"model", results->count, NULL, 0}};
    if (frame_columns(frame, columns, COLUMNS, arena, err))
        return -1;
    struct label *labels = frame_labels(frame, NAME);
    frame->rows.labels = labels;
    for (size_t m = 0; m < results->count; m++) {
        const struct head_result *result = &results->items[m];
        labels[m] =
            (struct label){visible_name(result->model, arena, err), result->model, result->model};
        frame_texts(frame, HASH)[m] = result->hash;
        frame_texts(frame, ORIGIN)[m] = result->origin;
        if (!labels[m].text)
            return -1;
    }
    return 0;
}

/* --- reports ---------------------------------------------------------------------------------- */

static bool origins_differ(const struct head_results *results)
{
    bool differ = false;
    for (size_t m = 1; m < results->count; m++)
        differ |= strcmp(results->items[m].origin, results->items->origin) != 0;
    return differ;
}

static int begin_report(struct report *report, const struct head_results *results,
                        struct arena *arena, struct err *err)
{
    struct facts *facts = facts_new(arena, err);
    struct buf names = {0};
    for (size_t m = 0; m < results->count; m++)
        buf_format(&names, "%s%s", m ? ", " : "", results->items[m].model);
    const char *model = buf_keep(&names, arena, err);
    if (!facts || !model)
        return -1;
    if (!origins_differ(results))
        facts_text(facts, "measured_on", results->items->origin);
    if (results->items->texts)
        facts_integer(facts, "texts", (long long)results->items->texts);
    for (size_t i = 0; results->count == 1 && i < results->scores->count; i++) {
        const char *name = arena_format(arena, err, "%s_count", results->scores->items[i].name);
        if (!name)
            return -1;
        facts_integer(facts, name, (long long)results->items->counts[i]);
    }
    *report = (struct report){.model = model, .facts = &facts->frame, .has_encoder = true};
    return 0;
}

int head_table_report(struct report *report, const struct head_results *results,
                      struct arena *arena, struct err *err)
{
    size_t scores = column_count(results);
    bool differ = origins_differ(results);
    struct frame *frames = arena_alloc(arena, scores + 2, sizeof *frames, err);
    if (!frames || begin_report(report, results, arena, err) ||
        add_table(&frames[0], results, arena, err))
        return -1;
    report->frames = frames;
    report->frame_count = 1;
    if (results->count > 1) {
        for (size_t k = 0; k < scores; k++)
            if (add_comparison(&frames[report->frame_count++], results, k, arena, err))
                return -1;
        if (add_models(&frames[report->frame_count], results, arena, err))
            return -1;
        frames[report->frame_count++].flags = differ ? 0 : COLUMN_DATA_ONLY;
    }
    const char *note = arena_format(arena, err, "measured on %s", results->items->origin);
    frames[results->count > 1 ? scores : 0].note = differ ? NULL : note;
    return note ? 0 : -1;
}

int head_map_report(struct report *report, const struct head_results *results,
                    const struct score *only, struct arena *arena, struct err *err)
{
    const struct head_result *result = results->items;
    size_t most = column_count(results);
    size_t count = result->layers * result->heads;
    struct axis layers, heads;
    struct sheet *sheets = arena_alloc(arena, most, sizeof *sheets, err);
    struct kept *kept = arena_alloc(arena, most, sizeof *kept, err);
    float *values = arena_alloc(arena, most, count * sizeof *values, err);
    if (!sheets || !kept || !values || begin_report(report, results, arena, err) ||
        axis_of_numbers(&layers, "layer", result->layers, arena, err) ||
        axis_of_numbers(&heads, "head", result->heads, arena, err))
        return -1;
    for (size_t i = 0; i < most * count; i++)
        values[i] = (float)result->values[i];
    for (size_t k = 0; k < most; k++) {
        const struct score *score = score_of(results, k);
        struct sheet *sheet = &sheets[report->tensor_count];
        if (only && only != score)
            continue;
        *sheet = (struct sheet){.tensor = column_name(results, k, arena, err),
                                .layer = -1,
                                .head = -1,
                                .rows = layers,
                                .columns = heads,
                                .values = values + k * count,
                                .fraction = !score->row->unit};
        kept[report->tensor_count++] = kept_made(sheet);
        if (!sheet->tensor)
            return -1;
    }
    report->tensors = kept;
    report->about = arena_format(arena, err, "%s%smeasured on %s", only ? only->row->about : "",
                                 only ? " · " : "", result->origin);
    return report->about ? 0 : -1;
}
