/* measured_arrow.c: the table of measured_tidy_write as Apache Arrow's file; a column that does not
 * apply is null. */
#include <stdlib.h>
#include <string.h>

#include "write/arrow_table.h"
#include "write/measured_data.h"

/* "measure", then what tells one of a list from the others, then these. */
static const struct arrow_column numbers[] = {
    {"layer", ARROW_INTEGER}, {"head", ARROW_INTEGER}, {"query", ARROW_INTEGER},
    {"key", ARROW_INTEGER},   {"count", ARROW_LONG},   {"value", ARROW_FLOAT},
};

enum { NUMBERS = sizeof numbers / sizeof *numbers };

/* Labels of measures are numbers. */
static long long label_number(const struct axis *axis, size_t index)
{
    return strtoll(axis->labels[index].plain, NULL, 10);
}

static void put_place(struct arrow_table *table, const struct measurement *item,
                      const struct sheet *sheet, size_t row, size_t column)
{
    long long down = label_number(&sheet->rows, row);
    long long across = label_number(&sheet->columns, column);
    arrow_table_integer(table, item->of_cells ? sheet->layer : down);
    arrow_table_integer(table, item->of_cells ? sheet->head : across);
    if (item->of_cells) {
        arrow_table_integer(table, down);
        arrow_table_integer(table, across);
    } else {
        arrow_table_null(table);
        arrow_table_null(table);
    }
}

static int put_sheet(struct arrow_table *table, const struct measured *measured,
                     const struct measurement *item, size_t index, struct err *err)
{
    const struct sheet *sheet = &item->sheets[index];
    size_t columns = sheet->columns.size;
    for (size_t i = 0; i < sheet->rows.size * columns; i++) {
        uint64_t count = item->counts[index][i];
        if (!count)
            continue;
        arrow_table_text(table, item->name);
        for (size_t k = 0; k < measured->column_count; k++)
            if (measured->columns[k].value)
                arrow_table_text(table, measured->columns[k].value);
            else
                arrow_table_null(table);
        put_place(table, item, sheet, i / columns, i % columns);
        arrow_table_integer(table, (long long)count);
        arrow_table_float(table, sheet->values[i]);
        if (arrow_table_end_row(table, err))
            return -1;
    }
    return 0;
}

static int put_all(struct arrow_table *table, const struct measured_list *list, struct err *err)
{
    for (size_t i = 0; i < list->count; i++)
        for (size_t k = 0; k < list->items[i].count; k++)
            for (size_t n = 0; n < list->items[i].items[k].count; n++)
                if (put_sheet(table, &list->items[i], &list->items[i].items[k], n, err))
                    return -1;
    return arrow_table_end(table, err);
}

int measured_arrow_write(struct stream *out, const struct measured_list *list,
                         const struct place *place, struct err *err)
{
    struct arrow_column columns[ARROW_COLUMNS_MAX] = {{"measure", ARROW_TEXT}};
    struct arrow_table table = {.out = out};
    size_t settings = list->count ? list->items[0].column_count : 0;
    (void)place;
    if (settings + 1 + NUMBERS > ARROW_COLUMNS_MAX)
        return err_usage(err, "--format arrow: expected at most %d settings, found %zu: give tidy",
                         ARROW_COLUMNS_MAX - 1 - NUMBERS, settings);
    for (size_t i = 0; i < settings; i++)
        columns[1 + i] = (struct arrow_column){list->items[0].columns[i].name, ARROW_TEXT};
    memcpy(columns + 1 + settings, numbers, sizeof numbers);
    arrow_table_begin(&table, columns, 1 + settings + NUMBERS);
    int failed = put_all(&table, list, err);
    arrow_table_release(&table);
    return failed ? -1 : 0;
}
