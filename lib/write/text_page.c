/* text_page.c: reports as text: the sentence, its tokens, every tensor and table.
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
#include "write/text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"

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

/* --- a tensor ---------------------------------------------------------------------------------
 *
 * All heads of a tensor have one layout, so that equal numbers look equal and columns are aligned.
 * Numbers have four decimals; if they take more than 9 columns, or would be nothing but zeros, they
 * are written as 1.23e+08. A matrix that is too wide or too long loses its middle.
 */

enum {
    TEXT_GAP = 2,       /* blanks before a column of numbers */
    TEXT_HEAT = 2,      /* width of a cell without a number: about as wide as high */
    TEXT_BLOCK_GAP = 4, /* blanks between two heads side by side */
    TEXT_LABEL_MAX = 16,
    TEXT_CORNER_BYTES = 24,
    HEADING_INDENT = 2, /* of the rest of a line on a narrow page */
};

struct matrices {
    const struct sheet *sheets; /* one a head */
    size_t count;
    struct table table;
    struct text_heat heat;
    struct colour_norm *norms; /* [count] if each head has its own range; else NULL */
    struct text_cut rows, columns;
    struct table_column label, cell, between; /* labels, numbers, and an ellipsis in the middle */
    size_t index_width;                       /* of the numbers before labels; 0: none */
    struct extent extent;                     /* of the visible numbers; 0 if there are none */
    struct numeral numeral;
    size_t side_by_side; /* heads in one row of blocks */
};

/* "head 3", or nothing for a sheet without a head. */
static const char *text_corner(char corner[TEXT_CORNER_BYTES], const struct sheet *sheet)
{
    corner[0] = '\0';
    if (sheet->head >= 0)
        snprintf(corner, TEXT_CORNER_BYTES, "head %d", sheet->head);
    return corner;
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

/* Width of texts in place of numbers, as far as they are no longer than labels. */
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

static size_t number_width(const struct matrices *matrices, float value)
{
    char text[NUMERAL_BYTES];
    return numeral_write(text, matrices->numeral, value);
}

static size_t slots_width(const struct matrices *matrices)
{
    size_t places = matrices->columns.front + matrices->columns.back;
    size_t between = text_is_cut(&matrices->columns) ? matrices->cell.gap + 1 : 0;
    return places * (matrices->cell.gap + matrices->cell.width) + between;
}

/* Cut columns that do not fit; if there is room, they grow up to their longest label. */
static void fit_columns(struct matrices *matrices, size_t page)
{
    const struct axis *columns = &matrices->sheets->columns;
    size_t slot = matrices->cell.gap + matrices->cell.width;
    size_t beside =
        matrices->label.width + matrices->cell.gap + 1; /* not for columns if there is an … */
    matrices->columns = text_cut_to(columns->size, columns->size);
    bool fits = page == 0 || matrices->label.width + slots_width(matrices) <= page;
    if (!fits) {
        matrices->columns = text_cut_to(columns->size, page > beside ? (page - beside) / slot : 0);
    } else if (matrices->cell.gap) {
        size_t wanted = label_width(columns, &matrices->columns);
        if (page > 0)
            wanted = num_min(wanted,
                             (page - matrices->label.width) / columns->size - matrices->cell.gap);
        matrices->cell.width = num_max(matrices->cell.width, wanted);
    }
}

/* Lay out the sheets. Cells without numbers are small, and labels begin with the numbers that are
 * above the columns. */
static void fit_matrices(struct matrices *matrices, const struct place *place)
{
    const struct sheet *first = matrices->sheets; /* its axes are those of all */
    bool numbers = matrices->heat.numbers;
    size_t page = place->columns;
    char text[TEXT_CORNER_BYTES];
    size_t gap = numbers ? TEXT_GAP : 0;
    matrices->label = (struct table_column){.left = true, .shortens = true};
    matrices->cell = (struct table_column){gap, TEXT_HEAT, .shortens = true};
    matrices->between = (struct table_column){gap, 1};
    matrices->rows = text_cut_lines(first->rows.size, place->lines);
    if (!numbers) /* "12 dessert": the number tells which column a row is */
        matrices->index_width = (size_t)snprintf(text, sizeof text, "%zu ",
                                                 axis_number(&first->rows, first->rows.size - 1));
    matrices->label.width = matrices->index_width + label_width(&first->rows, &matrices->rows);
    for (size_t i = 0; i < matrices->count; i++)
        matrices->label.width =
            num_max(matrices->label.width, strlen(text_corner(text, &matrices->sheets[i])));
    if (numbers) {
        struct extent extent = matrices->extent;
        matrices->numeral =
            numeral_between(extent.low, extent.high, first->whole ? 0 : NUMERAL_DIGITS);
        matrices->cell.width =
            num_max(number_width(matrices, extent.low), number_width(matrices, extent.high));
        if (first->texts)
            matrices->cell.width = texts_width(first);
    } else {
        matrices->label.width++; /* a blank before the first cell */
    }
    fit_columns(matrices, page);
    size_t block = matrices->label.width + slots_width(matrices) + TEXT_BLOCK_GAP;
    size_t blocks = (page + TEXT_BLOCK_GAP) / block;
    matrices->side_by_side = num_max(num_min(blocks, matrices->count), 1);
}

/* Write a line, broken at blanks, and release it. */
static int wrap_line(struct stream *out, struct buf *line, size_t columns, struct err *err)
{
    int failed = buf_check(line, err);
    if (!failed)
        text_wrap(out, line->bytes, 0, HEADING_INDENT, columns);
    buf_release(line);
    return failed;
}

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
    return wrap_line(out, &line, columns, err);
}

/* (24 of 60 rows, 9 of 60 columns shown; --full shows all) */
static int write_note(struct stream *out, const struct text_cut *rows,
                      const struct text_cut *columns, size_t width, struct err *err)
{
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
    return wrap_line(out, &line, width, err);
}

static void add_header(struct matrices *matrices, const struct sheet *sheet)
{
    char corner[TEXT_CORNER_BYTES];
    struct table *table = &matrices->table;
    const struct axis *columns = &sheet->columns;
    table_text(table, &matrices->label, text_corner(corner, sheet));
    for (size_t slot = 0; slot < text_cut_slots(&matrices->columns); slot++) {
        size_t column = text_cut_place(&matrices->columns, slot);
        size_t number = columns->first + column;
        if (text_cut_between(&matrices->columns, slot)) {
            table_text(table, &matrices->between, ellipsis);
        } else if (!matrices->index_width) {
            text_label(&table->cell, columns, column, matrices->cell.width);
            table_put(table, &matrices->cell);
        } else if (columns->first + columns->size > 10 && number % 5 != 0) {
            table_text(table, &matrices->cell,
                       ""); /* two-digit numbers would touch: every fifth has one */
        } else {
            buf_format(&table->cell, "%zu", number % 100);
            table_put(table, &matrices->cell);
        }
    }
}

static void add_number(struct matrices *matrices, const struct colour_norm *norm, float value,
                       const char *text)
{
    char number[NUMERAL_BYTES];
    const struct text_heat *heat = &matrices->heat;
    if (!text && isnan(value)) { /* missing, as of the last token's next one */
        table_text(&matrices->table, &matrices->cell, "");
        return;
    }
    numeral_write(number, matrices->numeral, value);
    table_heated(&matrices->table, &matrices->cell, text ? text : number,
                 heat->colours || heat->shades ? norm_level(norm, value) : 0);
}

/* An ellipsis stands for visible numbers: if all of them are masked, there is none. */
static void add_row(struct matrices *matrices, size_t index, size_t row_slot)
{
    const struct sheet *sheet = &matrices->sheets[index];
    struct table *table = &matrices->table;
    bool between = text_cut_between(&matrices->rows, row_slot);
    size_t row = text_cut_place(&matrices->rows, row_slot);
    size_t last_row = between ? text_cut_place(&matrices->rows, row_slot + 1) - 1 : row;
    struct colour_norm norm =
        matrices->norms ? matrices->norms[index] : norm_of_row(&matrices->heat.norms, sheet, row);
    if (!between && matrices->index_width)
        buf_format(&table->cell, "%*zu ", (int)matrices->index_width - 1,
                   axis_number(&sheet->rows, row));
    buf_text(&table->cell, between ? ellipsis : sheet->rows.labels[row].text);
    table_put(table, &matrices->label);
    for (size_t slot = 0; slot < text_cut_slots(&matrices->columns); slot++) {
        size_t column = text_cut_place(&matrices->columns, slot);
        bool middle = text_cut_between(&matrices->columns, slot);
        bool cut = between || middle;
        size_t last = axis_number(&sheet->rows, last_row);
        bool hidden = cut ? sheet->causal && sheet->columns.first + column > last
                          : sheet_hides(sheet, row, column);
        if (hidden || cut)
            table_text(table, middle ? &matrices->between : &matrices->cell,
                       hidden ? "" : ellipsis);
        else
            add_number(matrices, &norm, sheet_cell(sheet, row, column),
                       sheet_text(sheet, row, column));
    }
}

static void write_tables(struct matrices *matrices)
{
    enum { HEADER = -1 }; /* the line above the rows */
    int slots = (int)text_cut_slots(&matrices->rows);
    for (size_t first = 0; first < matrices->count; first += matrices->side_by_side) {
        size_t end = num_min(first + matrices->side_by_side, matrices->count);
        stream_char(matrices->table.out, '\n');
        for (int slot = HEADER; slot < slots; slot++) {
            for (size_t i = first; i < end; i++) {
                if (i > first)
                    table_gap(&matrices->table, TEXT_BLOCK_GAP);
                if (slot == HEADER)
                    add_header(matrices, &matrices->sheets[i]);
                else
                    add_row(matrices, i, (size_t)slot);
            }
            table_end(&matrices->table);
        }
    }
}

/* Collect the sheets of a tensor and choose their colours. */
static int open_matrices(struct matrices *matrices, const struct report *report,
                         const struct kept *kept, const struct place *place, struct arena *arena,
                         struct err *err)
{
    size_t count = kept_sheet_count(kept);
    struct extent extent = {FLT_MAX, -FLT_MAX};
    struct sheet *sheets = arena_alloc(arena, count, sizeof *sheets, err);
    for (size_t i = 0; sheets && i < count; i++) {
        sheets[i] = kept_sheet(report, kept, i);
        extent = extent_join(extent, extent_of_sheet(&sheets[i]));
    }
    if (!sheets)
        return -1;
    struct text_heat *heat = &matrices->heat;
    matrices->sheets = sheets;
    matrices->count = count;
    matrices->extent = extent.low > extent.high ? (struct extent){0, 0} : extent;
    matrices->table.heat = heat;
    text_heat_begin(heat, matrices->table.out, extent, sheets->fraction, place);
    if ((!heat->colours && !heat->shades) || heat->norms.range != RANGE_HEAD)
        return 0;
    matrices->norms = arena_alloc(arena, count, sizeof *matrices->norms, err);
    for (size_t i = 0; i < count && matrices->norms; i++)
        matrices->norms[i] = norm_of_sheet(&heat->norms, &sheets[i]);
    return matrices->norms ? 0 : -1;
}

/* Write a heading, and the heads as tables, side by side if they fit. */
static int write_tensor(struct stream *out, const struct report *report, const struct kept *kept,
                        const struct place *place, struct err *err)
{
    struct arena arena = {0};
    struct matrices matrices = {.table = {.out = out}};
    int failed = open_matrices(&matrices, report, kept, place, &arena, err) ||
                 write_heading(out, matrices.sheets, place->columns, err);
    if (!failed) {
        fit_matrices(&matrices, place);
        failed = write_note(out, &matrices.rows, &matrices.columns, place->columns, err);
    }
    if (!failed) {
        write_tables(&matrices);
        if (!matrices.heat.numbers) {
            stream_char(out, '\n');
            text_heat_legend(&matrices.table.line, &matrices.heat);
            table_end(&matrices.table);
        }
        failed = table_close(&matrices.table, err);
    }
    arena_release(&arena);
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

/* Write the rows of facts above the tables of a report without a title. */
static bool write_rows(struct stream *out, const struct frame *facts)
{
    bool any = false;
    for (size_t i = 0; facts && i < facts->count; i++) {
        const struct column *row = &facts->columns[i];
        char number[NUM_SIZE_BYTES];
        const char *text = number;
        if (row->kind == COLUMN_TEXT)
            text = column_text(row, 0, true);
        else if (row->unit)
            num_size(number, (size_t)column_integer(row, 0));
        else
            snprintf(number, sizeof number, "%lld", column_integer(row, 0));
        if (!row->title || !text)
            continue;
        stream_format(out, "%-14s %s\n", row->title, text);
        any = true;
    }
    return any;
}

enum { RULE_WIDTH = 80 }; /* of a page without a width */

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
        if (write_tensor(out, report, &report->tensors[i], place, err))
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
