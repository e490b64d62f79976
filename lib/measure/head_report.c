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

static size_t ways_of(const struct head_results *results)
{
    return results->with_baseline ? 2 : 1;
}

static size_t column_count(const struct head_results *results)
{
    return results->scores->count * ways_of(results);
}

static const struct score *score_of(const struct head_results *results, size_t column)
{
    return &results->scores->items[column / ways_of(results)];
}

static bool is_baseline(const struct head_results *results, size_t column)
{
    return column % ways_of(results) > 0;
}

static const char *column_name(const struct head_results *results, size_t column,
                               struct arena *arena, struct err *err)
{
    const char *ending = is_baseline(results, column) ? "_baseline" : "";
    return arena_format(arena, err, "%s%s", score_of(results, column)->name, ending);
}

/* NaN where the model has no such head. */
static double value_of(const struct head_result *result, size_t column, size_t layer, size_t head)
{
    size_t index = layer * result->heads + head;
    if (layer >= result->layers || head >= result->heads)
        return (double)NAN;
    return result->values[column * result->layers * result->heads + index];
}

/* --- the order of rows ------------------------------------------------------------------------ */

struct row {
    double key;
    size_t layer, head;
};

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

/* Rows of a table of so many heads. */
static size_t shown(const struct head_results *results, size_t heads)
{
    return results->top ? num_min(results->top, heads) : heads;
}

/* All heads of so many layers, in the order of one model's scores; heads without a score last. */
static struct row *sort_heads(const struct head_results *results, const struct head_result *by,
                              size_t layers, size_t heads, struct arena *arena, struct err *err)
{
    struct row *rows = arena_alloc(arena, layers * heads, sizeof *rows, err);
    size_t column = results->sort ? (size_t)(results->sort - results->scores->items) : 0;
    for (size_t i = 0; rows && i < layers * heads; i++) {
        double key = 0;
        if (results->sort)
            key = value_of(by, column * ways_of(results), i / heads, i % heads);
        rows[i] = (struct row){isnan(key) ? (double)-INFINITY : key, i / heads, i % heads};
    }
    if (rows)
        qsort(rows, layers * heads, sizeof *rows, compare);
    return rows;
}

/* --- the table -------------------------------------------------------------------------------- */

static struct column score_column(const struct head_results *results, size_t column,
                                  const char *name, const double *values)
{
    const struct score *score = score_of(results, column);
    bool is_null = is_baseline(results, column);
    return (struct column){
        .name = name,
        .title = is_null                     ? "baseline"
                 : score_has_argument(score) ? score->name
                                             : score->row->heading,
        .brief = is_null                     ? "base"
                 : score_has_argument(score) ? score->name + strlen(score->row->name)
                                             : score->row->brief,
        .unit = score->row->unit,
        .flags = COLUMN_COLOURED | COLUMN_PLAIN,
        .digits = 3,
        .fraction = !score->row->unit,
        .values = values,
    };
}

/* Room for the columns of keys and verdicts. */
struct lines {
    struct label *labels;
    const char **models, **verdicts;
    long long *layers, *heads;
    double *values; /* [columns, rows] */
    bool has_verdicts;
};

static int fill_lines(struct lines *lines, const struct head_results *results, size_t count,
                      struct arena *arena, struct err *err)
{
    size_t at = 0;
    for (size_t m = 0; m < results->count; m++) {
        const struct head_result *result = &results->items[m];
        size_t heads = shown(results, result->layers * result->heads);
        const struct row *rows =
            sort_heads(results, result, result->layers, result->heads, arena, err);
        for (size_t i = 0; i < heads; i++, at++) {
            if (!rows || label_of_head(&lines->labels[at], rows[i].layer, rows[i].head, arena, err))
                return -1;
            lines->models[at] = result->model;
            lines->layers[at] = (long long)rows[i].layer;
            lines->heads[at] = (long long)rows[i].head;
            lines->verdicts[at] = result->verdicts[rows[i].layer * result->heads + rows[i].head];
            lines->has_verdicts |= *lines->verdicts[at] != '\0';
            for (size_t k = 0; k < column_count(results); k++)
                lines->values[k * count + at] = value_of(result, k, rows[i].layer, rows[i].head);
        }
    }
    return 0;
}

static int add_table(struct frame *frame, const struct head_results *results, struct arena *arena,
                     struct err *err)
{
    size_t count = 0;
    size_t at = 0;
    size_t scores = column_count(results);
    for (size_t m = 0; m < results->count; m++)
        count += shown(results, results->items[m].layers * results->items[m].heads);
    struct lines lines = {
        .labels = arena_alloc(arena, count, sizeof *lines.labels, err),
        .models = arena_alloc(arena, count, sizeof *lines.models, err),
        .verdicts = arena_alloc(arena, count, sizeof *lines.verdicts, err),
        .layers = arena_alloc(arena, count, sizeof *lines.layers, err),
        .heads = arena_alloc(arena, count, sizeof *lines.heads, err),
        .values = arena_alloc(arena, scores, count * sizeof *lines.values, err),
    };
    struct column *columns = arena_alloc(arena, scores + 4, sizeof *columns, err);
    if (!lines.labels || !lines.models || !lines.verdicts || !lines.layers || !lines.heads ||
        !lines.values || !columns || fill_lines(&lines, results, count, arena, err))
        return -1;
    if (results->count > 1)
        columns[at++] = (struct column){
            .name = "model", .kind = COLUMN_TEXT, .flags = COLUMN_KEY, .values = lines.models};
    columns[at++] = (struct column){
        .name = "layer", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY, .values = lines.layers};
    columns[at++] = (struct column){
        .name = "head", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY, .values = lines.heads};
    for (size_t k = 0; k < scores; k++) {
        const char *name = column_name(results, k, arena, err);
        columns[at++] = score_column(results, k, name, lines.values + k * count);
        if (!name)
            return -1;
    }
    if (lines.has_verdicts)
        columns[at++] = (struct column){.name = "verdict",
                                        .title = "",
                                        .kind = COLUMN_TEXT,
                                        .flags = COLUMN_TEXT_ONLY,
                                        .values = lines.verdicts};
    *frame = (struct frame){"heads", {"head", count, lines.labels, 0}, columns, at};
    frame->flags = results->count > 1 ? COLUMN_DATA_ONLY : 0;
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
    size_t layers = 0;
    size_t heads = 0;
    for (size_t m = 0; m < results->count; m++) {
        layers = results->items[m].layers > layers ? results->items[m].layers : layers;
        heads = results->items[m].heads > heads ? results->items[m].heads : heads;
    }
    size_t count = shown(results, layers * heads);
    const struct row *rows =
        sort_heads(results, &results->items[results->count - 1], layers, heads, arena, err);
    struct label *labels = arena_alloc(arena, count, sizeof *labels, err);
    struct column *columns = arena_alloc(arena, results->count + 1, sizeof *columns, err);
    if (!rows || !labels || !columns)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (label_of_head(&labels[i], rows[i].layer, rows[i].head, arena, err))
            return -1;
    columns[0] = (struct column){
        .name = "head", .kind = COLUMN_LABEL, .flags = COLUMN_KEY, .values = labels};
    columns[0].title = column_name(results, column, arena, err);
    for (size_t m = 0; m < results->count; m++) {
        double *values = arena_alloc(arena, count, sizeof *values, err);
        const char *name = visible_name(results->items[m].model, arena, err);
        if (!values || !name)
            return -1;
        for (size_t i = 0; i < count; i++)
            values[i] = value_of(&results->items[m], column, rows[i].layer, rows[i].head);
        columns[m + 1] = score_column(results, column, name, values);
        columns[m + 1].title = columns[m + 1].brief = NULL;
        columns[m + 1].flags = columns[m + 1].fraction ? COLUMN_COLOURED | COLUMN_PLAIN : 0;
    }
    *frame = (struct frame){"comparison", {"head", count, labels, 0}, columns, results->count + 1};
    frame->flags = COLUMN_TEXT_ONLY;
    return columns[0].title ? 0 : -1;
}

/* What each model is, and was measured on. */
static int add_models(struct frame *frame, const struct head_results *results, struct arena *arena,
                      struct err *err)
{
    size_t count = results->count;
    struct label *labels = arena_alloc(arena, count, sizeof *labels, err);
    const char **hashes = arena_alloc(arena, count, sizeof *hashes, err);
    const char **origins = arena_alloc(arena, count, sizeof *origins, err);
    if (!labels || !hashes || !origins)
        return -1;
    for (size_t m = 0; m < count; m++) {
        const char *model = results->items[m].model;
        labels[m] = (struct label){visible_name(model, arena, err), model, model};
        hashes[m] = results->items[m].hash;
        origins[m] = results->items[m].origin;
        if (!labels[m].text)
            return -1;
    }
    const struct column columns[] = {
        {.name = "model", .kind = COLUMN_LABEL, .flags = COLUMN_KEY, .values = labels},
        {.name = "weights_sha256",
         .kind = COLUMN_TEXT,
         .flags = COLUMN_DATA_ONLY,
         .values = hashes},
        {.name = "measured_on", .title = "measured on", .kind = COLUMN_TEXT, .values = origins},
    };
    *frame = (struct frame){"models", {"model", count, labels, 0}};
    return frame_columns(frame, columns, sizeof columns / sizeof *columns, arena, err);
}

static const char *join_names(const struct head_results *results, struct arena *arena,
                              struct err *err)
{
    struct buf text = {0};
    for (size_t m = 0; m < results->count; m++)
        buf_format(&text, "%s%s", m ? ", " : "", results->items[m].model);
    return buf_keep(&text, arena, err);
}

static bool origins_differ(const struct head_results *results)
{
    bool differ = false;
    for (size_t m = 1; m < results->count; m++)
        differ |= strcmp(results->items[m].origin, results->items->origin) != 0;
    return differ;
}

/* --- reports ---------------------------------------------------------------------------------- */

static int begin_report(struct report *report, const struct head_results *results,
                        struct arena *arena, struct err *err)
{
    struct facts *facts = facts_new(arena, err);
    if (!facts)
        return -1;
    if (!origins_differ(results))
        facts_text(facts, "measured_on", results->items->origin);
    if (results->items->texts)
        facts_integer(facts, "texts", (long long)results->items->texts);
    *report = (struct report){
        .model = join_names(results, arena, err), .facts = &facts->frame, .has_encoder = true};
    return report->model ? 0 : -1;
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
    for (size_t k = 0; k < most; k++) {
        const struct score *score = score_of(results, k);
        struct sheet *sheet = &sheets[report->tensor_count];
        if (only && only != score)
            continue;
        for (size_t i = 0; i < count; i++)
            values[k * count + i] = (float)result->values[k * count + i];
        *sheet = (struct sheet){
            .tensor = column_name(results, k, arena, err),
            .layer = -1,
            .head = -1,
            .rows = layers,
            .columns = heads,
            .values = values + k * count,
            .fraction = !score->row->unit,
        };
        kept[report->tensor_count++] = kept_made(sheet);
        if (!sheet->tensor)
            return -1;
    }
    report->tensors = kept;
    report->about = arena_format(arena, err, "%s%smeasured on %s", only ? only->row->about : "",
                                 only ? " · " : "", result->origin);
    return report->about ? 0 : -1;
}
