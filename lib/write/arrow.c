/* arrow.c: the table of tidy.c, a row for every cell, as Apache Arrow's file: layer and head are
 * null where there is none, and where the cell is the mean over all. Several reports are one file,
 * which ends with the last. */
#include <limits.h>
#include <string.h>

#include "write/arrow_table.h"
#include "write/format.h"

/* As tidy.c names them; the first two only of several models, or sentences. */
static const struct arrow_column names[] = {
    {"model", ARROW_TEXT},     {"sentence", ARROW_INTEGER}, {"tensor", ARROW_TEXT},
    {"layer", ARROW_INTEGER},  {"head", ARROW_INTEGER},     {"row", ARROW_INTEGER},
    {"row_token", ARROW_TEXT}, {"column", ARROW_INTEGER},   {"column_token", ARROW_TEXT},
    {"value", ARROW_FLOAT},
};

enum { NAMES = sizeof names / sizeof *names, OF_PLACE = 2 };

static size_t choose_columns(struct arrow_column *columns, const struct place *place)
{
    size_t count = 0;
    if (place->model)
        columns[count++] = names[0];
    if (place_sentences(place) > 1)
        columns[count++] = names[1];
    memcpy(columns + count, names + OF_PLACE, sizeof names - OF_PLACE * sizeof *names);
    return count + NAMES - OF_PLACE;
}

/* What was written of the file before: how much, and where its batches are. */
static void go_on(struct arrow_table *table, const struct buf *kept)
{
    size_t size = sizeof table->position;
    memcpy(&table->position, kept->bytes, size);
    buf_bytes(&table->blocks, kept->bytes + size, kept->size - size);
}

static int keep(struct buf *kept, const struct arrow_table *table, struct err *err)
{
    buf_clear(kept);
    buf_bytes(kept, &table->position, sizeof table->position);
    buf_bytes(kept, table->blocks.bytes, table->blocks.size);
    return buf_check(kept, err);
}

static void put_number(struct arrow_table *table, int number)
{
    if (number < 0)
        arrow_table_null(table);
    else
        arrow_table_integer(table, number);
}

static void put_axis(struct arrow_table *table, const struct axis *axis, size_t index)
{
    arrow_table_integer(table, (long long)(axis->first + index));
    arrow_table_text(table, axis->labels[index].plain);
}

static int put_row(struct arrow_table *table, const struct sheet *sheet, size_t row,
                   const struct place *place, struct err *err)
{
    for (size_t c = 0; c < sheet->columns.size; c++) {
        if (sheet_hides(sheet, row, c))
            continue;
        if (place->model)
            arrow_table_text(table, place->model);
        if (place_sentences(place) > 1)
            arrow_table_integer(table, (long long)place_sentence(place));
        arrow_table_text(table, sheet->tensor);
        int layer, head;
        sheet_layer_head(sheet, row, c, &layer, &head);
        put_number(table, layer);
        put_number(table, head);
        put_axis(table, &sheet->rows, row);
        put_axis(table, &sheet->columns, c);
        arrow_table_float(table, sheet_cell(sheet, row, c));
        if (arrow_table_end_row(table, err))
            return -1;
    }
    return 0;
}

/* Places are int32. */
static int check_axis(const struct axis *axis, struct err *err)
{
    if (axis->size <= INT_MAX && axis->first <= INT_MAX - axis->size)
        return 0;
    return err_usage(err, "--format arrow: expected at most %d %ss, found %zu: give --format tidy",
                     INT_MAX, axis->name, axis->size);
}

static int put_sheet(struct arrow_table *table, const struct sheet *sheet,
                     const struct place *place, struct err *err)
{
    int failed = check_axis(&sheet->rows, err) || check_axis(&sheet->columns, err);
    for (size_t row = 0; row < sheet->rows.size && !failed; row++)
        failed = put_row(table, sheet, row, place, err);
    return failed ? -1 : 0;
}

int arrow_write(struct stream *out, const struct report *report, const struct place *place,
                struct err *err)
{
    struct arrow_column columns[NAMES];
    size_t count = choose_columns(columns, place);
    struct arrow_table table = {.out = out, .columns = columns, .column_count = count};
    bool is_last = !place->kept || place->index + 1 == place->count;
    int failed = 0;
    if (place->kept && place->kept->size)
        go_on(&table, place->kept);
    else
        arrow_table_begin(&table, columns, count);
    for (size_t i = 0; i < report_sheet_count(report) && !failed; i++) {
        struct sheet sheet = report_sheet(report, i);
        failed = put_sheet(&table, &sheet, place, err);
    }
    if (!failed)
        failed = is_last ? arrow_table_end(&table, err) : arrow_table_flush(&table, err);
    if (!failed && !is_last)
        failed = keep(place->kept, &table, err);
    arrow_table_release(&table);
    return failed ? -1 : 0;
}
