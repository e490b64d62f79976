/* text_page.c: what people look at first: the sentence, its tokens, and every tensor as tables.
 *
 *     life · Life is short
 *
 *     token  id  start  end  text
 *         0   0      0    4  Life
 *     ...
 *
 *     weights · layer 0 · rows: query, columns: key
 *
 *     head 0    Life      is       head 1    Life      is
 *     Life    1.0000               Life    1.0000
 *     is      0.4512  0.5488       is      0.5010  0.4990
 */
#include "write/text_page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"
#include "write/table.h"
#include "write/text_line.h"

static const char ellipsis[] = "…";

/* --- the first lines -------------------------------------------------------------------------- */

/* life · attention window:4 · sentence 1 · Life is short */
static void add_title(struct buf *line, const struct report *report, const struct place *place)
{
    struct tokenized model = {.text = report->model, .size = strlen(report->model)};
    tokenized_visible(line, &model);
    if (report->mechanism)
        buf_format(line, " · %s", report->mechanism);
    if (place_sentences(place) > 1)
        buf_format(line, " · sentence %zu", place_sentence(place));
    if (!report->sentence.count && !report->sentence.size) /* it is about the model alone */
        return;
    buf_text(line, " · ");
    tokenized_visible(line, &report->sentence);
}

static int end_title(struct stream *out, struct buf *line, const struct place *place,
                     struct err *err)
{
    text_shorten(line, place->columns);
    return text_end(out, line, err);
}

int text_titles_write(struct stream *out, const struct report *report, const struct place *place,
                      struct err *err)
{
    struct buf line = {0};
    add_title(&line, report, place);
    int failed = end_title(out, &line, place, err);
    const struct tokenized *other = report->corrupt ? report->corrupt : &report->source;
    if (other->count && !failed) {
        buf_text(&line, report->corrupt ? "corrupt · " : "source · ");
        tokenized_visible(&line, other);
        failed = end_title(out, &line, place, err);
    }
    bool has_text = report->sentence.count || report->sentence.size;
    if (report->about && !failed && has_text) {
        buf_text(&line, report->about);
        failed = end_title(out, &line, place, err);
    } else if (report->about && !failed) { /* nothing else says it */
        text_wrap(out, report->about, 0, 0, place->columns);
    }
    buf_release(&line);
    return failed;
}

/* --- how the sheets of a tensor fit on the page ----------------------------------------------- */

/* All heads of a tensor get one layout, so that equal numbers look equal and columns are aligned.
 * Numbers have four decimals; where that takes more than 9 columns, or would show nothing but
 * zeros, they are written as 1.23e+08. A matrix that is too wide or too long loses its middle. */

enum {
    TEXT_GAP = 2,        /* blanks before a column of numbers */
    TEXT_HEAT = 2,       /* columns of a cell without a number: about as wide as high */
    TEXT_BLOCK_GAP = 4,  /* blanks between two heads side by side */
    TEXT_LABEL_MAX = 16, /* columns; longer labels are shortened */
};

struct text_layout {
    struct text_cut rows;
    struct text_cut columns;
    size_t label_width; /* of the column of labels at the left … */
    size_t index_width; /* … which begin with their numbers, in so many columns; 0: without */
    size_t cell_width;
    size_t gap; /* blanks before every column */
    struct numeral numeral;
    size_t side_by_side; /* heads in one row of blocks */
};

enum { TEXT_CORNER_BYTES = 24 };

/* "head 3", or nothing for a sheet without a head. */
static const char *text_corner(char corner[TEXT_CORNER_BYTES], const struct sheet *sheet)
{
    corner[0] = '\0';
    if (sheet->head >= 0)
        snprintf(corner, TEXT_CORNER_BYTES, "head %d", sheet->head);
    return corner;
}

static void add_row_to_range(struct numeral_range *range, const struct sheet *sheet, size_t row)
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
                add_row_to_range(&range, &sheet, text_cut_place(rows, slot));
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

/* `numbers`: cells hold them; else they are small, and labels begin with the numbers that are above
 * the columns. */
static struct text_layout text_layout(const struct report *report, const struct kept *kept,
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

/* --- tensors ---------------------------------------------------------------------------------- */

enum { HEADING_INDENT = 2 }; /* of what a narrow page has no room for on one line */

/* weights · layer 0 · rows: query, columns: key */
static int write_heading(struct stream *out, const struct sheet *sheet, size_t columns,
                         struct err *err)
{
    struct buf line = {0};
    buf_text(&line, sheet->tensor);
    if (sheet->layer >= 0)
        buf_format(&line, " · layer %d", sheet->layer);
    if (sheet->mean_of_layers)
        buf_text(&line, " · mean of layers");
    if (sheet->mean_of_heads)
        buf_text(&line, " · mean of heads");
    buf_format(&line, " · rows: %s, columns: %s", sheet->rows.name, sheet->columns.name);
    int failed = buf_check(&line, err);
    if (!failed)
        text_wrap(out, line.bytes, 0, HEADING_INDENT, columns);
    buf_release(&line);
    return failed;
}

/* What is not on the page, and where it is. */
static int write_note(struct stream *out, const struct text_layout *layout, size_t width,
                      struct err *err)
{
    const struct text_cut *rows = &layout->rows;
    const struct text_cut *columns = &layout->columns;
    struct buf line = {0};
    if (!text_is_cut(rows) && !text_is_cut(columns))
        return 0;
    buf_char(&line, '(');
    if (text_is_cut(rows))
        buf_format(&line, "%zu of %zu rows", rows->front + rows->back, rows->size);
    if (text_is_cut(rows) && text_is_cut(columns))
        buf_text(&line, ", ");
    if (text_is_cut(columns))
        buf_format(&line, "%zu of %zu columns", columns->front + columns->back, columns->size);
    buf_text(&line, " shown; --full shows all)");
    int failed = buf_check(&line, err);
    if (!failed)
        text_wrap(out, line.bytes, 0, HEADING_INDENT, width);
    buf_release(&line);
    return failed;
}

/* Cells of two characters leave no blank between numbers of two digits: of many places every fifth
 * has its number, of large ones the last digits. */
static void add_place(struct table *table, const struct axis *axis, size_t place)
{
    if (axis->first + axis->size > 10 && place % 5 != 0)
        table_text(table, "");
    else
        table_number(table, place % 100);
}

static void add_header(struct table *table, const struct text_layout *layout,
                       const struct sheet *sheet)
{
    char corner[TEXT_CORNER_BYTES];
    table_text(table, text_corner(corner, sheet));
    for (size_t slot = 0; slot < text_cut_slots(&layout->columns); slot++) {
        size_t column = text_cut_place(&layout->columns, slot);
        if (text_cut_between(&layout->columns, slot)) {
            table_text(table, ellipsis);
        } else if (layout->index_width) {
            add_place(table, &sheet->columns, sheet->columns.first + column);
        } else {
            text_label(&table->cell, &sheet->columns, column, layout->cell_width);
            table_put(table);
        }
    }
}

static void add_number(struct table *table, const struct text_layout *layout,
                       const struct tone *tone, float value, const char *text)
{
    char number[NUMERAL_BYTES];
    const struct text_heat *heat = table->heat;
    if (!text && isnan(value)) { /* there is nothing, as of the last token's next one */
        table_text(table, "");
        return;
    }
    numeral_write(number, layout->numeral, value);
    table_heated(table, text ? text : number,
                 heat->colours || heat->shades ? tone_level(tone, value) : 0);
}

/* An ellipsis stands for numbers that could be seen: where all of these lie in the future, there is
 * none. The sheet is that of the tensor's head `index`. */
static void add_row(struct table *table, const struct text_layout *layout,
                    const struct sheet *sheet, size_t index, size_t row_slot)
{
    bool between = text_cut_between(&layout->rows, row_slot);
    size_t row = text_cut_place(&layout->rows, row_slot);
    size_t last_row = between ? text_cut_place(&layout->rows, row_slot + 1) - 1 : row;
    struct tone tone = text_heat_tone(table->heat, index, sheet, row);
    if (!between && layout->index_width)
        buf_format(&table->cell, "%*zu ", (int)layout->index_width - 1, sheet->rows.first + row);
    buf_text(&table->cell, between ? ellipsis : sheet->rows.labels[row].text);
    table_put(table);
    for (size_t slot = 0; slot < text_cut_slots(&layout->columns); slot++) {
        size_t column = text_cut_place(&layout->columns, slot);
        bool cut = between || text_cut_between(&layout->columns, slot);
        bool hidden = cut ? sheet->causal && column > last_row : sheet_hides(sheet, row, column);
        if (hidden || cut)
            table_text(table, hidden ? "" : ellipsis);
        else
            add_number(table, layout, &tone, sheet_cell(sheet, row, column),
                       sheet_text(sheet, row, column));
    }
}

/* The tensor on its page, sheet after sheet. */
struct blocks {
    const struct report *report;
    const struct kept *kept;
    struct table table;
    struct text_layout layout;
};

enum { HEADER = -1 }; /* the line above the rows */

/* The sheets from `first` up to `end`, side by side. */
static void write_blocks(struct blocks *blocks, size_t first, size_t end)
{
    struct table *table = &blocks->table;
    int slots = (int)text_cut_slots(&blocks->layout.rows);
    for (int slot = HEADER; slot < slots; slot++) {
        for (size_t i = first; i < end; i++) {
            struct sheet sheet = kept_sheet(blocks->report, blocks->kept, i);
            if (i > first)
                table_beside(table, TEXT_BLOCK_GAP);
            if (slot == HEADER)
                add_header(table, &blocks->layout, &sheet);
            else
                add_row(table, &blocks->layout, &sheet, i, (size_t)slot);
        }
        table_end(table);
    }
}

/* The label, and the columns on both sides of the ellipsis, if there is one. */
static void write_tables(struct blocks *blocks)
{
    const struct text_layout *layout = &blocks->layout;
    const struct text_cut *cut = &layout->columns;
    size_t count = kept_sheet_count(blocks->kept);
    const struct table_column columns[] = {
        {.width = layout->label_width, .left = true, .shortens = true},
        {NULL, layout->gap, layout->cell_width, cut->front, .shortens = true},
        {.gap = layout->gap, .width = 1},
        {NULL, layout->gap, layout->cell_width, cut->back, .shortens = true},
    };
    for (size_t first = 0; first < count; first += layout->side_by_side) {
        size_t end = first + layout->side_by_side;
        table_begin(&blocks->table, columns, sizeof columns / sizeof *columns);
        write_blocks(blocks, first, end < count ? end : count);
    }
}

/* One tensor: a heading, and its heads as tables, side by side where they fit. */
static int write_matrix(struct stream *out, const struct report *report, const struct kept *kept,
                        const struct place *place, struct err *err)
{
    struct sheet first = kept_sheet(report, kept, 0);
    struct place page = *place;
    struct text_heat heat;
    struct blocks blocks = {report, kept, .table = {.out = out, .heat = &heat}};
    if (write_heading(out, &first, place->columns, err) ||
        text_heat_open(&heat, out, report, kept, place, err))
        return -1;
    page.columns -= heat.colours && page.columns ? 1 : 0; /* the last cell's second blank */
    blocks.layout = text_layout(report, kept, &page, heat.numbers);
    int failed = write_note(out, &blocks.layout, place->columns, err);
    if (!failed) {
        write_tables(&blocks);
        if (!heat.numbers) { /* which colours stand for which */
            stream_char(out, '\n');
            text_heat_legend(&blocks.table.line, &heat);
            table_end(&blocks.table);
        }
        failed = table_close(&blocks.table, err);
    }
    text_heat_release(&heat);
    return failed ? -1 : 0;
}

/* --- a page ----------------------------------------------------------------------------------- */

static int write_tokens(struct stream *out, const struct tokenized *tokenized, const char *title,
                        const struct place *place, struct err *err)
{
    struct arena arena = {0};
    struct frame frame;
    stream_char(out, '\n');
    int failed = tokenized_frame(&frame, tokenized, title, &arena, err) ||
                 frame_text_write(out, &frame, place, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}

/* The rows of facts, above the tables of a report without a title. */
static bool write_rows(struct stream *out, const struct frame *facts)
{
    bool any = false;
    for (size_t i = 0; facts && i < facts->count; i++) {
        const struct column *row = &facts->columns[i];
        const char *text = row->flags & COLUMN_TEXT_ONLY ? column_text(row, 0, true) : NULL;
        if (text)
            stream_format(out, "%-14s %s\n", row->name, text);
        any |= text != NULL;
    }
    return any;
}

enum { RULE_WIDTH = 80 }; /* where the page has no width of its own */

int text_page_write(struct stream *out, const struct report *report, const struct place *place,
                    struct err *err)
{
    bool alone = !report->source.count;
    if (place->index > 0) /* a rule between two sentences */
        stream_char(out, '\n');
    if (place->index > 0 && !report->untitled) {
        for (size_t i = 0; i < (place->columns ? place->columns : RULE_WIDTH); i++)
            stream_char(out, '-');
        stream_text(out, "\n\n");
    }
    if (!report->untitled && text_titles_write(out, report, place, err))
        return -1;
    if (place->show_tokens &&
        (write_tokens(out, &report->sentence, alone ? "text" : "sentence", place, err) ||
         (!alone && write_tokens(out, &report->source, "source", place, err))))
        return -1;
    bool shows_tensors = report->shows_tensors || !report->frame_count;
    bool first = report->untitled && !write_rows(out, report->facts); /* nothing is above it */
    for (size_t i = 0; i < report->tensor_count && shows_tensors; i++) {
        stream_char(out, '\n');
        if (write_matrix(out, report, &report->tensors[i], place, err))
            return -1;
    }
    for (size_t i = 0; i < report->frame_count; i++) {
        if (report->frames[i].flags & COLUMN_DATA_ONLY)
            continue;
        stream_text(out, first ? "" : "\n");
        first = false;
        if (frame_text_write(out, &report->frames[i], place, err))
            return -1;
    }
    return 0;
}
