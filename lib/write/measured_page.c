#include "write/measured_page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lens/numeral.h"
#include "write/text_heat.h"
#include "write/text_layout.h"
#include "write/text_line.h"
#include "text/label.h"

enum { LABEL_BYTES = 32 };

/* How the numbers of one sheet stand on a page. */
struct table {
    const struct sheet *sheet;
    const char *corner;
    const char *column; /* what stands before a column's number: "head " */
    struct text_cut rows;
    size_t label_width, cell_width;
    struct numeral numeral;
    struct text_heat *heat; /* of the measure */
    struct tone tone;       /* of the sheet */
};

static const char *column_label(char label[LABEL_BYTES], const struct table *table, size_t column)
{
    snprintf(label, LABEL_BYTES, "%s%s", table->column, table->sheet->columns.labels[column].text);
    return label;
}

static void measure_cells(struct table *table, int digits)
{
    char text[NUMERAL_BYTES];
    char label[LABEL_BYTES];
    const struct sheet *sheet = table->sheet;
    size_t cells = sheet->rows.size * sheet->columns.size;
    table->numeral = numeral_of(sheet->values, cells, digits);
    table->cell_width = strlen(column_label(label, table, sheet->columns.size - 1));
    for (size_t i = 0; i < cells && digits; i++) {
        size_t width = isnan(sheet->values[i])
                           ? 0 /* nothing was counted there */
                           : numeral_write(text, table->numeral, sheet->values[i]);
        table->cell_width = width > table->cell_width ? width : table->cell_width;
    }
}

/* How many columns a page has room for. */
static size_t columns_that_fit(const struct table *table, const struct place *place)
{
    size_t columns = table->sheet->columns.size;
    size_t beside = table->label_width + (table->heat->colours ? 1 : 0); /* the last one's blank */
    size_t room = place->columns > beside ? place->columns - beside : 0;
    size_t fitting = place->columns ? room / (TEXT_GAP + table->cell_width) : columns;
    return fitting < columns ? fitting : columns;
}

/* All heads side by side are worth a decimal: "head " goes first, then decimals, down to those that
 * a number between 0 and 1, or one above 10, can spare. */
static void fit_heads(struct table *table, const struct place *place)
{
    size_t columns = table->sheet->columns.size;
    int least = extent_of_sheet(table->sheet).high >= 10 ? 1 : 2;
    int most = table->heat->numbers ? NUMERAL_DIGITS : 0;
    if (columns_that_fit(table, place) == columns)
        return;
    table->column = "";
    for (int digits = most;; digits--) {
        measure_cells(table, digits);
        if (digits <= least || columns_that_fit(table, place) == columns)
            return;
    }
}

static struct table make_table(const struct sheet *sheet, const struct place *place,
                               struct text_heat *heat)
{
    bool of_heads = sheet->head < 0;
    struct table table = {
        .sheet = sheet,
        .corner = sheet->rows.name,
        .column = of_heads ? "head " : "",
        .rows = of_heads ? text_cut_to(sheet->rows.size, sheet->rows.size)
                         : text_cut_lines(sheet->rows.size, place->lines),
        .heat = heat,
        .tone = tone_of_sheet(&heat->tones, sheet),
    };
    table.label_width = strlen(sheet->rows.labels[sheet->rows.size - 1].text);
    if (table.label_width < strlen(table.corner))
        table.label_width = strlen(table.corner);
    measure_cells(&table, NUMERAL_DIGITS);
    if (of_heads)
        fit_heads(&table, place);
    return table;
}

/* Blanks of its colour stand on both sides of a number: the second comes with what stands after
 * it. */
static void add_cell(struct buf *line, const struct table *table, const struct tone *tone,
                     size_t row, size_t column)
{
    char text[NUMERAL_BYTES] = "";
    struct text_heat *heat = table->heat;
    float value = sheet_cell(table->sheet, row, column);
    bool nothing = sheet_hides(table->sheet, row, column) || isnan(value);
    bool heated = (heat->colours || heat->shades) && !nothing;
    unsigned level = heated ? tone_level(tone, value) : 0;
    const char *mark = heat->shades ? text_heat_shade(heat, level) : " ";
    if (!nothing && heat->numbers)
        numeral_write(text, table->numeral, value);
    text_blanks(line, TEXT_GAP - 1);
    text_heat_set(line, heat, level);
    buf_text(line, mark);
    for (size_t i = 0; i < table->cell_width && !heat->numbers; i++)
        buf_text(line, mark);
    if (heat->numbers)
        text_right(line, text, table->cell_width);
}

static void add_row(struct buf *line, const struct table *table, size_t row, size_t first,
                    size_t end)
{
    struct tone tone = table->tone;
    if (table->heat->tones.range == RANGE_ROW)
        tone = tone_of_row(&table->heat->tones, table->sheet, row);
    for (size_t column = first; column < end; column++)
        add_cell(line, table, &tone, row, column);
    text_blanks(line, table->heat->set ? 1 : 0);
    text_heat_reset(line, table->heat);
}

/* The columns from `first` up to `end`. */
static int write_columns(struct stream *out, const struct table *table, size_t first, size_t end,
                         struct buf *line, struct err *err)
{
    char label[LABEL_BYTES];
    if (table->sheet->head < 0 && !*table->column) {
        text_blanks(line, table->label_width + TEXT_GAP);
        buf_text(line, table->sheet->columns.name);
        if (text_end(out, line, err))
            return -1;
    }
    text_left(line, table->corner, table->label_width);
    for (size_t column = first; column < end; column++) {
        text_blanks(line, TEXT_GAP);
        text_right(line, column_label(label, table, column), table->cell_width);
    }
    if (text_end(out, line, err))
        return -1;
    for (size_t slot = 0; slot < text_cut_slots(&table->rows); slot++) {
        size_t row = text_cut_place(&table->rows, slot);
        bool between = text_cut_between(&table->rows, slot);
        text_left(line, between ? "…" : table->sheet->rows.labels[row].text, table->label_width);
        if (!between)
            add_row(line, table, row, first, end);
        if (text_end(out, line, err))
            return -1;
    }
    return 0;
}

/* As many columns as fit stand side by side, the others below. */
static int write_table(struct stream *out, const struct sheet *sheet, const struct place *place,
                       struct text_heat *heat, struct err *err)
{
    struct buf line = {0};
    struct table table = make_table(sheet, place, heat);
    size_t columns = sheet->columns.size;
    size_t fitting = columns_that_fit(&table, place);
    size_t step = fitting > 0 ? fitting : 1;
    int failed = 0;
    for (size_t first = 0; first < columns && !failed; first += step) {
        stream_char(out, '\n');
        failed = write_columns(out, &table, first, columns - first < step ? columns : first + step,
                               &line, err);
    }
    buf_release(&line);
    return failed;
}

/* One for all sheets of a measure. */
static struct text_heat heat_of(struct stream *out, const struct measurement *item,
                                const struct place *place)
{
    struct text_heat heat;
    struct extent extent = {0, 0};
    for (size_t i = 0; i < item->count; i++)
        extent = extent_join(extent, extent_of_sheet(&item->sheets[i]));
    text_heat_begin(&heat, out, extent, place);
    return heat;
}

static int write_measurement(struct stream *out, const struct measurement *item,
                             const struct place *place, struct err *err)
{
    struct text_heat heat = heat_of(out, item, place);
    stream_format(out, "%s · %s\n%s\n", item->name, item->about, item->basis);
    for (size_t i = 0; i < item->count; i++) {
        const struct sheet *sheet = &item->sheets[i];
        if (item->of_cells)
            stream_format(out, "\nlayer %d head %d\n", sheet->layer, sheet->head);
        if (write_table(out, sheet, place, &heat, err))
            return -1;
    }
    return 0;
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
