#include "write/text_layout.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"

const char *text_corner(char corner[TEXT_CORNER_BYTES], const struct sheet *sheet)
{
    corner[0] = '\0';
    if (sheet->head >= 0)
        snprintf(corner, TEXT_CORNER_BYTES, "head %d", sheet->head);
    return corner;
}

static void add_row(struct numeral_range *range, const struct sheet *sheet, size_t row)
{
    for (size_t c = 0; c < sheet->columns.size; c++)
        if (!sheet_hides(sheet, row, c))
            numeral_range_add(range, sheet_cell(sheet, row, c));
}

/* Over all heads and the rows that are shown. All columns count, so that a wider terminal shows the
 * same numbers in the same way. */
static struct numeral_range find_range(const struct report *report, const struct kept *kept,
                                       const struct text_cut *rows)
{
    struct numeral_range range = numeral_range_empty();
    for (size_t i = 0; i < kept_sheet_count(kept); i++) {
        struct sheet sheet = kept_sheet(report, kept, i);
        for (size_t slot = 0; slot < text_cut_slots(rows); slot++)
            if (!text_cut_between(rows, slot))
                add_row(&range, &sheet, text_cut_place(rows, slot));
    }
    return range;
}

static size_t label_width(const struct axis *axis, const struct text_cut *cut)
{
    size_t widest = 0;
    for (size_t slot = 0; slot < text_cut_slots(cut); slot++) {
        const char *text = axis->labels[text_cut_place(cut, slot)].text;
        size_t width = text_cut_between(cut, slot) ? 1 : utf8_width(text, strlen(text));
        widest = num_max(widest, width);
    }
    return num_min(widest, TEXT_LABEL_MAX);
}

static size_t slots_width(const struct text_layout *layout)
{
    size_t places = layout->columns.front + layout->columns.back;
    size_t between = text_is_cut(&layout->columns) ? layout->gap + 1 : 0;
    return places * (layout->gap + layout->cell_width) + between;
}

/* Where there is room, columns grow up to their longest label. */
static void widen_cells(struct text_layout *layout, const struct axis *columns, size_t page)
{
    size_t wanted = label_width(columns, &layout->columns);
    if (page > 0) {
        size_t most = (page - layout->label_width) / columns->size - layout->gap;
        wanted = num_min(wanted, most);
    }
    layout->cell_width = num_max(layout->cell_width, wanted);
}

/* Texts in place of numbers, as far as they are no longer than labels. */
static size_t texts_width(const struct sheet *sheet)
{
    size_t widest = 1;
    for (size_t r = 0; r < sheet->rows.size; r++)
        for (size_t c = 0; c < sheet->columns.size; c++) {
            const char *text = sheet_text(sheet, r, c);
            widest = num_max(widest, utf8_width(text, strlen(text)));
        }
    return num_min(widest, TEXT_LABEL_MAX);
}

static void fit_columns(struct text_layout *layout, const struct axis *columns, size_t page)
{
    size_t slot = layout->gap + layout->cell_width;
    size_t beside = layout->label_width + layout->gap + 1; /* what an ellipsis leaves no room for */
    layout->columns = text_cut_to(columns->size, columns->size);
    bool fits = page == 0 || layout->label_width + slots_width(layout) <= page;
    if (fits && layout->gap)
        widen_cells(layout, columns, page);
    else if (!fits)
        layout->columns = text_cut_to(columns->size, page > beside ? (page - beside) / slot : 0);
}

/* The column at the left holds the row labels, after their numbers, and above them "head 3". */
static size_t left_width(const struct report *report, const struct kept *kept,
                         const struct text_layout *layout)
{
    size_t width = 0;
    for (size_t i = 0; i < kept_sheet_count(kept); i++) {
        struct sheet sheet = kept_sheet(report, kept, i);
        char corner[TEXT_CORNER_BYTES];
        if (i == 0)
            width = layout->index_width + label_width(&sheet.rows, &layout->rows);
        width = num_max(width, strlen(text_corner(corner, &sheet)));
    }
    return width;
}

/* "12 dessert": the number tells which column a row is. */
static size_t index_width(const struct axis *rows)
{
    char last[TEXT_CORNER_BYTES];
    return (size_t)snprintf(last, sizeof last, "%zu ", rows->first + rows->size - 1);
}

struct text_layout text_layout(const struct report *report, const struct kept *kept,
                               const struct place *place, bool numbers)
{
    struct text_layout layout = {.gap = numbers ? TEXT_GAP : 0, .cell_width = TEXT_HEAT};
    struct sheet first = kept_sheet(report, kept, 0); /* its axes are those of all */
    layout.rows = text_cut_lines(first.rows.size, place->lines);
    layout.index_width = numbers ? 0 : index_width(&first.rows);
    layout.label_width = left_width(report, kept, &layout);
    if (numbers) {
        struct numeral_range range = find_range(report, kept, &layout.rows);
        layout.numeral = numeral_of_range(&range, first.whole ? 0 : NUMERAL_DIGITS);
        layout.cell_width =
            first.texts ? texts_width(&first) : numeral_width(&range, layout.numeral);
    } else {
        layout.label_width++; /* a blank before the first cell */
    }
    fit_columns(&layout, &first.columns, place->columns);
    size_t block = layout.label_width + slots_width(&layout) + TEXT_BLOCK_GAP;
    size_t blocks = (place->columns + TEXT_BLOCK_GAP) / block;
    layout.side_by_side = num_max(num_min(blocks, kept_sheet_count(kept)), 1);
    return layout;
}
