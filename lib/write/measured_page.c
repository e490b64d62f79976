#include "write/measured_data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "write/table.h"
#include "write/text_layout.h"

enum { LABEL_BYTES = 32 };

/* How the numbers of one sheet stand on a page. */
struct layout {
    const struct sheet *sheet;
    const char *corner;
    const char *column; /* what stands before a column's number: "head " */
    struct text_cut rows;
    size_t label_width, cell_width;
    struct numeral numeral;
    struct text_heat *heat; /* of the measure */
    struct tone tone;       /* of the sheet */
};

static const char *column_label(char label[LABEL_BYTES], const struct layout *layout, size_t column)
{
    snprintf(label, LABEL_BYTES, "%s%s", layout->column,
             layout->sheet->columns.labels[column].text);
    return label;
}

static void measure_cells(struct layout *layout, int digits)
{
    char text[NUMERAL_BYTES];
    char label[LABEL_BYTES];
    const struct sheet *sheet = layout->sheet;
    size_t cells = sheet->rows.size * sheet->columns.size;
    layout->numeral = numeral_of(sheet->values, cells, digits);
    layout->cell_width = strlen(column_label(label, layout, sheet->columns.size - 1));
    for (size_t i = 0; i < cells && digits; i++) {
        size_t width = isnan(sheet->values[i])
                           ? 0 /* nothing was counted there */
                           : numeral_write(text, layout->numeral, sheet->values[i]);
        layout->cell_width = num_max(layout->cell_width, width);
    }
}

/* How many columns a page has room for. */
static size_t columns_that_fit(const struct layout *layout, const struct place *place)
{
    size_t columns = layout->sheet->columns.size;
    size_t beside =
        layout->label_width + (layout->heat->colours ? 1 : 0); /* the last one's blank */
    size_t room = place->columns > beside ? place->columns - beside : 0;
    return num_min(place->columns ? room / (TEXT_GAP + layout->cell_width) : columns, columns);
}

/* All heads side by side are worth a decimal: "head " goes first, then decimals, down to those that
 * a number between 0 and 1, or one above 10, can spare. */
static void fit_heads(struct layout *layout, const struct place *place)
{
    size_t columns = layout->sheet->columns.size;
    int least = extent_of_sheet(layout->sheet).high >= 10 ? 1 : 2;
    int most = layout->heat->numbers ? NUMERAL_DIGITS : 0;
    if (columns_that_fit(layout, place) == columns)
        return;
    layout->column = "";
    for (int digits = most;; digits--) {
        measure_cells(layout, digits);
        if (digits <= least || columns_that_fit(layout, place) == columns)
            return;
    }
}

static struct layout make_layout(const struct sheet *sheet, const struct place *place,
                                 struct text_heat *heat)
{
    bool of_heads = sheet->head < 0;
    struct layout layout = {
        .sheet = sheet,
        .corner = sheet->rows.name,
        .column = of_heads ? "head " : "",
        .rows = of_heads ? text_cut_to(sheet->rows.size, sheet->rows.size)
                         : text_cut_lines(sheet->rows.size, place->lines),
        .heat = heat,
        .tone = tone_of_sheet(&heat->tones, sheet),
    };
    layout.label_width =
        num_max(strlen(sheet->rows.labels[sheet->rows.size - 1].text), strlen(layout.corner));
    measure_cells(&layout, NUMERAL_DIGITS);
    if (of_heads)
        fit_heads(&layout, place);
    return layout;
}

static void add_cell(struct table *table, const struct layout *layout, const struct tone *tone,
                     size_t row, size_t column)
{
    char text[NUMERAL_BYTES];
    const struct text_heat *heat = layout->heat;
    float value = sheet_cell(layout->sheet, row, column);
    if (sheet_hides(layout->sheet, row, column) || isnan(value)) {
        table_text(table, "");
        return;
    }
    numeral_write(text, layout->numeral, value);
    table_heated(table, text, heat->colours || heat->shades ? tone_level(tone, value) : 0);
}

static void write_row(struct table *table, const struct layout *layout, size_t row, size_t first,
                      size_t end)
{
    const struct tones *tones = &layout->heat->tones;
    struct tone tone = layout->tone;
    if (tones->range == RANGE_ROW)
        tone = tone_of_row(tones, layout->sheet, row);
    table_text(table, layout->sheet->rows.labels[row].text);
    for (size_t column = first; column < end; column++)
        add_cell(table, layout, &tone, row, column);
    table_end(table);
}

/* The columns from `first` up to `end`. */
static void write_columns(struct table *table, const struct layout *layout, size_t first,
                          size_t end)
{
    char label[LABEL_BYTES];
    const struct table_column above[] = {{.gap = layout->label_width + TEXT_GAP}};
    const struct table_column columns[] = {
        {.width = layout->label_width, .left = true, .shortens = true},
        {.gap = TEXT_GAP, .width = layout->cell_width, .repeat = end - first, .shortens = true},
    };
    table_begin(table, above, 1);
    if (layout->sheet->head < 0 && !*layout->column) {
        table_text(table, layout->sheet->columns.name);
        table_end(table);
    }
    table->columns = columns;
    table_text(table, layout->corner);
    for (size_t column = first; column < end; column++)
        table_text(table, column_label(label, layout, column));
    table_end(table);
    for (size_t slot = 0; slot < text_cut_slots(&layout->rows); slot++) {
        if (text_cut_between(&layout->rows, slot)) {
            table_text(table, "…");
            table_end(table);
        } else {
            write_row(table, layout, text_cut_place(&layout->rows, slot), first, end);
        }
    }
}

/* As many columns as fit stand side by side, the others below. */
static void write_table(struct table *table, const struct sheet *sheet, const struct place *place)
{
    struct layout layout = make_layout(sheet, place, table->heat);
    size_t columns = sheet->columns.size;
    size_t step = num_max(columns_that_fit(&layout, place), 1);
    for (size_t first = 0; first < columns; first += step)
        write_columns(table, &layout, first, num_min(columns, first + step));
}

static int write_measurement(struct stream *out, const struct measurement *item,
                             const struct place *place, struct err *err)
{
    struct text_heat heat; /* one for all sheets */
    struct extent extent = {0, 0};
    struct table table = {.out = out, .heat = &heat};
    for (size_t i = 0; i < item->count; i++)
        extent = extent_join(extent, extent_of_sheet(&item->sheets[i]));
    text_heat_begin(&heat, out, extent, item->count && item->sheets->fraction, place);
    stream_format(out, "%s · %s\n%s\n", item->name, item->about, item->basis);
    for (size_t i = 0; i < item->count; i++) {
        const struct sheet *sheet = &item->sheets[i];
        if (item->of_cells)
            stream_format(out, "\nlayer %d head %d\n", sheet->layer, sheet->head);
        write_table(&table, sheet, place);
    }
    return table_close(&table, err);
}

int measured_page_write(struct stream *out, const struct measured_list *list,
                        const struct place *place, struct err *err)
{
    const char *gap = "";
    for (size_t i = 0; i < list->count; i++) {
        const struct measured *measured = &list->items[i];
        if (measured->title) {
            stream_text(out, gap);
            label_write_line(out, measured->title, strlen(measured->title));
            stream_char(out, '\n');
            gap = "\n";
        }
        for (size_t k = 0; k < measured->count; k++) {
            stream_text(out, gap);
            if (write_measurement(out, &measured->items[k], place, err))
                return -1;
            gap = "\n";
        }
    }
    return 0;
}
