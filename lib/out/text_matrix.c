#include "out/text_matrix.h"

#include "out/text_layout.h"

static const char ellipsis[] = "…";

/* weights · layer 0 · rows: query, columns: key */
static void write_heading(struct stream *out, const struct sheet *sheet)
{
    stream_text(out, sheet->tensor);
    if (sheet->layer >= 0)
        stream_format(out, " · layer %d", sheet->layer);
    if (sheet->mean_of_layers)
        stream_text(out, " · mean of layers");
    if (sheet->mean_of_heads)
        stream_text(out, " · mean of heads");
    stream_format(out, " · rows: %s, columns: %s\n", sheet->rows.name, sheet->columns.name);
}

/* What is not on the page, and where it is. */
static void write_note(struct stream *out, const struct text_layout *layout)
{
    const struct text_cut *rows = &layout->rows;
    const struct text_cut *columns = &layout->columns;
    if (!text_is_cut(rows) && !text_is_cut(columns))
        return;
    stream_char(out, '(');
    if (text_is_cut(rows))
        stream_format(out, "%zu of %zu rows", rows->front + rows->back, rows->size);
    if (text_is_cut(rows) && text_is_cut(columns))
        stream_text(out, ", ");
    if (text_is_cut(columns))
        stream_format(out, "%zu of %zu columns", columns->front + columns->back, columns->size);
    stream_text(out, " shown; --full shows all)\n");
}

static void add_header(struct buf *line, const struct text_layout *layout,
                       const struct sheet *sheet)
{
    char corner[TEXT_CORNER_BYTES];
    text_left(line, text_corner(corner, sheet), layout->label_width);
    for (size_t slot = 0; slot < text_cut_slots(&layout->columns); slot++) {
        size_t column = text_cut_place(&layout->columns, slot);
        text_blanks(line, TEXT_GAP);
        if (text_cut_between(&layout->columns, slot))
            buf_text(line, ellipsis);
        else
            text_right(line, sheet->columns.labels[column].text, layout->cell_width);
    }
}

static void add_number(struct buf *line, const struct text_layout *layout, float value)
{
    char text[NUMERAL_BYTES];
    size_t size = numeral_write(text, layout->numeral, value);
    text_blanks(line, layout->cell_width - size);
    buf_bytes(line, text, size);
}

/* An ellipsis stands for numbers that could be seen: where all it stands for is hidden, it is. */
static void add_row(struct buf *line, const struct text_layout *layout, const struct sheet *sheet,
                    size_t row_slot)
{
    bool between = text_cut_between(&layout->rows, row_slot);
    size_t row = text_cut_place(&layout->rows, row_slot);
    size_t last_row = between ? text_cut_place(&layout->rows, row_slot + 1) - 1 : row;
    text_left(line, between ? ellipsis : sheet->rows.labels[row].text, layout->label_width);
    for (size_t slot = 0; slot < text_cut_slots(&layout->columns); slot++) {
        size_t column = text_cut_place(&layout->columns, slot);
        bool narrow = text_cut_between(&layout->columns, slot);
        size_t width = narrow ? 1 : layout->cell_width;
        text_blanks(line, TEXT_GAP);
        if (sheet_hides(sheet, last_row, column))
            text_blanks(line, width);
        else if (between || narrow)
            text_right(line, ellipsis, width);
        else
            add_number(line, layout, sheet_cell(sheet, row, column));
    }
}

/* Some sheets, from `first` up to `end`, side by side. */
struct blocks {
    const struct report *report;
    const struct kept *kept;
    size_t first;
    size_t end;
};

enum { HEADER = -1 }; /* the line above the rows */

static int write_line(struct stream *out, struct buf *line, const struct text_layout *layout,
                      const struct blocks *blocks, int row_slot, struct err *err)
{
    for (size_t i = blocks->first; i < blocks->end; i++) {
        struct sheet sheet = kept_sheet(blocks->report, blocks->kept, i);
        if (i > blocks->first)
            text_blanks(line, TEXT_BLOCK_GAP);
        if (row_slot == HEADER)
            add_header(line, layout, &sheet);
        else
            add_row(line, layout, &sheet, (size_t)row_slot);
    }
    return text_end(out, line, err);
}

static int write_blocks(struct stream *out, struct buf *line, const struct text_layout *layout,
                        const struct blocks *blocks, struct err *err)
{
    int slots = (int)text_cut_slots(&layout->rows);
    stream_char(out, '\n');
    for (int slot = HEADER; slot < slots; slot++)
        if (write_line(out, line, layout, blocks, slot, err))
            return -1;
    return 0;
}

int text_matrix_write(struct stream *out, const struct report *report, const struct kept *kept,
                      const struct place *place, struct err *err)
{
    struct buf line = {0};
    struct sheet first = kept_sheet(report, kept, 0);
    struct text_layout layout = text_layout(report, kept, place);
    struct blocks blocks = {.report = report, .kept = kept};
    size_t count = kept_sheet_count(kept);
    int failed = 0;
    write_heading(out, &first);
    write_note(out, &layout);
    while (blocks.end < count && !failed) {
        blocks.first = blocks.end;
        blocks.end += layout.side_by_side;
        if (blocks.end > count)
            blocks.end = count;
        failed = write_blocks(out, &line, &layout, &blocks, err);
    }
    buf_release(&line);
    return failed;
}
