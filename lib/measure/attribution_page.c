/* attribution_page.c: the strongest parts of an attribution, as bars to read. */
#include <math.h>

#include "measure/attribution.h"
#include "write/table.h"

enum { STRONGEST = 10, BAR_COLUMNS = 24 };

struct strong {
    struct sheet sheet;
    size_t row, column;
    float value;
};

/* Keep the strongest, in their order; of equal ones those that come first. */
static void offer(struct strong *list, size_t *count, const struct strong *one)
{
    size_t at = *count;
    while (at > 0 && fabsf(list[at - 1].value) < fabsf(one->value))
        at--;
    if (at == STRONGEST || one->value == 0)
        return;
    *count += *count < STRONGEST;
    for (size_t i = *count - 1; i > at; i--)
        list[i] = list[i - 1];
    list[at] = *one;
}

static size_t find_strongest(struct strong *list, const struct report *report)
{
    size_t count = 0;
    for (size_t i = 0; i < report_sheet_count(report); i++) {
        struct strong one = {.sheet = report_sheet(report, i)};
        for (one.row = 0; one.row < one.sheet.rows.size; one.row++)
            for (one.column = 0; one.column < one.sheet.columns.size; one.column++) {
                one.value = sheet_cell(&one.sheet, one.row, one.column);
                offer(list, &count, &one);
            }
    }
    return count;
}

/* layer 1 head 2, final bias; layer 1 head 2 from ␣is; layer 1 neuron 17 */
static void add_name(struct buf *out, const struct strong *strong, enum attribution_by by)
{
    const struct sheet *sheet = &strong->sheet;
    const char *row = sheet->rows.labels[strong->row].text;
    const char *column = sheet->columns.labels[strong->column].text;
    bool is_layer = strong->row > 0 && strong->row + 1 < sheet->rows.size;
    bool is_head = strong->column + ATTRIBUTION_PARTS < sheet->columns.size;
    if (by == BY_SOURCE)
        buf_format(out, "layer %d head %s from %s", sheet->layer, row, column);
    else if (by == BY_NEURON)
        buf_format(out, "layer %s neuron %s", row, column);
    else
        buf_format(out, "%s%s %s%s", is_layer ? "layer " : "", row, is_head ? "head " : "", column);
}

static void fit_names(struct table *table, struct table_column *column, const struct strong *list,
                      size_t count, enum attribution_by by)
{
    for (size_t i = 0; i < count; i++) {
        add_name(&table->cell, &list[i], by);
        table_fit(column, table->cell.bytes ? table->cell.bytes : "");
        buf_clear(&table->cell);
    }
}

static void add_bar(struct table *table, float value, float longest)
{
    for (long n = lroundf(fabsf(value / longest) * BAR_COLUMNS); n > 0; n--)
        buf_text(&table->cell, value > 0 ? "█" : "░");
    table_put(table);
}

int attribution_bars_write(struct stream *out, const struct report *report, enum attribution_by by,
                           size_t page, struct err *err)
{
    struct strong list[STRONGEST];
    size_t count = find_strongest(list, report);
    struct table_column columns[] = {
        {.left = true}, {.gap = 2, .width = 9}, {.gap = 2, .left = true}};
    struct table table = {.out = out, .page = page};
    fit_names(&table, &columns[0], list, count, by);
    table_begin(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++) {
        add_name(&table.cell, &list[i], by);
        table_put(&table);
        table_format(&table, "%+.4f", (double)list[i].value);
        add_bar(&table, list[i].value, list[0].value);
        table_end(&table);
    }
    return table_close(&table, err);
}
