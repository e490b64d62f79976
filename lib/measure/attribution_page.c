/* attribution_page.c: the strongest parts of an attribution, as bars to read. */
#include <math.h>

#include "lens/strongest.h"
#include "measure/attribution.h"
#include "write/table.h"

enum { BAR_COLUMNS = 24 };

int attribution_bars_write(struct stream *out, const struct report *report, size_t page,
                           struct err *err)
{
    struct strongest strongest = {0};
    struct table_column columns[] = {
        {.left = true}, {.gap = 2, .width = 9}, {.gap = 2, .left = true}};
    struct table table = {.out = out, .page = page};
    for (size_t i = 0; i < report_sheet_count(report); i++) {
        struct sheet sheet = report_sheet(report, i);
        strongest_add(&strongest, &sheet);
    }
    for (size_t i = 0; i < strongest.count; i++) {
        strong_cell_name(&table.cell, &strongest.cells[i]);
        table_fit(columns, table.cell.bytes ? table.cell.bytes : "");
        buf_clear(&table.cell);
    }
    table_begin(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < strongest.count; i++) {
        strong_cell_name(&table.cell, &strongest.cells[i]);
        table_put(&table);
        float value = strongest.cells[i].value;
        table_format(&table, "%+.4f", (double)value);
        for (long n = lroundf(fabsf(value / strongest.cells[0].value) * BAR_COLUMNS); n > 0; n--)
            buf_text(&table.cell, value > 0 ? "█" : "░");
        table_put(&table);
        table_end(&table);
    }
    return table_close(&table, err);
}
