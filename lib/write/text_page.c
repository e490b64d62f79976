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
#include <math.h>

#include "write/frame_write.h"
#include "write/table.h"
#include "write/text_layout.h"
#include "write/text_titles.h"

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

enum { RULE_WIDTH = 80 }; /* where the page has no width of its own */

static int write_text_tokens(struct stream *out, const struct tokenized *tokenized,
                             const char *title, const struct place *place, struct err *err)
{
    struct arena arena = {0};
    struct frame frame;
    stream_char(out, '\n');
    int failed = tokenized_frame(&frame, tokenized, title, &arena, err) ||
                 frame_text_write(out, &frame, place, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}

static int write_tokens(struct stream *out, const struct report *report, const struct place *place,
                        struct err *err)
{
    bool two = report->source.count;
    return write_text_tokens(out, &report->sentence, two ? "sentence" : "text", place, err) ||
                   (two && write_text_tokens(out, &report->source, "source", place, err))
               ? -1
               : 0;
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

int text_page_write(struct stream *out, const struct report *report, const struct place *place,
                    struct err *err)
{
    if (place->index > 0) /* a rule between two sentences */
        stream_char(out, '\n');
    if (place->index > 0 && !report->untitled) {
        for (size_t i = 0; i < (place->columns ? place->columns : RULE_WIDTH); i++)
            stream_char(out, '-');
        stream_text(out, "\n\n");
    }
    if (!report->untitled && text_titles_write(out, report, place, err))
        return -1;
    if (place->show_tokens && write_tokens(out, report, place, err))
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
