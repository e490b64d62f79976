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
#include "write/format.h"
#include "write/text_heat.h"
#include "write/text_layout.h"
#include "write/text_titles.h"
#include "write/text_tokens.h"

/* --- a tensor --------------------------------------------------------------------------------- */

static const char ellipsis[] = "…";

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

static void add_header(struct buf *line, const struct text_layout *layout,
                       const struct sheet *sheet)
{
    char corner[TEXT_CORNER_BYTES];
    text_left(line, text_corner(corner, sheet), layout->label_width);
    for (size_t slot = 0; slot < text_cut_slots(&layout->columns); slot++) {
        size_t column = text_cut_place(&layout->columns, slot);
        text_blanks(line, layout->gap);
        if (text_cut_between(&layout->columns, slot))
            buf_text(line, ellipsis);
        else if (layout->index_width) /* of large numbers, the last digits */
            buf_format(line, "%2zu", (sheet->columns.first + column) % 100);
        else
            text_right(line, sheet->columns.labels[column].text, layout->cell_width);
    }
}

/* A number between two blanks of its colour: the second comes with what stands after it. */
static void add_cell(struct buf *line, const struct text_layout *layout, struct text_heat *heat,
                     const struct tone *tone, float value)
{
    unsigned level = heat->colours || heat->shades ? tone_level(tone, value) : 0;
    const char *mark = heat->shades ? text_heat_shade(heat, level) : " ";
    text_blanks(line, heat->numbers ? layout->gap - 1 : 0);
    text_heat_set(line, heat, level);
    buf_text(line, mark);
    for (int i = 1; i < TEXT_HEAT && !heat->numbers; i++)
        buf_text(line, mark);
    if (!heat->numbers)
        return;
    char text[NUMERAL_BYTES];
    size_t size = numeral_write(text, layout->numeral, value);
    text_blanks_up_to(line, layout->cell_width, size);
    buf_bytes(line, text, size);
}

/* What is no number: hidden, or left out. */
static void add_other(struct buf *line, const struct text_layout *layout, struct text_heat *heat,
                      size_t width, bool hidden)
{
    size_t after = heat->set && layout->gap ? 1 : 0; /* the last cell's second blank */
    text_blanks(line, after);
    text_heat_reset(line, heat);
    text_blanks(line, layout->gap - after);
    if (hidden)
        text_blanks(line, width);
    else
        text_right(line, ellipsis, width);
}

static void add_label(struct buf *line, const struct text_layout *layout, const struct axis *rows,
                      size_t row)
{
    if (layout->index_width)
        buf_format(line, "%*zu ", (int)layout->index_width - 1, rows->first + row);
    text_left(line, rows->labels[row].text, layout->label_width - layout->index_width);
}

/* One of the sheets side by side, and its number among all of the tensor. */
struct block {
    struct sheet sheet;
    size_t index;
};

/* An ellipsis stands for numbers that could be seen: where all it stands for is hidden, it is.
 * Returns how many blanks stand after the row: the last cell's second one. */
static size_t add_row(struct buf *line, const struct text_layout *layout, struct text_heat *heat,
                      const struct block *block, size_t row_slot)
{
    const struct sheet *sheet = &block->sheet;
    bool between = text_cut_between(&layout->rows, row_slot);
    size_t row = text_cut_place(&layout->rows, row_slot);
    size_t last_row = between ? text_cut_place(&layout->rows, row_slot + 1) - 1 : row;
    struct tone tone = text_heat_tone(heat, block->index, sheet, row);
    if (between)
        text_left(line, ellipsis, layout->label_width);
    else
        add_label(line, layout, &sheet->rows, row);
    for (size_t slot = 0; slot < text_cut_slots(&layout->columns); slot++) {
        size_t column = text_cut_place(&layout->columns, slot);
        bool narrow = text_cut_between(&layout->columns, slot);
        bool hidden = sheet_hides(sheet, last_row, column);
        if (hidden || between || narrow)
            add_other(line, layout, heat, narrow ? 1 : layout->cell_width, hidden);
        else
            add_cell(line, layout, heat, &tone, sheet_cell(sheet, row, column));
    }
    size_t after = heat->set && layout->gap ? 1 : 0;
    text_blanks(line, after);
    text_heat_reset(line, heat);
    return after;
}

/* Some sheets, from `first` up to `end`, side by side. */
struct blocks {
    const struct report *report;
    const struct kept *kept;
    size_t first;
    size_t end;
    struct text_heat heat;
};

enum { HEADER = -1 }; /* the line above the rows */

static int write_line(struct stream *out, struct buf *line, const struct text_layout *layout,
                      struct blocks *blocks, int row_slot, struct err *err)
{
    size_t after = 0;
    for (size_t i = blocks->first; i < blocks->end; i++) {
        struct block block = {kept_sheet(blocks->report, blocks->kept, i), i};
        if (i > blocks->first)
            text_blanks(line, TEXT_BLOCK_GAP - after);
        if (row_slot == HEADER)
            add_header(line, layout, &block.sheet);
        else
            after = add_row(line, layout, &blocks->heat, &block, (size_t)row_slot);
    }
    return text_end(out, line, err);
}

static int write_all(struct stream *out, struct blocks *blocks, const struct place *place,
                     struct err *err)
{
    struct buf line = {0};
    struct place page = *place;
    page.columns -= blocks->heat.colours && page.columns ? 1 : 0; /* the last cell's second blank */
    struct text_layout layout =
        text_layout(blocks->report, blocks->kept, &page, blocks->heat.numbers);
    size_t count = kept_sheet_count(blocks->kept);
    int failed = write_note(out, &layout, place->columns, err);
    while (blocks->end < count && !failed) {
        blocks->first = blocks->end;
        blocks->end += layout.side_by_side;
        if (blocks->end > count)
            blocks->end = count;
        stream_char(out, '\n');
        for (int slot = HEADER; slot < (int)text_cut_slots(&layout.rows) && !failed; slot++)
            failed = write_line(out, &line, &layout, blocks, slot, err);
    }
    if (!failed && !blocks->heat.numbers) { /* which colours stand for which */
        stream_char(out, '\n');
        text_heat_legend(&line, &blocks->heat);
        failed = text_end(out, &line, err);
    }
    buf_release(&line);
    return failed;
}

/* One tensor: a heading, and its heads as tables, side by side where they fit. */
static int write_matrix(struct stream *out, const struct report *report, const struct kept *kept,
                        const struct place *place, struct err *err)
{
    struct sheet first = kept_sheet(report, kept, 0);
    struct blocks blocks = {.report = report, .kept = kept};
    if (write_heading(out, &first, place->columns, err))
        return -1;
    int failed = text_heat_open(&blocks.heat, out, report, kept, place, err) ||
                 write_all(out, &blocks, place, err);
    text_heat_release(&blocks.heat);
    return failed ? -1 : 0;
}

/* --- the page --------------------------------------------------------------------------------- */

enum { RULE_WIDTH = 80 }; /* where the page has no width of its own */

static int write_tokens(struct stream *out, const struct report *report, const struct place *place,
                        struct err *err)
{
    stream_char(out, '\n');
    if (report->source.count == 0)
        return text_tokens_write(out, &report->sentence, "text", place, err);
    if (text_tokens_write(out, &report->sentence, "sentence", place, err))
        return -1;
    stream_char(out, '\n');
    return text_tokens_write(out, &report->source, "source", place, err);
}

int text_page_write(struct stream *out, const struct report *report, const struct place *place,
                    struct err *err)
{
    if (place->index > 0) { /* a rule between two sentences */
        stream_char(out, '\n');
        for (size_t i = 0; i < (place->columns ? place->columns : RULE_WIDTH); i++)
            stream_char(out, '-');
        stream_text(out, "\n\n");
    }
    if (text_titles_write(out, report, place, err))
        return -1;
    if (place->show_tokens && write_tokens(out, report, place, err))
        return -1;
    for (size_t i = 0; i < report->tensor_count; i++) {
        stream_char(out, '\n');
        if (write_matrix(out, report, &report->tensors[i], place, err))
            return -1;
    }
    return 0;
}
