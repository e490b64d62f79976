/* measured_csv.c: measures of heads as CSV: one sheet as it stands, several as one table.
 *
 *     measure,model,layer,0,1,2,3                 measure,layer,head,query,0,1,2
 *     entropy,tiny,0,0.39,0.01,0.39,0.24          max,0,3,0,1,0,0
 *     entropy,life,0,0.59,,,                      entropy,0,,,0.39,,
 *
 * The columns are the numbers of heads, or of keys, that any sheet has; a sheet that has not all of
 * them leaves cells empty.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "write/csv_sheet.h"
#include "write/measured_data.h"
#include "write/text_line.h"

struct table {
    struct stream *out;
    bool of_cells;     /* any sheet is of queries and keys */
    bool *has_column;  /* [columns], by number */
    size_t columns;    /* the highest number and one */
    struct buf before; /* what the rows of a sheet begin with */
};

static size_t column_number(const struct sheet *sheet, size_t column)
{
    return (size_t)strtoul(sheet->columns.labels[column].plain, NULL, 10);
}

static size_t highest_column(const struct measurement *item)
{
    size_t highest = 0;
    for (size_t i = 0; i < item->count; i++)
        for (size_t c = 0; c < item->sheets[i].columns.size; c++)
            if (column_number(&item->sheets[i], c) > highest)
                highest = column_number(&item->sheets[i], c);
    return highest;
}

static void mark_columns(struct table *table, const struct measurement *item)
{
    for (size_t i = 0; i < item->count; i++)
        for (size_t c = 0; c < item->sheets[i].columns.size; c++)
            table->has_column[column_number(&item->sheets[i], c)] = true;
}

/* Which columns there are. */
static int find_columns(struct table *table, const struct measured_list *list, struct arena *arena,
                        struct err *err)
{
    for (size_t i = 0; i < list->count; i++)
        for (size_t k = 0; k < list->items[i].count; k++) {
            const struct measurement *item = &list->items[i].items[k];
            size_t highest = highest_column(item);
            table->of_cells |= item->of_cells;
            if (highest >= table->columns)
                table->columns = highest + 1;
        }
    table->has_column = arena_alloc(arena, table->columns, sizeof *table->has_column, err);
    if (!table->has_column)
        return -1;
    for (size_t i = 0; i < list->count; i++)
        for (size_t k = 0; k < list->items[i].count; k++)
            mark_columns(table, &list->items[i].items[k]);
    return 0;
}

static int write_header(struct table *table, const struct measured *measured, struct err *err)
{
    buf_text(&table->before, "measure,");
    measured_columns(&table->before, measured, true);
    buf_text(&table->before, table->of_cells ? "layer,head,query" : "layer");
    if (text_send(table->out, &table->before, err))
        return -1;
    for (size_t number = 0; number < table->columns; number++)
        if (table->has_column[number])
            stream_format(table->out, ",%zu", number);
    stream_char(table->out, '\n');
    return 0;
}

/* A sheet's columns rise, as the table's do. */
static void write_cells(struct table *table, const struct sheet *sheet, size_t row)
{
    size_t c = 0;
    for (size_t number = 0; number < table->columns; number++) {
        if (!table->has_column[number])
            continue;
        stream_char(table->out, ',');
        if (c < sheet->columns.size && column_number(sheet, c) == number)
            stream_float(table->out, sheet_cell(sheet, row, c++));
    }
    stream_char(table->out, '\n');
}

static int write_sheet(struct table *table, const struct measured *measured,
                       const struct measurement *item, const struct sheet *sheet, struct err *err)
{
    buf_clear(&table->before);
    buf_format(&table->before, "%s,", item->name);
    measured_columns(&table->before, measured, false);
    if (item->of_cells)
        buf_format(&table->before, "%d,%d,", sheet->layer, sheet->head);
    for (size_t row = 0; row < sheet->rows.size; row++) {
        if (text_send(table->out, &table->before, err))
            return -1;
        stream_text(table->out, sheet->rows.labels[row].plain);
        stream_text(table->out, table->of_cells && !item->of_cells ? ",," : "");
        write_cells(table, sheet, row);
    }
    return 0;
}

static int write_sheets(struct table *table, const struct measured *measured,
                        const struct measurement *item, struct err *err)
{
    for (size_t i = 0; i < item->count; i++)
        if (write_sheet(table, measured, item, &item->sheets[i], err))
            return -1;
    return 0;
}

static int write_table(struct table *table, const struct measured_list *list, struct err *err)
{
    if (write_header(table, &list->items[0], err))
        return -1;
    for (size_t i = 0; i < list->count; i++)
        for (size_t k = 0; k < list->items[i].count; k++)
            if (write_sheets(table, &list->items[i], &list->items[i].items[k], err))
                return -1;
    return 0;
}

static bool is_alone(const struct measured_list *list)
{
    return list->count == 1 && list->items[0].count == 1 && list->items[0].items[0].count == 1;
}

int measured_csv_write(struct stream *out, const struct measured_list *list,
                       const struct place *place, struct err *err)
{
    (void)place;
    struct table table = {.out = out};
    struct arena arena = {0};
    if (!list->count)
        return 0;
    if (is_alone(list))
        return csv_sheet_write(out, &list->items[0].items[0].sheets[0], err);
    int failed = find_columns(&table, list, &arena, err) || write_table(&table, list, err);
    buf_release(&table.before);
    arena_release(&arena);
    return failed ? -1 : 0;
}
