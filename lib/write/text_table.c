/* text_table.c: tables for people, with colours below numbers or in place of them. */
#include "write/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"

static const char ellipsis[] = "…";

/* --- colours ---------------------------------------------------------------------------------- */

/* Give the line the terminal's own colours, or those of a level; no effect without colours. */
static void reset_heat(struct buf *line, struct text_heat *heat)
{
    if (heat->set)
        buf_text(line, "\x1b[0m");
    heat->set = 0;
}

/* Terminals with 256 colours have a cube of 6 · 6 · 6 after the user's first 16: 0, 95, 135, …. */
enum { CUBE_FIRST = 16 };

static int step_of(uint8_t byte)
{
    return byte < 48 ? 0 : byte < 115 ? 1 : (byte - 35) / 40;
}

static void set_heat(struct buf *line, struct text_heat *heat, unsigned level)
{
    struct colour ground = heat->ramp.colours[level];
    int letters = colour_ink(ground).red ? 231 : 16; /* white or black, which no theme changes */
    if (!heat->colours || level == heat->set)
        return;
    if (level == 0)
        reset_heat(line, heat);
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

/* The character for a level, by its distance from 0; a blank near 0. */
static const char *shade_of(const struct text_heat *heat, unsigned level)
{
    enum { NEAR = 10 };
    static const char *const shades[] = {" ", "░", "▒", "▓", "█"};
    bool two_sided = heat->norms.whole.two_sided;
    int distance = abs((int)level - (two_sided ? RAMP_LEVELS / 2 : 1));
    int whole = two_sided ? RAMP_LEVELS / 2 : RAMP_LEVELS;
    return level == 0 || distance < NEAR ? " " : shades[1 + distance * 4 / (whole + 1)];
}

/* -1.03 ▓▒░  ░▒▓ ≥ 1.03 */
void text_heat_legend(struct buf *line, struct text_heat *heat)
{
    enum { STEPS = 24 };
    const struct colour_norms *norms = &heat->norms;
    struct extent ends = norm_ends(&norms->whole);
    bool known = norms->range == RANGE_ALL;
    if (known)
        buf_format(line, "%s%.4g ", norms_below(norms), (double)ends.low);
    else
        buf_text(line, norms->whole.two_sided ? "-largest " : "0 ");
    for (unsigned i = 0; i < STEPS; i++) {
        unsigned level = 1 + i * (RAMP_LEVELS - 2) / (STEPS - 1);
        set_heat(line, heat, level);
        buf_text(line, heat->colours ? " " : shade_of(heat, level));
    }
    reset_heat(line, heat);
    if (known)
        buf_format(line, " %s%.4g", norms_above(norms), (double)ends.high);
    else
        buf_format(line, " largest of the %s", norms->range == RANGE_ROW ? "row" : "head");
}

void text_heat_begin(struct text_heat *heat, struct stream *out, struct extent extent,
                     bool fraction, const struct place *place)
{
    const struct style *style = place->style ? place->style : &style_default;
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

void table_gap(struct table *table, size_t gap)
{
    if (table->heat)
        reset_heat(&table->line, table->heat);
    text_blanks(&table->line, gap);
}

void table_text(struct table *table, const struct table_column *column, const char *text)
{
    struct buf *line = &table->line;
    size_t size = strlen(text);
    size_t width = column->width || column->shortens ? utf8_width(text, size) : 0;
    table_gap(table, column->gap);
    if (column->shortens && width > column->width) {
        (column->left ? text_left : text_right)(line, text, column->width);
        return;
    }
    text_blanks_up_to(line, column->left ? 0 : column->width, width);
    buf_bytes(line, text, size);
    text_blanks_up_to(line, column->left ? column->width : 0, width);
}

void table_put(struct table *table, const struct table_column *column)
{
    struct buf *cell = &table->cell;
    table->line.out_of_memory |= cell->out_of_memory;
    table_text(table, column, cell->size ? cell->bytes : "");
    buf_clear(cell);
}

void table_heated(struct table *table, const struct table_column *column, const char *number,
                  unsigned level)
{
    struct buf *line = &table->line;
    struct text_heat *heat = table->heat;
    size_t whole = column->gap + column->width;
    size_t size = heat->numbers ? utf8_width(number, strlen(number)) : 0;
    if (column->shortens)
        size = num_min(size, column->width);
    size_t heated = !heat->numbers                  ? column->width
                    : column->tight || heat->shades ? size + 1
                                                    : num_max(whole, size);
    text_blanks_up_to(line, whole, heated);
    set_heat(line, heat, level);
    for (size_t i = size; i < heated; i++)
        buf_text(line, heat->shades ? shade_of(heat, level) : " ");
    if (heat->numbers && column->shortens)
        text_left(line, number, size);
    else if (heat->numbers)
        buf_text(line, number);
    if (column->tight)
        reset_heat(line, heat);
}

void table_end(struct table *table)
{
    struct err err = {0};
    table_gap(table, 0);
    text_shorten(&table->line, table->page);
    text_end(table->out, &table->line, &err);
}

int table_close(struct table *table, struct err *err)
{
    int failed = buf_check(&table->line, err);
    buf_release(&table->line);
    buf_release(&table->cell);
    return failed;
}

/* --- a table ----------------------------------------------------------------------------------
 *
 *     token  text   logprob  surprisal
 *         0  Life
 *         1  is     -1.2346     1.2346
 *
 * Columns are as wide as their cells. If a line is too long for the page, headers become brief, and
 * the columns that may shrink do; then columns move to another table below, which repeats the keys.
 * Rows in the middle of a long table are left out.
 */

enum { GAP = 2, SHRINK_LEAST = 4, CELL_BYTES = 64 };

static const double SMALL = 0.5; /* of the last decimal: smaller numbers are written as 1.2e-05 */

struct shown_column {
    const struct column *column;
    const char *title;
    struct table_column layout;
    struct text_heat heat;
};

struct shown_table {
    const struct frame *frame;
    const struct place *place;
    struct text_cut cut; /* of the rows */
    struct shown_column *columns;
    size_t count, keys; /* the first columns are keys: every block repeats them */
    bool is_brief;
    bool titled; /* some column has a title */
};

static bool is_text(const struct column *column)
{
    return column->kind == COLUMN_TEXT || column->kind == COLUMN_LABEL;
}

/* The text of a cell, some in the memory given. */
static const char *cell_text(char text[CELL_BYTES], const struct column *column, size_t row,
                             bool brief)
{
    int digits = column->digits - (brief && column->brief);
    double number = column_number(column, row);
    if (is_text(column)) {
        const char *found = column_text(column, row, true);
        return found ? found : "";
    }
    if (isnan(number))
        return "";
    if (column->kind == COLUMN_INTEGER)
        snprintf(text, CELL_BYTES, "%lld", column_integer(column, row));
    else if (number != 0 && fabs(number) < SMALL * pow(10, -digits) &&
             !(column->flags & COLUMN_PLAIN))
        snprintf(text, CELL_BYTES, "%.1e", number);
    else
        snprintf(text, CELL_BYTES, "%.*f", digits, num_shown(number, digits));
    return text;
}

/* Choose the columns that are shown, and their colours. */
static int open_table(struct shown_table *shown, struct stream *out, struct arena *arena,
                      struct err *err)
{
    const struct frame *frame = shown->frame;
    shown->columns = arena_alloc(arena, frame->count, sizeof *shown->columns, err);
    if (!shown->columns)
        return -1;
    for (size_t i = 0; i < frame->count; i++) {
        const struct column *column = &frame->columns[i];
        struct extent extent = {0, 0};
        if (column->flags & COLUMN_DATA_ONLY)
            continue;
        for (size_t row = 0; row < frame->rows.size; row++) {
            float value = (float)column_number(column, row);
            if (isfinite(value))
                extent = extent_join(extent, (struct extent){value, value});
        }
        struct shown_column *next = &shown->columns[shown->count++];
        next->column = column;
        text_heat_begin(&next->heat, out, extent, column->fraction, shown->place);
    }
    while (shown->keys < shown->count && shown->columns[shown->keys].column->flags & COLUMN_KEY)
        shown->keys++;
    if (shown->keys == shown->count)
        shown->keys = 0;
    return 0;
}

/* Width of the first columns. */
static size_t width_of(const struct shown_table *shown, size_t count)
{
    size_t width = 0;
    for (size_t i = 0; i < count; i++)
        width += shown->columns[i].layout.gap + shown->columns[i].layout.width;
    return width;
}

/* Make columns as wide as their titles and cells. */
static void fit(struct shown_table *shown, bool brief)
{
    char cell[CELL_BYTES];
    shown->is_brief = brief;
    for (size_t i = 0; i < shown->count; i++) {
        const struct column *column = shown->columns[i].column;
        const char *text = brief && column->brief ? column->brief
                           : column->title        ? column->title
                                                  : column->name;
        size_t width = utf8_width(text, strlen(text));
        shown->titled |= *text;
        shown->columns[i].title = text;
        shown->columns[i].layout =
            (struct table_column){.gap = i || shown->frame->heading ? GAP : 0,
                                  .left = is_text(column) && !(column->flags & COLUMN_RIGHT),
                                  .shortens = column->flags & COLUMN_SHRINKS,
                                  .tight = true};
        for (size_t slot = 0; slot < text_cut_slots(&shown->cut); slot++) {
            text = cell_text(cell, column, text_cut_place(&shown->cut, slot), brief);
            width = num_max(width, utf8_width(text, strlen(text)));
        }
        shown->columns[i].layout.width = width;
    }
}

/* Narrow the columns that may shrink to the page. Other texts are at most as wide as the page has
 * room next to the keys. */
static void shrink(struct shown_table *shown)
{
    size_t page = shown->place->columns;
    size_t taken = width_of(shown, shown->keys) + GAP + SHRINK_LEAST;
    for (size_t i = shown->count; i-- > 0;) {
        const struct column *column = shown->columns[i].column;
        struct table_column *layout = &shown->columns[i].layout;
        size_t others = width_of(shown, shown->count) - layout->width;
        if (page && column->flags & COLUMN_SHRINKS)
            layout->width =
                num_min(layout->width, num_max(page > others ? page - others : 0, SHRINK_LEAST));
        if (i < shown->keys || !is_text(column) || page < taken)
            continue;
        size_t room = page - taken + SHRINK_LEAST;
        layout->shortens |= layout->width > room;
        layout->width = num_min(layout->width, room);
    }
}

/* Write the rows' labels as a text to read, each on the colour of its number; nothing without
 * colours. */
static int write_running(struct stream *out, struct shown_table *shown, struct err *err)
{
    const struct axis *rows = &shown->frame->rows;
    size_t page = shown->place->columns;
    size_t index = 0;
    size_t used = 0;
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
        reset_heat(&line, heat);
        buf_char(&line, ' ');
        used += width;
    }
    failed = failed || text_end(out, &line, err);
    stream_char(out, '\n');
    buf_release(&line);
    return failed ? -1 : 0;
}

static void write_cell(struct table *table, struct shown_table *shown, size_t index, size_t row)
{
    char text[CELL_BYTES];
    const struct column *column = shown->columns[index].column;
    const struct table_column *layout = &shown->columns[index].layout;
    const char *cell = cell_text(text, column, row, shown->is_brief);
    struct text_heat *heat = &shown->columns[index].heat;
    bool heated = (heat->colours || heat->shades) && column->flags & COLUMN_COLOURED;
    table->heat = heat;
    if (heated && *cell) {
        float value = (float)column_number(column, row);
        table_heated(table, layout, cell, norm_level(&heat->norms.whole, value));
    } else if (column->kind == COLUMN_LABEL) { /* shortened so that names of models differ */
        const struct axis axis = {column->name, shown->frame->rows.size, column->values, 0};
        text_label(&table->cell, &axis, row, layout->width);
        table_put(table, layout);
    } else {
        table_text(table, layout, cell);
    }
}

/* Write a table of the keys and the columns from `first` up to `end`. */
static void write_block(struct table *table, struct shown_table *shown, size_t first, size_t end)
{
    const struct shown_column *columns = shown->columns;
    for (size_t i = 0; i < end && shown->titled; i++)
        if (i < shown->keys || i >= first)
            table_text(table, &columns[i].layout, columns[i].title);
    if (shown->titled)
        table_end(table);
    for (size_t slot = 0; slot < text_cut_slots(&shown->cut); slot++) {
        size_t row = text_cut_place(&shown->cut, slot);
        bool between = text_cut_between(&shown->cut, slot);
        if (between)
            table_text(table, &columns[shown->keys ? 0 : first].layout, ellipsis);
        for (size_t i = 0; i < end && !between; i++)
            if (i < shown->keys || i >= first)
                write_cell(table, shown, i, row);
        table_end(table);
    }
}

static void write_blocks(struct table *table, struct shown_table *shown)
{
    size_t page = shown->place->columns;
    for (size_t first = shown->keys, end; first < shown->count; first = end) {
        size_t width = width_of(shown, shown->keys);
        for (end = first; end < shown->count; end++) {
            width += shown->columns[end].layout.gap + shown->columns[end].layout.width;
            if (page && width > page && end > first)
                break;
        }
        if (first > shown->keys)
            stream_char(table->out, '\n');
        write_block(table, shown, first, end);
    }
}

int frame_text_write(struct stream *out, const struct frame *frame, const struct place *place,
                     struct err *err)
{
    struct arena arena = {0};
    struct table table = {.out = out, .page = place->columns};
    struct shown_table shown = {.frame = frame, .place = place};
    const struct text_cut *cut = &shown.cut;
    shown.cut = text_cut_lines(frame->rows.size, place->lines);
    int failed =
        open_table(&shown, out, &arena, err) || (frame->running && write_running(out, &shown, err));
    if (!failed) {
        if (frame->heading)
            stream_format(out, "%s\n", frame->heading);
        fit(&shown, false);
        if (place->columns && width_of(&shown, shown.count) > place->columns)
            fit(&shown, true);
        shrink(&shown);
        if (text_is_cut(cut))
            stream_format(out, "(%zu of %zu %ss shown; --full shows all)\n", cut->front + cut->back,
                          cut->size, frame->rows.name);
        write_blocks(&table, &shown);
    }
    failed |= table_close(&table, failed ? NULL : err);
    if (frame->note && !failed) {
        stream_char(out, '\n');
        text_wrap(out, frame->note, 0, 0, place->columns);
    }
    arena_release(&arena);
    return failed ? -1 : 0;
}
