/* frame_text.c: a frame as a table to read:
 *
 *     token  text   logprob  surprisal
 *         0  Life
 *         1  is     -1.2346     1.2346
 *
 * Columns are as wide as their cells. Where a line is too long for the page, headers become brief,
 * and the columns that may shrink do; then columns move to another table below, which repeats the
 * keys. Rows in the middle of a long table are left out.
 */
#include "write/text_page.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"
#include "write/table.h"
#include "write/text_line.h"

enum { GAP = 2, SHRINK_LEAST = 4, CELL_BYTES = 64 };

static const double SMALL = 0.5; /* of the last decimal: smaller numbers are written as 1.2e-05 */

struct columns {
    const struct frame *frame;
    const struct place *place;
    struct text_cut cut; /* of the rows */
    struct table_column *layout;
    struct text_heat *heats; /* [count] */
    size_t *shown;           /* [count] indices into the frame's columns */
    size_t count;
    bool is_brief;
    bool titled; /* some column has a title */
};

static const struct column *column_at(const struct columns *columns, size_t index)
{
    return &columns->frame->columns[columns->shown[index]];
}

static bool is_text(const struct column *column)
{
    return column->kind == COLUMN_TEXT || column->kind == COLUMN_LABEL;
}

static bool is_brief(const struct columns *columns, const struct column *column)
{
    return columns->is_brief && column->brief;
}

static const char *cell_text(char text[CELL_BYTES], const struct columns *columns,
                             const struct column *column, size_t row)
{
    int digits = column->digits - is_brief(columns, column);
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

static void fit(struct columns *columns)
{
    char text[CELL_BYTES];
    for (size_t i = 0; i < columns->count; i++) {
        const struct column *column = column_at(columns, i);
        bool left = is_text(column) && !(column->flags & COLUMN_RIGHT);
        struct table_column *layout = &columns->layout[i];
        *layout = (struct table_column){.title = is_brief(columns, column) ? column->brief
                                                 : column->title           ? column->title
                                                                           : column->name,
                                        .gap = i || columns->frame->heading ? GAP : 0,
                                        .left = left,
                                        .shortens = column->flags & COLUMN_SHRINKS,
                                        .tight = true};
        columns->titled |= *layout->title;
        table_fit(layout, layout->title);
        for (size_t slot = 0; slot < text_cut_slots(&columns->cut); slot++)
            table_fit(layout,
                      cell_text(text, columns, column, text_cut_place(&columns->cut, slot)));
    }
}

static int heat_columns(struct columns *columns, struct stream *out, struct arena *arena,
                        struct err *err)
{
    columns->heats = arena_alloc(arena, columns->count, sizeof *columns->heats, err);
    for (size_t i = 0; columns->heats && i < columns->count; i++) {
        const struct column *column = column_at(columns, i);
        struct extent extent = {0, 0};
        for (size_t row = 0; row < columns->frame->rows.size; row++) {
            float value = (float)column_number(column, row);
            if (isfinite(value))
                extent = extent_join(extent, (struct extent){value, value});
        }
        text_heat_begin(&columns->heats[i], out, extent, column->fraction, columns->place);
    }
    return columns->heats ? 0 : -1;
}

/* The rows' labels as a text to read, each on the colour of its number; nothing without colours. */
static int write_running(struct stream *out, struct columns *columns, struct err *err)
{
    const struct axis *rows = &columns->frame->rows;
    size_t index = 0;
    size_t used = 0;
    struct buf line = {0};
    int failed = 0;
    while (index < columns->count && !(column_at(columns, index)->flags & COLUMN_COLOURED))
        index++;
    if (index == columns->count || !columns->heats[index].colours)
        return 0;
    struct text_heat *heat = &columns->heats[index];
    for (size_t row = 0; row < rows->size && !failed; row++) {
        const char *text = rows->labels[row].text;
        float value = (float)column_number(column_at(columns, index), row);
        size_t width = utf8_width(text, strlen(text)) + 1;
        if (columns->place->columns && used && used + width > columns->place->columns) {
            failed = text_end(out, &line, err);
            used = 0;
        }
        if (!isnan(value))
            text_heat_set(&line, heat, tone_level(&heat->tones.whole, value));
        buf_text(&line, text);
        text_heat_reset(&line, heat);
        buf_char(&line, ' ');
        used += width;
    }
    failed = failed || text_end(out, &line, err);
    stream_char(out, '\n');
    buf_release(&line);
    return failed ? -1 : 0;
}

static void write_cell(struct table *table, struct columns *columns, size_t index, size_t row)
{
    char text[CELL_BYTES];
    const struct column *column = column_at(columns, index);
    const char *cell = cell_text(text, columns, column, row);
    struct text_heat *heat = &columns->heats[index];
    bool heated = (heat->colours || heat->shades) && column->flags & COLUMN_COLOURED;
    table->heat = heat;
    if (heated && *cell)
        table_heated(table, cell,
                     tone_level(&heat->tones.whole, (float)column_number(column, row)));
    else if (column->kind == COLUMN_LABEL) { /* shortened so that names of models differ */
        const struct axis axis = {column->name, columns->frame->rows.size, column->values, 0};
        text_label(&table->cell, &axis, row, columns->layout[index].width);
        table_put(table);
    } else
        table_text(table, cell);
}

/* A table of the keys and the columns from `first` up to `end`. */
static void write_block(struct table *table, struct columns *columns, struct table_column *block,
                        size_t keys, size_t first, size_t end)
{
    size_t count = keys + end - first;
    for (size_t i = 0; i < count; i++)
        block[i] = columns->layout[i < keys ? i : first + i - keys];
    table->columns = block;
    table->count = count;
    if (columns->titled)
        table_titles(table);
    for (size_t slot = 0; slot < text_cut_slots(&columns->cut); slot++) {
        size_t row = text_cut_place(&columns->cut, slot);
        if (text_cut_between(&columns->cut, slot)) {
            table_text(table, "…");
            table_end(table);
            continue;
        }
        for (size_t i = 0; i < count; i++)
            write_cell(table, columns, i < keys ? i : first + i - keys, row);
        table_end(table);
    }
}

/* The columns that come first and are keys: every block repeats them. */
static size_t count_keys(const struct columns *columns)
{
    size_t keys = 0;
    while (keys < columns->count && column_at(columns, keys)->flags & COLUMN_KEY)
        keys++;
    return keys < columns->count ? keys : 0;
}

static size_t width_of(const struct columns *columns, size_t count)
{
    size_t width = 0;
    for (size_t i = 0; i < count; i++)
        width += columns->layout[i].gap + columns->layout[i].width;
    return width;
}

static void write_blocks(struct table *table, struct columns *columns, struct table_column *block)
{
    size_t keys = count_keys(columns);
    size_t page = columns->place->columns;
    size_t before = width_of(columns, keys);
    for (size_t first = keys, end; first < columns->count; first = end) {
        size_t width = before;
        for (end = first; end < columns->count; end++) {
            width += columns->layout[end].gap + columns->layout[end].width;
            if (page && width > page && end > first)
                break;
        }
        if (first > keys)
            stream_char(table->out, '\n');
        write_block(table, columns, block, keys, first, end);
    }
}

/* A text that is wider than the page beside the keys ends in an ellipsis. */
static void shrink(struct columns *columns)
{
    size_t keys = count_keys(columns);
    size_t page = columns->place->columns;
    size_t taken = width_of(columns, keys) + GAP + SHRINK_LEAST;
    for (size_t i = columns->count; i-- > 0;) {
        struct table_column *layout = &columns->layout[i];
        if (column_at(columns, i)->flags & COLUMN_SHRINKS)
            table_narrow(columns->layout, columns->count, i, SHRINK_LEAST, page);
        if (i < keys || !is_text(column_at(columns, i)) || page < taken)
            continue;
        size_t room = page - taken + SHRINK_LEAST;
        layout->shortens |= layout->width > room;
        layout->width = num_min(layout->width, room);
    }
}

static int choose_columns(struct columns *columns, struct arena *arena, struct err *err)
{
    const struct frame *frame = columns->frame;
    columns->shown = arena_alloc(arena, frame->count, sizeof *columns->shown, err);
    columns->layout = arena_alloc(arena, frame->count, sizeof *columns->layout, err);
    for (size_t i = 0; columns->shown && i < frame->count; i++)
        if (!(frame->columns[i].flags & COLUMN_DATA_ONLY))
            columns->shown[columns->count++] = i;
    return columns->shown && columns->layout ? 0 : -1;
}

int frame_text_write(struct stream *out, const struct frame *frame, const struct place *place,
                     struct err *err)
{
    struct arena arena = {0};
    struct table table = {.out = out, .page = place->columns};
    struct columns columns = {.frame = frame, .place = place};
    columns.cut = text_cut_lines(frame->rows.size, place->lines);
    struct table_column *block = arena_alloc(&arena, frame->count, sizeof *block, err);
    int failed =
        !block || choose_columns(&columns, &arena, err) || heat_columns(&columns, out, &arena, err);
    if (!failed && frame->running)
        failed = write_running(out, &columns, err);
    if (!failed) {
        if (frame->heading)
            stream_format(out, "%s\n", frame->heading);
        fit(&columns);
        columns.is_brief = place->columns && width_of(&columns, columns.count) > place->columns;
        if (columns.is_brief)
            fit(&columns);
        shrink(&columns);
        if (text_is_cut(&columns.cut))
            stream_format(out, "(%zu of %zu %ss shown; --full shows all)\n",
                          columns.cut.front + columns.cut.back, columns.cut.size, frame->rows.name);
        write_blocks(&table, &columns, block);
    }
    failed |= table_close(&table, failed ? NULL : err);
    if (frame->note && !failed) {
        stream_char(out, '\n');
        text_wrap(out, frame->note, 0, 0, place->columns);
    }
    arena_release(&arena);
    return failed ? -1 : 0;
}
