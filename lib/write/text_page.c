/* text_page.c: reports as text: the input, its tokens, and all tensors and tables.
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
#include "write/working.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/language.h"
#include "base/num.h"
#include "base/utf8.h"
#include "model/head_name.h"

static const char ellipsis[] = "…";

/* --- colours ---------------------------------------------------------------------------------- */

/* How numbers are displayed: digits, colours or shades (░▒▓█). */
struct text_heat {
    bool numbers; /* cells have digits */
    bool colours; /* cells have the colours of a terminal */
    bool shades;  /* cells without colours show levels as characters */
    enum style_depth depth;
    struct colour_norms norms;
    struct ramp ramp;
    unsigned set; /* level whose colours are switched on; 0: none */
};

/* First index of the colour cube: terminals with 256 colours have a 6 × 6 × 6 cube (0, 95, 135, …)
 * after the 16 theme colours. */
enum { CUBE_FIRST = 16 };

static int step_of(uint8_t byte)
{
    return byte < 48 ? 0 : byte < 115 ? 1 : (byte - 35) / 40;
}

/* Switch to the colours of a level; 0: to the terminal's default. Does nothing if `heat` has no
 * colours. */
static void set_heat(struct buf *line, struct text_heat *heat, unsigned level)
{
    struct colour ground = heat->ramp.colours[level];
    /* terminal colour 231 is white and 16 is black, in any theme */
    int letters = colour_ink(ground).red ? 231 : 16;
    if (!heat->colours || level == heat->set)
        return;
    if (level == 0)
        buf_text(line, "\x1b[0m");
    else if (heat->depth == DEPTH_FULL)
        buf_format(line, "\x1b[48;2;%d;%d;%d;38;5;%dm", ground.red, ground.green, ground.blue,
                   letters);
    else
        buf_format(line, "\x1b[48;5;%d;38;5;%dm",
                   CUBE_FIRST + 36 * step_of(ground.red) + 6 * step_of(ground.green) +
                       step_of(ground.blue),
                   letters);
    heat->set = level;
}

/* The shade for a level: the farther it is from the level of the number 0 (if two-sided) or of the
 * minimum, the darker. Levels near that one get a space, and so does level 0, which stands for a
 * cell without a number. */
static const char *shade_of(const struct text_heat *heat, unsigned level)
{
    enum { NEAR = 10 };
    static const char *const shades[] = {" ", "░", "▒", "▓", "█"};
    bool two_sided = heat->norms.whole.two_sided;
    int distance = abs((int)level - (two_sided ? RAMP_LEVELS / 2 : 1));
    int whole = two_sided ? RAMP_LEVELS / 2 : RAMP_LEVELS;
    return level == 0 || distance < NEAR ? " " : shades[1 + distance * 4 / (whole + 1)];
}

/* Append a legend such as "-1.03 ▓▒░  ░▒▓ ≥ 1.03". */
static void add_legend(struct buf *line, struct text_heat *heat)
{
    enum { STEPS = 24 };
    const struct colour_norms *norms = &heat->norms;
    struct extent ends = norm_ends(&norms->whole);
    bool known = norms->range == RANGE_ALL;
    if (known)
        buf_format(line, "%s%.4g ", norms_beyond(norms, false), (double)ends.low);
    else
        buf_text(line, norms->whole.two_sided ? "-largest " : "0 ");
    for (unsigned i = 0; i < STEPS; i++) {
        unsigned level = 1 + i * (RAMP_LEVELS - 2) / (STEPS - 1);
        set_heat(line, heat, level);
        buf_text(line, heat->colours ? " " : shade_of(heat, level));
    }
    set_heat(line, heat, 0);
    if (known)
        buf_format(line, " %s%.4g", norms_beyond(norms, true), (double)ends.high);
    else
        buf_format(line, " largest of the %s", norms->range == RANGE_ROW ? "row" : "head");
}

/* Choose the colours for numbers in a range (`fraction`: the numbers are fractions), and tell the
 * stream if the output has colours. */
static void begin_heat(struct text_heat *heat, struct stream *out, struct extent extent,
                       bool fraction, const struct layout *layout)
{
    const struct style *style = layout->style ? layout->style : &style_default;
    bool coloured = style->depth != DEPTH_NONE;
    enum style_cells cells = style->cells;
    if (cells == CELLS_FIT)
        cells = coloured ? CELLS_BOTH : CELLS_NUMBERS;
    *heat = (struct text_heat){
        .numbers = cells != CELLS_HEAT,
        .colours = cells != CELLS_NUMBERS && coloured,
        .shades = cells != CELLS_NUMBERS && !coloured,
        .depth = style->depth,
    };
    out->terminal.colours |= heat->colours;
    if (!heat->colours && !heat->shades)
        return;
    heat->norms = norms_of(extent, fraction, style, style->dark);
    ramp_make(&heat->ramp, heat->norms.palette);
}

/* --- cells ------------------------------------------------------------------------------------ */

struct line_cell {
    size_t gap; /* number of spaces before the cell */
    size_t width;
    bool left;     /* the text is aligned left */
    bool shortens; /* a longer text is shortened; false: it makes the cell wider */
    bool tight;    /* colour only the number and the space before it */
};

/* A table that is written line by line. If memory runs out, line_close fails. */
struct line_writer {
    struct stream *out;
    size_t page;            /* width of the page in columns; longer lines are shortened */
    struct text_heat *heat; /* colours for line_heated; NULL: no colours */
    struct buf line, cell;  /* `line`: the line so far; `cell`: the cell that line_put appends */
};

/* Append spaces without colours. */
static void line_gap(struct line_writer *lines, size_t gap)
{
    if (lines->heat)
        set_heat(&lines->line, lines->heat, 0);
    text_blanks(&lines->line, gap);
}

/* line_text appends `text` as a cell. line_put appends the contents of `cell`. line_heated appends
 * a number with the colour or shade of its level, without digits if `heat` has none. */
static void line_text(struct line_writer *lines, const struct line_cell *column, const char *text)
{
    line_gap(lines, column->gap);
    if (column->shortens || utf8_width(text, strlen(text)) <= column->width)
        text_cell(&lines->line, text, column->width, !column->left);
    else
        buf_text(&lines->line, text);
}

static void line_put(struct line_writer *lines, const struct line_cell *column)
{
    struct buf *cell = &lines->cell;
    lines->line.out_of_memory |= cell->out_of_memory;
    line_text(lines, column, cell->size ? cell->bytes : "");
    buf_clear(cell);
}

static void line_heated(struct line_writer *lines, const struct line_cell *column,
                        const char *number, unsigned level)
{
    struct buf *line = &lines->line;
    struct text_heat *heat = lines->heat;
    size_t whole = column->gap + column->width;
    size_t size = heat->numbers ? utf8_width(number, strlen(number)) : 0;
    if (column->shortens)
        size = num_min(size, column->width);
    size_t heated = !heat->numbers                  ? column->width
                    : column->tight || heat->shades ? size + 1
                                                    : num_max(whole, size);
    text_blanks(line, whole > heated ? whole - heated : 0);
    set_heat(line, heat, level);
    for (size_t i = size; i < heated; i++)
        buf_text(line, heat->shades ? shade_of(heat, level) : " ");
    if (heat->numbers && column->shortens)
        text_cell(line, number, size, false);
    else if (heat->numbers)
        buf_text(line, number);
    if (column->tight)
        set_heat(line, heat, 0);
}

static void line_end(struct line_writer *lines)
{
    struct err err = {0};
    line_gap(lines, 0);
    text_shorten(&lines->line, lines->page);
    text_end(lines->out, &lines->line, &err);
}

/* Release the memory of a table; -1 if memory ran out, so output is missing. */
static int line_close(struct line_writer *lines, struct err *err)
{
    int failed = buf_check(&lines->line, err);
    buf_release(&lines->line);
    buf_release(&lines->cell);
    return failed;
}

/* --- a table -------------------------------------------------------------------------------------
 *
 *     token  text   logprob  surprisal
 *         0  Life
 *         1  is     -1.2346     1.2346
 *
 * Columns are as wide as their cells. If a line is too long for the page, headers are abbreviated
 * and shrinkable columns shrink; remaining columns continue in another block below, which repeats
 * the keys. The middle rows of a long table are omitted. */

enum { GAP = 2, SHRINK_LEAST = 4 };

/* numbers below half a unit of the last decimal are written as 1.2e-05 */
static const double SMALL = 0.5;

struct shown_column {
    const struct column *column;
    /* name of the column in visible form, since a user's name may contain escape sequences */
    const char *name;
    const char *title;
    struct line_cell layout;
    struct text_heat heat;
};

struct shown_table {
    const struct table *table;
    const struct layout *layout;
    struct text_cut cut; /* the rows that are displayed */
    struct shown_column *columns;
    /* `count`: number of columns; the first `keys` of them are repeated in each block */
    size_t count, keys;
    bool is_brief;
    bool titled; /* some columns have titles */
};

const char *text_of_cell(char text[TEXT_CELL_BYTES], const struct column *column, size_t row,
                         bool brief)
{
    int digits = column->digits - (brief && column->brief);
    double number = column_number(column, row);
    if (column_is_text(column)) {
        const char *found = column_text(column, row, true);
        return found ? found : "";
    }
    if (isnan(number))
        return "";
    if (column->kind == COLUMN_INTEGER)
        snprintf(text, TEXT_CELL_BYTES, "%lld", column_integer(column, row));
    else if (number != 0 && fabs(number) < SMALL * pow(10, -digits) &&
             !(column->flags & COLUMN_PLAIN))
        snprintf(text, TEXT_CELL_BYTES, "%.1e", number);
    else
        snprintf(text, TEXT_CELL_BYTES, "%.*f", digits, num_shown(number, digits));
    return text;
}

static bool has_controls(const char *text)
{
    while (*text && (unsigned char)*text >= ' ' && *text != '\x7f')
        text++;
    return *text;
}

/* Return the column or, if one of its texts contains a newline or another control character, a copy
 * with its texts in visible form; otherwise a name from a file could look like more rows. NULL on
 * failure. */
static const struct column *visible_column(const struct column *column, size_t rows,
                                           struct arena *arena, struct err *err)
{
    struct label *labels = NULL;
    struct column *copy = NULL;
    for (size_t row = 0; row < rows && column_is_text(column); row++) {
        const char *text = column_text(column, row, true);
        if (!text || !has_controls(text))
            continue;
        struct buf visible = {0};
        if (!copy) {
            copy = arena_alloc(arena, 1, sizeof *copy, err);
            labels = arena_alloc(arena, rows, sizeof *labels, err);
            if (!copy || !labels)
                return NULL;
            for (size_t i = 0; i < rows; i++)
                labels[i].text = column_text(column, i, true);
            *copy = *column;
            copy->kind = COLUMN_LABEL;
            copy->values = labels;
        }
        label_line(&visible, text, strlen(text));
        labels[row].text = buf_keep(&visible, arena, err);
        if (!labels[row].text)
            return NULL;
    }
    return copy ? copy : column;
}

/* Choose the columns of a table that are displayed, and their colours. */
static int open_table(struct shown_table *shown, struct stream *out, struct arena *arena,
                      struct err *err)
{
    const struct table *table = shown->table;
    shown->columns = arena_alloc(arena, table->count, sizeof *shown->columns, err);
    if (!shown->columns)
        return -1;
    for (size_t i = 0; i < table->count; i++) {
        const struct column *column = &table->columns[i];
        struct extent extent = {0, 0};
        if (column->flags & COLUMN_DATA_ONLY)
            continue;
        for (size_t row = 0; row < table->rows.size; row++) {
            float value = (float)column_number(column, row);
            if (isfinite(value))
                extent = extent_join(extent, (struct extent){value, value});
        }
        struct shown_column *next = &shown->columns[shown->count++];
        struct buf name = {0};
        label_line(&name, column->name, strlen(column->name));
        next->column = visible_column(column, table->rows.size, arena, err);
        next->name = buf_keep(&name, arena, err);
        if (!next->name || !next->column)
            return -1;
        begin_heat(&next->heat, out, extent, column->fraction, shown->layout);
    }
    while (shown->keys < shown->count && shown->columns[shown->keys].column->flags & COLUMN_KEY)
        shown->keys++;
    if (shown->keys == shown->count)
        shown->keys = 0;
    return 0;
}

/* The width of the first `count` columns of a table. */
static size_t width_of(const struct shown_table *shown, size_t count)
{
    size_t width = 0;
    for (size_t i = 0; i < count; i++)
        width += shown->columns[i].layout.gap + shown->columns[i].layout.width;
    return width;
}

/* Make each column as wide as its title and its widest cell. */
static void fit(struct shown_table *shown, bool brief)
{
    char cell[TEXT_CELL_BYTES];
    shown->is_brief = brief;
    for (size_t i = 0; i < shown->count; i++) {
        const struct column *column = shown->columns[i].column;
        const char *text = brief && column->brief ? column->brief
                           : column->title        ? column->title
                                                  : shown->columns[i].name;
        size_t width = utf8_width(text, strlen(text));
        shown->titled |= *text;
        shown->columns[i].title = text;
        shown->columns[i].layout =
            (struct line_cell){.gap = i || shown->table->heading ? GAP : 0,
                               .left = column_is_text(column) && !(column->flags & COLUMN_RIGHT),
                               .shortens = column->flags & COLUMN_SHRINKS,
                               .tight = true};
        for (size_t slot = 0; slot < text_cut_slots(&shown->cut); slot++) {
            text = text_of_cell(cell, column, text_cut_place(&shown->cut, slot), brief);
            width = num_max(width, utf8_width(text, strlen(text)));
        }
        shown->columns[i].layout.width = width;
    }
}

/* Narrow the columns that can shrink: to fit the page, or to a quarter of the page if the table
 * needs several blocks anyway. Other columns of texts are at most as wide as the space after the
 * key columns, which every block repeats. */
static void shrink(struct shown_table *shown)
{
    size_t page = shown->layout->columns;
    size_t taken = width_of(shown, shown->keys) + GAP + SHRINK_LEAST;
    for (size_t i = shown->count; i-- > 0;) {
        const struct column *column = shown->columns[i].column;
        struct line_cell *layout = &shown->columns[i].layout;
        size_t others = width_of(shown, shown->count) - layout->width;
        if (page && column->flags & COLUMN_SHRINKS)
            layout->width = num_min(layout->width, page >= others + SHRINK_LEAST
                                                       ? page - others
                                                       : num_max(page / 4, SHRINK_LEAST));
        if (i < shown->keys || !column_is_text(column) || page < taken)
            continue;
        size_t limit = page - taken + SHRINK_LEAST;
        layout->shortens |= layout->width > limit;
        layout->width = num_min(layout->width, limit);
    }
}

/* Write the labels of the rows as running text, each on the colour of its number. Without colours,
 * write nothing. */
static int write_running(struct stream *out, struct shown_table *shown, struct err *err)
{
    const struct axis *rows = &shown->table->rows;
    size_t page = shown->layout->columns;
    size_t index = 0, used = 0;
    struct buf line = {0};
    int failed = 0;
    while (index < shown->count && !(shown->columns[index].column->flags & COLUMN_COLOURED))
        index++;
    if (index == shown->count || !shown->columns[index].heat.colours)
        return 0;
    struct text_heat *heat = &shown->columns[index].heat;
    for (size_t row = 0; row < rows->size && !failed; row++) {
        const char *text = rows->labels[row].text;
        float value = (float)column_number(shown->columns[index].column, row);
        size_t width = utf8_width(text, strlen(text)) + 1;
        if (page && used && used + width > page) {
            failed = text_end(out, &line, err);
            used = 0;
        }
        if (!isnan(value))
            set_heat(&line, heat, norm_level(&heat->norms.whole, value));
        buf_text(&line, text);
        set_heat(&line, heat, 0);
        buf_char(&line, ' ');
        used += width;
    }
    failed = failed || text_end(out, &line, err);
    stream_char(out, '\n');
    buf_release(&line);
    return err_if(failed);
}

static void write_cell(struct line_writer *lines, struct shown_table *shown, size_t index,
                       size_t row)
{
    char text[TEXT_CELL_BYTES];
    const struct column *column = shown->columns[index].column;
    const struct line_cell *layout = &shown->columns[index].layout;
    const char *cell = text_of_cell(text, column, row, shown->is_brief);
    struct text_heat *heat = &shown->columns[index].heat;
    bool heated = (heat->colours || heat->shades) && column->flags & COLUMN_COLOURED;
    lines->heat = heat;
    if (heated && *cell) {
        float value = (float)column_number(column, row);
        line_heated(lines, layout, cell, norm_level(&heat->norms.whole, value));
    } else if (column->kind == COLUMN_LABEL) { /* names of models are shortened at the start */
        const struct axis axis = {column->name, shown->table->rows.size, column->values, 0};
        text_label(&lines->cell, &axis, row, layout->width);
        line_put(lines, layout);
    } else {
        line_text(lines, layout, cell);
    }
}

/* Write the table in blocks, each with the key columns and as many other columns as fit next to
 * them. */
static void write_blocks(struct line_writer *lines, struct shown_table *shown)
{
    const struct shown_column *columns = shown->columns;
    const struct text_cut *cut = &shown->cut;
    size_t page = shown->layout->columns;
    for (size_t first = shown->keys, end; first < shown->count; first = end) {
        size_t width = width_of(shown, shown->keys);
        for (end = first; end < shown->count; end++) {
            width += columns[end].layout.gap + columns[end].layout.width;
            if (page && width > page && end > first)
                break;
        }
        stream_text(lines->out, first > shown->keys ? "\n" : "");
        for (size_t line = !shown->titled; line <= text_cut_slots(cut); line++) {
            bool between = line && text_cut_between(cut, line - 1);
            if (between)
                line_text(lines, &columns[shown->keys ? 0 : first].layout, ellipsis);
            for (size_t i = 0; i < end && !between; i++) {
                if (i >= shown->keys && i < first)
                    continue; /* the column is in a block above */
                if (line)
                    write_cell(lines, shown, i, text_cut_place(cut, line - 1));
                else
                    line_text(lines, &columns[i].layout, columns[i].title);
            }
            line_end(lines);
        }
    }
}

int table_text_write(struct stream *out, const struct table *table, const struct layout *layout,
                     struct err *err)
{
    struct arena arena = {0};
    struct layout page = *layout;
    page.columns = layout->is_piped ? 0 : layout->columns;
    struct line_writer lines = {.out = out, .page = page.columns};
    struct shown_table shown = {.table = table, .layout = &page};
    const struct text_cut *cut = &shown.cut;
    shown.cut = text_cut_lines(table->rows.size, layout->lines);
    int failed =
        open_table(&shown, out, &arena, err) || (table->running && write_running(out, &shown, err));
    if (!failed) {
        if (table->heading)
            stream_format(out, "%s\n", table->heading);
        fit(&shown, false);
        if (layout->columns && width_of(&shown, shown.count) > layout->columns)
            fit(&shown, true);
        shrink(&shown);
        if (text_is_cut(cut))
            stream_format(out, "(%zu of %zu rows shown; --full shows all)\n",
                          cut->front + cut->back, cut->size);
        write_blocks(&lines, &shown);
    }
    failed |= line_close(&lines, failed ? NULL : err);
    if (table->note && !failed) {
        stream_char(out, '\n');
        text_wrap(out, table->note, 0, 0, layout->columns);
    }
    arena_release(&arena);
    return err_if(failed);
}

/* --- a tensor ------------------------------------------------------------------------------------
 *
 * All heads of a tensor have the same layout and number format: equal numbers look equal. Numbers
 * have four decimals; if they would need more than 9 columns, or would all be zeros, they are
 * written as 1.23e+08. The middle of a matrix that is too wide or too long is omitted. */

enum {
    TEXT_GAP = 2,       /* number of spaces before a column of numbers */
    TEXT_HEAT = 2,      /* width of a cell without digits: such cells are roughly square */
    TEXT_BLOCK_GAP = 4, /* number of spaces between heads that are side by side */
    TEXT_LABEL_MAX = 16,
    TEXT_CORNER_BYTES = HEAD_NAME_BYTES + 4,
    TEXT_SECOND = 2,    /* width of " │" before the second text of a pair */
    HEADING_INDENT = 2, /* indent of the continuation lines of a heading, on a narrow page */
};

struct matrices {
    const struct sheet *sheets; /* `count` sheets, one for each head, coloured by `norms` */
    struct colour_norm *norms;
    size_t count;
    struct line_writer lines;
    struct text_heat heat;
    struct text_cut rows, columns;
    /* layouts of the row label, a number, and the ellipsis (`between`) */
    struct line_cell label, cell, between;
    size_t index_width;   /* width of the numbers before labels; 0: labels have no numbers */
    struct extent extent; /* range of the visible numbers; 0 to 0: no number is visible */
    struct numeral numeral;
    size_t side_by_side;  /* number of heads in a block */
    const char *language; /* language of headings; NULL: English */
};

/* True for the slot that begins the second text of a pair. */
static bool begins_second(const struct axis *axis, const struct text_cut *cut, size_t slot)
{
    return axis->second && slot && text_cut_place(cut, slot) >= axis->second &&
           text_cut_place(cut, slot - 1) < axis->second;
}

/* The text in the corner above a sheet: "head 3", "kv_head 1", or "" for a sheet without a head. */
static const char *text_corner(char corner[TEXT_CORNER_BYTES], const struct sheet *sheet,
                               const char *language)
{
    corner[0] = '\0';
    char name[HEAD_NAME_BYTES];
    if (sheet->head >= 0)
        snprintf(corner, TEXT_CORNER_BYTES, "%s%s", sheet->is_named ? "▸ " : "",
                 sheet_head_name(name, sheet, language));
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

static size_t slots_width(const struct matrices *matrices)
{
    size_t places = matrices->columns.front + matrices->columns.back;
    size_t between = text_is_cut(&matrices->columns) ? matrices->cell.gap + 1 : 0;
    size_t second = matrices->sheets->columns.second ? TEXT_SECOND : 0;
    return places * (matrices->cell.gap + matrices->cell.width) + between + second;
}

/* If all columns fit only with smaller gaps, reduce the gaps; if they still do not fit, omit some
 * columns. If there is space, widen columns up to the longest label. */
static void fit_columns(struct matrices *matrices, size_t page)
{
    const struct axis *columns = &matrices->sheets->columns;
    const size_t gap = matrices->cell.gap;
    size_t slot = gap + matrices->cell.width;
    size_t label = matrices->label.width + (columns->second ? TEXT_SECOND : 0);
    size_t beside = label + gap + 1; /* width of the label and the ellipsis */
    matrices->columns = text_cut_to(columns->size, columns->size);
    bool fits = page == 0 || matrices->label.width + slots_width(matrices) <= page;
    if (!fits && gap > 1) {
        matrices->cell.gap = 1;
        fits = matrices->label.width + slots_width(matrices) <= page;
        matrices->cell.gap = fits ? 1 : gap;
    }
    if (!fits) {
        matrices->columns = text_cut_to(columns->size, page > beside ? (page - beside) / slot : 0);
    } else if (matrices->cell.gap) {
        size_t wanted = label_width(columns, &matrices->columns);
        if (page > 0)
            wanted = num_min(wanted, (page - label) / columns->size - matrices->cell.gap);
        matrices->cell.width = num_max(matrices->cell.width, wanted);
    }
}

/* Lay out the sheets. Without digits, cells are narrow: columns are numbered, and row labels begin
 * with the same numbers. */
static void fit_matrices(struct matrices *matrices, const struct layout *layout)
{
    const struct sheet *first = matrices->sheets; /* all sheets have the axes of the first */
    bool numbers = matrices->heat.numbers;
    size_t page = layout->columns;
    char text[TEXT_CORNER_BYTES];
    size_t gap = numbers ? TEXT_GAP : 0;
    matrices->label = (struct line_cell){.left = true, .shortens = true};
    matrices->cell = (struct line_cell){gap, TEXT_HEAT, .shortens = true};
    matrices->between = (struct line_cell){gap, 1};
    matrices->rows = text_cut_lines(first->rows.size, layout->lines);
    if (!numbers) /* row labels are like "12 dessert": their numbers refer to columns */
        matrices->index_width = (size_t)snprintf(text, sizeof text, "%td ",
                                                 axis_number(&first->rows, first->rows.size - 1));
    matrices->label.width = matrices->index_width + label_width(&first->rows, &matrices->rows);
    for (size_t i = 0; i < matrices->count; i++) {
        const char *corner = text_corner(text, &matrices->sheets[i], matrices->language);
        matrices->label.width = num_max(matrices->label.width, utf8_width(corner, strlen(corner)));
    }
    if (numbers) {
        struct extent extent = matrices->extent;
        char number[NUMERAL_BYTES];
        matrices->numeral =
            numeral_between(extent.low, extent.high, first->display.whole ? 0 : NUMERAL_DIGITS);
        matrices->cell.width = num_max(numeral_write(number, matrices->numeral, extent.low),
                                       numeral_write(number, matrices->numeral, extent.high));
        if (first->display.texts) /* cells show texts instead of numbers */
            matrices->cell.width = 1;
        for (size_t i = 0; first->display.texts && i < first->rows.size * first->columns.size;
             i++) {
            size_t width = utf8_width(first->display.texts[i], strlen(first->display.texts[i]));
            matrices->cell.width = num_max(matrices->cell.width, num_min(width, TEXT_LABEL_MAX));
        }
    } else {
        matrices->label.width++; /* a space before the first cell */
    }
    fit_columns(matrices, page);
    size_t block = matrices->label.width + slots_width(matrices) + TEXT_BLOCK_GAP;
    size_t blocks = (page + TEXT_BLOCK_GAP) / block;
    matrices->side_by_side = num_max(num_min(blocks, matrices->count), 1);
}

/* Write a heading such as "weights · layer 0 · rows: query, columns: key" and, on the next line,
 * "(24 of 60 rows, 9 of 60 columns shown; --full shows all)". */
static int write_heading(const struct matrices *matrices, size_t width, struct err *err)
{
    const char *language = matrices->language;
    const struct sheet *sheet = matrices->sheets;
    const struct text_cut *rows = &matrices->rows, *columns = &matrices->columns;
    struct buf line = {0};
    buf_text(&line, sheet->name);
    if (sheet->layer >= 0)
        buf_format(&line, say(language, " · layer %d"), sheet->layer);
    if (sheet->mean_of_layers)
        buf_text(&line, say(language, " · mean of layers"));
    if (sheet->mean_of_heads)
        buf_format(&line, say(language, " · mean of %ss"),
                   say(language, head_word(sheet->shared_by)));
    sheet_add_sharing(&line, sheet, matrices->count, language);
    buf_format(&line, say(language, " · rows: %s, columns: %s"), say(language, sheet->rows.name),
               say(language, sheet->columns.name));
    sheet_add_joined(&line, sheet, language);
    if (text_is_cut(rows))
        buf_format(&line, say(language, "\n(%zu of %zu rows"), rows->front + rows->back,
                   rows->size);
    if (text_is_cut(columns))
        buf_format(
            &line,
            say(language, text_is_cut(rows) ? ", %zu of %zu columns" : "\n(%zu of %zu columns"),
            columns->front + columns->back, columns->size);
    if (text_is_cut(rows) || text_is_cut(columns))
        buf_text(&line, say(language, " shown; --full shows all)"));
    int failed = buf_check(&line, err);
    if (!failed)
        text_wrap(matrices->lines.out, line.bytes, 0, HEADING_INDENT, width);
    buf_release(&line);
    return failed;
}

/* Append the label of a column or, above narrow cells, its number. If there are more than 10 narrow
 * columns, only every fifth has a number. */
static void add_title(struct matrices *matrices, const struct axis *columns, size_t column)
{
    struct buf *cell = &matrices->lines.cell;
    size_t number = columns->first + column;
    if (!matrices->index_width)
        text_label(cell, columns, column, matrices->cell.width);
    else if (columns->first + columns->size <= 10 || number % 5 == 0)
        buf_format(cell, "%zu", number % 100); /* a narrow cell is two columns wide: room for two
                                                * digits */
    line_put(&matrices->lines, &matrices->cell);
}

static void add_number(struct matrices *matrices, const struct sheet *sheet, size_t row,
                       size_t column, const struct colour_norm *norm)
{
    char number[NUMERAL_BYTES] = ""; /* text of the number; "" for NaN: the cell is empty */
    float value = sheet_cell(sheet, row, column);
    const char *text = sheet_text(sheet, row, column);
    const struct text_heat *heat = &matrices->heat;
    if (!isnan(value))
        numeral_write(number, matrices->numeral, value);
    line_heated(&matrices->lines, &matrices->cell, text ? text : number,
                heat->colours || heat->shades ? norm_level(norm, value) : 0);
}

/* special lines: HEADER above the rows, RULE above the second text of a pair */
enum { HEADER = -1, RULE = -2 };

/* Append a line of a sheet: slot `which` of its rows, HEADER or RULE. An ellipsis replaces omitted
 * numbers, unless the causal mask hides all of them. */
static void add_line(struct matrices *matrices, size_t index, int which)
{
    char corner[TEXT_CORNER_BYTES];
    const struct sheet *sheet = &matrices->sheets[index];
    const struct axis *rows = &sheet->rows, *columns = &sheet->columns;
    struct line_writer *lines = &matrices->lines;
    size_t slots = text_cut_slots(&matrices->columns), row_slot = which < 0 ? 0 : (size_t)which;
    size_t row = text_cut_place(&matrices->rows, row_slot);
    bool between = which >= 0 && text_cut_between(&matrices->rows, row_slot);
    size_t last_row = between ? text_cut_place(&matrices->rows, row_slot + 1) - 1 : row;
    struct colour_norm norm = matrices->norms[index];
    if (which >= 0 && matrices->heat.norms.range == RANGE_ROW)
        norm = norm_of_row(&matrices->heat.norms, sheet, row);
    if (which >= 0 && !between && matrices->index_width && axis_number(rows, row) >= 0)
        buf_format(&lines->cell, "%*td ", (int)matrices->index_width - 1, axis_number(rows, row));
    buf_text(&lines->cell, which == HEADER ? text_corner(corner, sheet, matrices->language)
                           : which == RULE ? ""
                           : between       ? ellipsis
                                           : rows->labels[row].text);
    line_put(lines, &matrices->label);
    for (size_t slot = 0; slot < slots; slot++) {
        size_t column = text_cut_place(&matrices->columns, slot);
        bool middle = text_cut_between(&matrices->columns, slot);
        const struct line_cell *cell = middle ? &matrices->between : &matrices->cell;
        if (begins_second(columns, &matrices->columns, slot)) {
            line_gap(lines, which == RULE ? 0 : TEXT_SECOND - 1);
            buf_text(&lines->line, which == RULE ? "─┼" : "│");
        }
        bool hidden = between || middle ? sheet->causal && axis_number(columns, column) >
                                                               axis_number(rows, last_row)
                                        : sheet_hides(sheet, row, column);
        if (which == RULE)
            buf_repeat(&lines->line, "─", strlen("─"), cell->gap + cell->width);
        else if (which == HEADER && !middle)
            add_title(matrices, columns, column);
        else if (which == HEADER || hidden || between || middle)
            line_text(lines, cell, hidden && which != HEADER ? "" : ellipsis);
        else
            add_number(matrices, sheet, row, column, &norm);
    }
}

/* Write one line across the sheets `first` to `end` - 1, which are side by side. */
static void write_line(struct matrices *matrices, size_t first, size_t end, int which)
{
    for (size_t i = first; i < end; i++) {
        if (i > first)
            line_gap(&matrices->lines, TEXT_BLOCK_GAP);
        add_line(matrices, i, which);
    }
    line_end(&matrices->lines);
}

static void write_tables(struct matrices *matrices)
{
    const struct axis *rows = &matrices->sheets->rows;
    for (size_t first = 0; first < matrices->count; first += matrices->side_by_side) {
        size_t end = num_min(first + matrices->side_by_side, matrices->count);
        int slots = (int)text_cut_slots(&matrices->rows);
        stream_char(matrices->lines.out, '\n');
        write_line(matrices, first, end, HEADER);
        for (int slot = 0; slot < slots; slot++) {
            if (begins_second(rows, &matrices->rows, (size_t)slot))
                write_line(matrices, first, end, RULE);
            write_line(matrices, first, end, slot);
        }
    }
}

/* Collect the sheets of a tensor, and choose their colours. */
static int open_matrices(struct matrices *matrices, const struct report *report,
                         const struct array *array, const struct layout *layout,
                         struct arena *arena, struct err *err)
{
    size_t count = array_matrix_count(array);
    struct extent extent = {FLT_MAX, -FLT_MAX};
    struct sheet *sheets = arena_alloc(arena, count, sizeof *sheets, err);
    struct text_heat *heat = &matrices->heat;
    matrices->norms = arena_alloc(arena, count, sizeof *matrices->norms, err);
    if (!sheets || !matrices->norms)
        return -1;
    for (size_t i = 0; i < count; i++) {
        sheets[i] = array_matrix(report, array, i);
        extent = extent_join(extent, extent_of_sheet(&sheets[i]));
    }
    matrices->sheets = sheets;
    matrices->count = count;
    matrices->extent = extent.low > extent.high ? (struct extent){0, 0} : extent;
    matrices->lines.heat = heat;
    begin_heat(heat, matrices->lines.out, extent, sheets->display.fraction, layout);
    for (size_t i = 0; i < count; i++)
        matrices->norms[i] = norm_of_sheet(&heat->norms, &sheets[i]);
    return 0;
}

/* Write a heading and the heads as tables, side by side if they fit. */
static int write_tensor(struct stream *out, const struct report *report, const struct array *array,
                        const struct layout *layout, struct err *err)
{
    struct arena arena = {0};
    const char *language = layout->style ? layout->style->language : NULL;
    struct matrices matrices = {.lines = {.out = out}, .language = language};
    int failed = open_matrices(&matrices, report, array, layout, &arena, err);
    if (!failed) {
        fit_matrices(&matrices, layout);
        failed = write_heading(&matrices, layout->columns, err);
    }
    if (!failed) {
        write_tables(&matrices);
        if (!matrices.heat.numbers) {
            stream_char(out, '\n');
            add_legend(&matrices.lines.line, &matrices.heat);
            line_end(&matrices.lines);
        }
        failed = line_close(&matrices.lines, err);
    }
    arena_release(&arena);
    return err_if(failed);
}

/* --- a page ----------------------------------------------------------------------------------- */

static int write_tokens(struct stream *out, const struct tokenized *tokenized, const char *title,
                        const struct layout *layout, struct err *err)
{
    struct arena arena = {0};
    struct table table;
    stream_char(out, '\n');
    int failed = tokenized_table(&table, tokenized, title, &arena, err) ||
                 table_text_write(out, &table, layout, err);
    arena_release(&arena);
    return err_if(failed);
}

const char *text_of_fact(char number[NUM_SIZE_BYTES], const struct column *fact)
{
    if (!fact->title)
        return NULL;
    if (fact->kind == COLUMN_TEXT)
        return column_text(fact, 0, true);
    if (fact->unit)
        num_size(number, (size_t)column_integer(fact, 0));
    else
        snprintf(number, NUM_SIZE_BYTES, "%lld", column_integer(fact, 0));
    return number;
}

enum { RULE_WIDTH = 80 }; /* width of a rule on a page of unlimited width */

/* Write the facts of a report without titles, above its tables. Set `*count` to the number of
 * facts. */
static int write_facts(size_t *count, struct stream *out, const struct table *facts,
                       struct err *err)
{
    struct buf line = {0};
    *count = 0;
    for (size_t i = 0; i < facts->count; i++) {
        char number[NUM_SIZE_BYTES];
        const char *text = text_of_fact(number, &facts->columns[i]);
        if (!text)
            continue;
        buf_format(&line, "%-14s ", facts->columns[i].title);
        label_line(&line, text, strlen(text));
        buf_char(&line, '\n');
        ++*count;
    }
    int failed = text_send(out, &line, err);
    buf_release(&line);
    return failed;
}

static int text_page_write(struct stream *out, const struct report *report,
                           const struct layout *layout, struct err *err)
{
    bool alone = !report->source.count;
    if (report_chapter(report))
        return text_working_write(out, report, layout, err);
    if (report->identity.index > 0) /* an empty line separates texts */
        stream_char(out, '\n');
    if (report->identity.index > 0 && !report->untitled) {
        for (size_t i = 0; i < (layout->columns ? layout->columns : RULE_WIDTH); i++)
            stream_char(out, '-');
        stream_text(out, "\n\n");
    }
    if (!report->untitled && text_titles_write(out, report, layout, err))
        return -1;
    if (layout->show_tokens &&
        (write_tokens(out, &report->text, alone ? "text" : "sentence", layout, err) ||
         (!alone && write_tokens(out, &report->source, "source", layout, err))))
        return -1;
    bool shows_arrays = report->shows_arrays || !report->table_count;

    size_t fact_count = 0;
    if (report->untitled && report->facts && write_facts(&fact_count, out, report->facts, err))
        return -1;
    /* true if neither titles nor facts precede the first table */
    bool first = report->untitled && !fact_count;

    for (size_t i = 0; i < report->array_count && shows_arrays; i++) {
        stream_char(out, '\n');
        if (write_tensor(out, report, &report->arrays[i], layout, err))
            return -1;
    }
    for (size_t i = 0; i < report->table_count; i++) {
        if (report->tables[i].flags & COLUMN_DATA_ONLY)
            continue;
        stream_text(out, first ? "" : "\n");
        first = false;
        if (table_text_write(out, &report->tables[i], layout, err))
            return -1;
    }
    return 0;
}

FORMAT_ROW(text, ".txt", "tables with four decimals, fitted to the terminal", UNIT_TEXT,
           .display = DISPLAY_CELLS | DISPLAY_COLOURS | DISPLAY_TERMINAL, .has_tokens = true,
           .show = "tokens,weights,context",
           .show_of_encoder = "tokens,enc.weights,weights,cross_weights", .for_people = true,
           .has_tables = true, .write = text_page_write)
