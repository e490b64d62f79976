/* item_form.c: what heads do in every item, in each form. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "format/json_writer.h"
#include "measure/reduction.h"
#include "write/measured_data.h"
#include "write/table.h"
#include "text/label.h"
#include "manifest.h"
#include "store_plan.h"

enum { NUMBER_COLUMNS = 8, PLACE_COLUMNS = 5, REPEAT_BYTES = 32, COLUMNS_BESIDE = 2 };

/* --- columns ---------------------------------------------------------------------------------- */

/* What tells an item from the others: id and conditions, what sweeps vary, which repetition. */
static size_t make_columns(struct measured_column *columns, const struct job *job,
                           char repeat[REPEAT_BYTES])
{
    size_t count = 0;
    const struct item_conditions *conditions = &job->item.conditions;
    columns[count++] = (struct measured_column){"id", job->item.id};
    for (size_t i = 0; i < conditions->count; i++)
        columns[count++] =
            (struct measured_column){conditions->items[i].name, conditions->items[i].value};
    for (size_t i = 0; i < job->sweep_count; i++) {
        const struct sweep *sweep = &job->sweeps[i];
        if (strcmp(sweep->name, "layer") != 0 && strcmp(sweep->name, "head") != 0) /* all have */
            columns[count++] =
                (struct measured_column){sweep->name, sweep->values[job->choices[i]]};
    }
    snprintf(repeat, REPEAT_BYTES, "%zu", job->repetition);
    if (job->repeats)
        columns[count++] = (struct measured_column){"repeat", repeat};
    return count;
}

static int add_columns(struct measured *measured, const struct item_measured *item,
                       struct arena *arena, struct err *err)
{
    const struct job *job = item->job;
    size_t most = job->item.conditions.count + job->sweep_count + COLUMNS_BESIDE;
    struct measured_column *columns = arena_alloc(arena, most, sizeof *columns, err);
    char *repeat = arena_alloc(arena, REPEAT_BYTES, 1, err);
    *measured = item->measured ? *item->measured : (struct measured){0};
    if (!columns || !repeat)
        return -1;
    measured->columns = columns;
    measured->column_count = make_columns(columns, job, repeat);
    return 0;
}

/* --- a line a head ---------------------------------------------------------------------------- */

/* The measures as columns. */
struct lines {
    const struct item_measured *item;
    struct measured measured; /* the item's, with its columns */
    struct table table;
    struct table_column columns[3 + MEASURE_COUNT]; /* of text */
};

/* What stands before the numbers of a head, a number, and the names of all columns. */
struct line_form {
    void (*begin)(struct lines *lines, const char *layer, const char *head);
    void (*add_number)(struct table *table, float value);
    void (*write_names)(struct lines *lines);
};

static bool wants(const struct item_measured *item, int measure)
{
    return item->measures >> measure & 1;
}

/* A head's number; NaN where a measure has none of it, as the token before of a text of one. */
static float value_at(const struct measurement *measurement, const char *layer, const char *head)
{
    const struct sheet *sheet = measurement->count ? &measurement->sheets[0] : NULL;
    for (size_t row = 0; sheet && row < sheet->rows.size; row++)
        for (size_t column = 0; column < sheet->columns.size; column++)
            if (strcmp(sheet->rows.labels[row].plain, layer) == 0 &&
                strcmp(sheet->columns.labels[column].plain, head) == 0)
                return sheet_cell(sheet, row, column);
    return NAN;
}

/* Any sheet there is has all heads. */
static const struct sheet *heads_of(const struct measured *measured)
{
    for (size_t i = 0; i < measured->count; i++)
        if (measured->items[i].count)
            return &measured->items[i].sheets[0];
    return NULL;
}

static void write_head(struct lines *lines, const struct line_form *form, const char *layer,
                       const char *head)
{
    size_t next = 0;
    form->begin(lines, layer, head);
    for (int measure = 0; measure < MEASURE_COUNT; measure++)
        if (wants(lines->item, measure))
            form->add_number(&lines->table, value_at(&lines->measured.items[next++], layer, head));
    table_end(&lines->table);
}

static void write_heads(struct lines *lines, const struct line_form *form)
{
    const struct sheet *sheet = lines->item->measured ? heads_of(&lines->measured) : NULL;
    for (size_t row = 0; sheet && row < sheet->rows.size; row++)
        for (size_t column = 0; column < sheet->columns.size; column++)
            write_head(lines, form, sheet->rows.labels[row].plain,
                       sheet->columns.labels[column].plain);
}

static void make_table(struct lines *lines, struct stream *out)
{
    size_t count = 0;
    size_t width = lines->item->name_columns;
    struct table_column *columns = lines->columns;
    columns[count++] =
        (struct table_column){"item", .width = width, .left = true, .shortens = true};
    columns[count++] = (struct table_column){"layer", .gap = 2, .width = PLACE_COLUMNS};
    columns[count++] = (struct table_column){"head", .gap = 2, .width = PLACE_COLUMNS};
    for (int measure = 0; measure < MEASURE_COUNT; measure++) {
        const char *name = measure_rows[measure].name;
        if (!wants(lines->item, measure))
            continue;
        columns[count] = (struct table_column){name, .gap = 2, .width = NUMBER_COLUMNS};
        table_fit(&columns[count++], name);
    }
    lines->table = (struct table){.out = out, .columns = columns, .count = count};
}

static int write_lines(struct stream *out, const struct item_measured *item,
                       const struct line_form *form, struct err *err)
{
    struct arena arena = {0};
    struct lines lines = {.item = item};
    make_table(&lines, out);
    int failed = add_columns(&lines.measured, item, &arena, err);
    if (!failed && item->first)
        form->write_names(&lines);
    if (!failed)
        write_heads(&lines, form);
    failed = failed || table_close(&lines.table, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}

/* --- CSV -------------------------------------------------------------------------------------- */

static void csv_number(struct table *table, float value)
{
    char text[NUM_FLOAT_BYTES];
    num_float(text, value);
    buf_format(&table->line, ",%s", text);
}

static void csv_begin(struct lines *lines, const char *layer, const char *head)
{
    measured_columns(&lines->table.line, &lines->measured, false);
    buf_format(&lines->table.line, "%s,%s", layer, head);
}

static void csv_names(struct lines *lines)
{
    measured_columns(&lines->table.line, &lines->measured, true);
    buf_text(&lines->table.line, "layer,head");
    for (int measure = 0; measure < MEASURE_COUNT; measure++)
        if (wants(lines->item, measure))
            buf_format(&lines->table.line, ",%s", measure_rows[measure].name);
    table_end(&lines->table);
}

static int write_csv(struct stream *out, const struct item_measured *item, struct err *err)
{
    static const struct line_form form = {csv_begin, csv_number, csv_names};
    return write_lines(out, item, &form, err);
}

/* --- text ------------------------------------------------------------------------------------- */

static void text_number(struct table *table, float value)
{
    if (!isnan(value))
        buf_format(&table->cell, "%.4f", num_shown((double)value, 4));
    table_put(table);
}

static void text_begin(struct lines *lines, const char *layer, const char *head)
{
    const char *name = lines->item->job->name;
    label_line(&lines->table.cell, name, strlen(name));
    table_put(&lines->table);
    table_text(&lines->table, layer);
    table_text(&lines->table, head);
}

static void text_names(struct lines *lines)
{
    table_titles(&lines->table);
}

static int write_text(struct stream *out, const struct item_measured *item, struct err *err)
{
    static const struct line_form form = {text_begin, text_number, text_names};
    return write_lines(out, item, &form, err);
}

/* --- tidy ------------------------------------------------------------------------------------- */

static int write_tidy(struct stream *out, const struct item_measured *item, struct err *err)
{
    struct arena arena = {0};
    struct measured measured;
    int failed = add_columns(&measured, item, &arena, err) ||
                 (item->first && measured_tidy_head(out, &measured, err)) ||
                 measured_tidy_lines(out, &measured, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static int write_object(struct stream *out, const struct item_measured *item, struct err *err)
{
    struct buf line = {0};
    buf_char(&line, '{');
    manifest_identity(&line, item->job);
    buf_format(&line, ", \"format\": \"%s\", ",
               item->measured ? JSON_FORMAT("measures-item") : JSON_FORMAT("batch-failure"));
    if (!item->measured)
        manifest_error(&line, item->fault);
    int failed = buf_check(&line, err);
    if (!failed)
        stream_bytes(out, line.bytes, line.size);
    buf_release(&line);
    if (failed)
        return -1;
    if (item->measured) {
        stream_text(out, "\"model\": ");
        json_write_text(out, item->measured->model, strlen(item->measured->model));
        stream_text(out, ", \"measures\": ");
        measured_json_measures(out, item->measured);
    }
    stream_char(out, '}');
    return 0;
}

static int write_jsonl(struct stream *out, const struct item_measured *item, struct err *err)
{
    int failed = write_object(out, item, err);
    stream_char(out, '\n');
    return failed;
}

static int write_json(struct stream *out, const struct item_measured *item, struct err *err)
{
    stream_text(out, item->first ? "[\n" : ",\n");
    int failed = write_object(out, item, err);
    stream_text(out, item->last ? "\n]\n" : "");
    return failed;
}

const struct item_form item_forms[] = {
    {"text", ".txt", false, write_text},      {"csv", ".csv", false, write_csv},
    {"tidy", ".tidy.csv", false, write_tidy}, {"json", ".json", true, write_json},
    {"jsonl", ".jsonl", true, write_jsonl},
};

const size_t item_form_count = sizeof item_forms / sizeof *item_forms;
