#include "write/table.h"

#include <string.h>

#include "base/num.h"
#include "base/utf8.h"
#include "write/text_line.h"

void table_fit(struct table_column *column, const char *text)
{
    size_t width = utf8_width(text, strlen(text));
    column->width = width > column->width ? width : column->width;
}

void table_narrow(struct table_column *columns, size_t count, size_t narrowed, size_t least,
                  size_t page)
{
    size_t beside = 0;
    for (size_t i = 0; i < count; i++)
        beside += columns[i].gap + (i == narrowed ? 0 : columns[i].width);
    size_t room = num_max(page > beside ? page - beside : 0, least);
    if (page && columns[narrowed].width > room)
        columns[narrowed].width = room;
}

static const struct table_column *next_column(struct table *table)
{
    const struct table_column *column = &table->columns[table->next];
    if (++table->again >= column->repeat) {
        table->next++;
        table->again = 0;
    }
    return column;
}

/* Blanks before what has no colours; the margin of a cell that had some comes first. */
static void leave_gap(struct table *table, size_t gap)
{
    size_t margin = table->heat && table->heat->set ? table->margin : 0;
    text_blanks(&table->line, margin);
    if (table->heat)
        text_heat_reset(&table->line, table->heat);
    text_blanks_up_to(&table->line, gap, margin);
}

static void put(struct table *table, const struct table_column *column, const char *text)
{
    struct buf *line = &table->line;
    size_t size = strlen(text);
    size_t width = column->width || column->shortens ? utf8_width(text, size) : 0;
    if (column->shortens && width > column->width) {
        (column->left ? text_left : text_right)(line, text, column->width);
        return;
    }
    text_blanks_up_to(line, column->left ? 0 : column->width, width);
    buf_bytes(line, text, size);
    text_blanks_up_to(line, column->left ? column->width : 0, width);
}

void table_text(struct table *table, const char *text)
{
    const struct table_column *column = next_column(table);
    leave_gap(table, column->gap);
    put(table, column, text);
}

void table_number(struct table *table, size_t number)
{
    char text[NUM_COUNT_BYTES + 1];
    text[num_count(text, number)] = '\0';
    table_text(table, text);
}

void table_put(struct table *table)
{
    struct buf *cell = &table->cell;
    if (cell->out_of_memory && !table->line.out_of_memory) {
        table->line.out_of_memory = true;
        table->line.wanted_bytes = cell->wanted_bytes;
    }
    table_text(table, cell->size ? cell->bytes : "");
    buf_clear(cell);
}

/* Blanks of a number's colours stand on both sides of it: the second comes with what follows. */
void table_heated(struct table *table, const char *number, unsigned level)
{
    struct buf *line = &table->line;
    struct text_heat *heat = table->heat;
    const struct table_column *column = next_column(table);
    size_t margin = column->gap > 0;
    size_t size =
        heat->numbers ? utf8_width(number, strlen(number)) : column->width - column->tight;
    bool is_cut = heat->numbers && column->shortens && size > column->width;
    size_t marks = heat->numbers ? margin : margin + column->width;
    const char *mark = heat->shades ? text_heat_shade(heat, level) : " ";
    if (column->tight) {
        marks = heat->numbers ? 1 : column->width;
        text_blanks_up_to(line, column->gap + column->width, size + 1);
    } else {
        text_blanks(line, column->gap - margin);
    }
    text_heat_set(line, heat, level);
    for (size_t i = 0; i < marks; i++)
        buf_text(line, mark);
    if (heat->numbers && !column->tight)
        text_blanks_up_to(line, column->width, size);
    if (is_cut)
        text_left(line, number, column->width);
    else if (heat->numbers)
        buf_text(line, number);
    if (column->tight)
        text_heat_reset(line, heat);
    table->margin = margin;
}

void table_beside(struct table *table, size_t gap)
{
    leave_gap(table, gap);
    table->next = table->again = 0;
}

void table_end(struct table *table)
{
    struct err err = {0};
    leave_gap(table, 0);
    text_shorten(&table->line, table->page);
    text_end(table->out, &table->line, &err);
    table->next = table->again = 0;
}

void table_begin(struct table *table, const struct table_column *columns, size_t count)
{
    stream_char(table->out, '\n');
    table->columns = columns;
    table->count = count;
}

void table_titles(struct table *table)
{
    while (table->next < table->count) {
        const char *title = table->columns[table->next].title;
        table_text(table, title ? title : "");
    }
    table_end(table);
}

int table_close(struct table *table, struct err *err)
{
    int failed = buf_check(&table->line, err);
    buf_release(&table->line);
    buf_release(&table->cell);
    return failed;
}
