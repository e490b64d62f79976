/* explain_table.c: tables fitted to a page, line by line and cell by cell. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"
#include "explain/explain_walk.h"

enum {
    LABEL_MAX = 16,
    NUMBER_BYTES = 48,
};

/* --- rows ------------------------------------------------------------------------------------- */

static size_t row_count(const struct explain_table *table)
{
    return table->data->of_keys ? table->explanation->shown_count : table->data->row_count;
}

static size_t row_at(const struct explain_table *table, size_t slot)
{
    return table->data->of_keys ? table->explanation->shown[slot] : slot;
}

/* Are rows left out before a slot or, at the last one's successor, after all? */
static bool has_gap(const struct explain_table *table, size_t slot)
{
    size_t before = slot > 0 ? row_at(table, slot - 1) + 1 : 0;
    size_t here = slot < row_count(table) ? row_at(table, slot) : table->data->row_count;
    return here > before;
}

static float total_of(const struct block *block, size_t element)
{
    return block->total ? block->total[element] : NAN;
}

/* --- how wide it is --------------------------------------------------------------------------- */

static size_t width_of(const char *text)
{
    return utf8_width(text, strlen(text));
}

static size_t number_width(const struct block *block, float value)
{
    char text[NUMERAL_BYTES];
    return isnan(value) ? 0 : numeral_write(text, block->numeral, value);
}

/* The widest number of all elements, so that another width of the page changes no column. */
static size_t cell_width(const struct explain_table *table, const struct block *block)
{
    size_t widest = block->is_vector ? 1 : width_of(block->symbol);
    for (size_t element = 0; element < block->width; element++) {
        widest = num_max(widest, number_width(block, total_of(block, element)));
        for (size_t slot = 0; slot < row_count(table); slot++) {
            const float *row = block->values + row_at(table, slot) * block->stride;
            widest = num_max(widest, number_width(block, row[element]));
        }
    }
    return widest;
}

static void fit_labels(struct explain_table *table)
{
    const struct step_table *data = table->data;
    char number[NUMBER_BYTES];
    size_t widest = data->total ? width_of(data->total) : 0;
    size_t count = row_count(table);
    if (data->of_keys)
        table->number_width = snprintf(number, sizeof number, "%zu", row_at(table, count - 1));
    for (size_t slot = 0; slot < count; slot++)
        widest = num_max(widest, width_of(data->rows[row_at(table, slot)].text));
    table->label_width = widest < LABEL_MAX ? widest : LABEL_MAX;
    if (data->of_keys)
        table->label_width += (size_t)table->number_width + 1;
    table->label_width = num_max(table->label_width, width_of(data->corner));
}

/* The columns of a block, gaps between its elements included. */
static size_t block_width(const struct explain_table *table, size_t block)
{
    const struct text_cut *cut = &table->cuts[block];
    size_t gaps = (text_cut_slots(cut) - 1) * EXPLAIN_GAP;
    return (cut->front + cut->back) * table->cells[block] + gaps + text_is_cut(cut);
}

/* The columns of what stands above the elements of a vector. */
static size_t heading_width(const char *symbol, const struct text_cut *cut)
{
    char count[NUMBER_BYTES];
    size_t width = width_of(symbol);
    if (!text_is_cut(cut))
        return width;
    size_t digits =
        (size_t)snprintf(count, sizeof count, "%zu%zu", cut->front + cut->back, cut->size);
    return width + digits + strlen(width ? " ( of )" : " of ");
}

/* Lay out so many elements of every vector, with room for what stands above them. */
static void try_elements(struct explain_table *table, const size_t *cells, size_t elements)
{
    table->width = table->label_width;
    for (size_t b = 0; b < table->data->block_count; b++) {
        const struct block *block = &table->data->blocks[b];
        table->cells[b] = cells[b];
        table->cuts[b] = text_cut_to(block->width, elements);
        size_t heading = heading_width(block->symbol, &table->cuts[b]);
        while (block_width(table, b) < heading)
            table->cells[b]++;
        table->width += table->gap + block_width(table, b);
    }
}

/* Fit a table into so many columns; 0: endless, nothing is left out. */
static void fit(struct explain_table *table, size_t columns)
{
    size_t cells[STEP_BLOCKS_MAX] = {0};
    size_t longest = 2;
    table->gap = EXPLAIN_BLOCK_GAP;
    fit_labels(table);
    for (size_t b = 0; b < table->data->block_count; b++) {
        cells[b] = cell_width(table, &table->data->blocks[b]);
        longest = num_max(longest, table->data->blocks[b].width);
    }
    if (columns > 0 && longest > columns)
        longest = columns;
    try_elements(table, cells, longest);
    for (; columns > 0 && table->width > columns && longest > 2; longest--)
        try_elements(table, cells, longest - 1);
    if (columns > 0 && table->width > columns) {
        table->gap = EXPLAIN_GAP;
        try_elements(table, cells, longest);
    }
}

/* --- a line ----------------------------------------------------------------------------------- */

static void write_symbol(const struct explain_table *table, const struct explain_cell *cell)
{
    if (table->form->symbol)
        table->form->symbol(table->text, cell);
    else
        table->form->formula(table->text, cell->block->symbol);
}

/* Above the elements of a vector its symbol, in whatever notation, and "6 of 64" where some are
 * left out; may be nothing. */
static void write_heading(const struct explain_table *table, const struct explain_cell *cell)
{
    const struct text_cut *cut = cell->cut;
    if (!cell->block->is_vector)
        return;
    write_symbol(table, cell);
    if (text_is_cut(cut))
        buf_format(table->text, table->text->size ? " (%zu of %zu)" : "%zu of %zu",
                   cut->front + cut->back, cut->size);
}

static void write_number(const struct explain_table *table, const struct explain_cell *cell)
{
    char digits[NUMERAL_BYTES];
    if (isinf(cell->value) && table->form->infinity) {
        buf_text(table->text, table->form->infinity);
    } else if (!isnan(cell->value)) {
        numeral_write(digits, cell->block->numeral, cell->value);
        buf_text(table->text, digits);
    }
}

static void write_cell(const struct explain_table *table, struct explain_cell *cell)
{
    buf_clear(table->text);
    if (cell->kind == CELL_HEADING)
        write_heading(table, cell);
    else if (cell->kind == CELL_TITLE && cell->block->is_vector && !table->form->titles_say_all)
        buf_format(table->text, "%zu", cell->number);
    else if (cell->kind == CELL_TITLE)
        write_symbol(table, cell);
    else if (cell->kind == CELL_NUMBER)
        write_number(table, cell);
    cell->text = table->text->size ? table->text->bytes : "";
    table->form->add_cell(table->page, cell);
}

static void write_block(const struct explain_table *table, struct explain_cell *cell, size_t row)
{
    const struct block *block = cell->block;
    for (size_t slot = 0; slot < text_cut_slots(cell->cut); slot++) {
        size_t element = text_cut_place(cell->cut, slot);
        bool is_left_out = text_cut_between(cell->cut, slot);
        cell->kind = is_left_out ? CELL_DOTS : cell->line == LINE_TITLES ? CELL_TITLE : CELL_NUMBER;
        cell->gap = slot > 0 ? EXPLAIN_GAP : table->gap;
        cell->width = is_left_out ? 1 : table->cells[cell->place];
        cell->number = block->first + element;
        if (cell->kind == CELL_NUMBER)
            cell->value = cell->line == LINE_TOTAL ? total_of(block, element)
                                                   : block->values[row * block->stride + element];
        write_cell(table, cell);
    }
    cell->kind = CELL_BAR;
    cell->gap = cell->width = 0;
    if (block->is_share)
        write_cell(table, cell);
}

static void write_line(const struct explain_table *table, enum explain_line_kind kind, size_t row)
{
    const struct step_table *data = table->data;
    const struct explain_line line = {
        .kind = kind,
        .row = row,
        .is_own = kind == LINE_ROW && row == data->own_row,
        .label = kind == LINE_ROW      ? data->rows[row].text
                 : kind == LINE_TOTAL  ? data->total
                 : kind == LINE_TITLES ? data->corner
                                       : "",
    };
    table->form->begin_line(table->page, &line);
    for (size_t b = 0; b < data->block_count && kind != LINE_GAP; b++) {
        struct explain_cell cell = {.kind = CELL_HEADING,
                                    .line = kind,
                                    .place = b,
                                    .block = &data->blocks[b],
                                    .cut = &table->cuts[b],
                                    .gap = table->gap,
                                    .width = block_width(table, b)};
        if (kind == LINE_HEADINGS)
            write_cell(table, &cell);
        else
            write_block(table, &cell, row);
    }
    table->form->end_line(table->page, kind);
}

/* --- a table ---------------------------------------------------------------------------------- */

/* Is there a symbol, or are some elements left out, so that it must be said? */
static bool has_headings(const struct explain_table *table)
{
    for (size_t b = 0; b < table->data->block_count; b++)
        if (table->data->blocks[b].is_vector &&
            (*table->data->blocks[b].symbol || text_is_cut(&table->cuts[b])))
            return true;
    return false;
}

/* A table fitted to so many columns; 0: endless. */
static void write_table(struct explain_table *table, size_t columns)
{
    size_t count = row_count(table);
    fit(table, columns);
    table->form->begin_table(table->page, table);
    if (!table->form->lacks_headings && has_headings(table))
        write_line(table, LINE_HEADINGS, NO_ROW);
    write_line(table, LINE_TITLES, NO_ROW);
    for (size_t slot = 0; slot <= count; slot++) {
        if (has_gap(table, slot))
            write_line(table, LINE_GAP, NO_ROW);
        if (slot < count)
            write_line(table, LINE_ROW, row_at(table, slot));
    }
    if (table->data->total)
        write_line(table, LINE_TOTAL, NO_ROW);
    if (table->form->end_table)
        table->form->end_table(table->page);
}

/* The part of a table that shows so many elements of its vectors. */
static struct step_table part_of(const struct step_table *table, size_t first, size_t count)
{
    struct step_table part = *table;
    part.block_count = 0;
    for (size_t b = 0; b < table->block_count; b++) {
        struct block block = table->blocks[b];
        if (block.width <= first)
            continue;
        block.first += first;
        block.values += first;
        block.total = block.total ? block.total + first : NULL;
        block.width = block.width - first < count ? block.width - first : count;
        part.blocks[part.block_count++] = block;
    }
    return part;
}

/* In full all elements of all vectors are shown: in several tables, each with as many of them as
 * `columns` take; single numbers stand in the first. */
void explain_table_write(const struct explain_table *template, const struct explain_page *how)
{
    struct explain_table table = *template;
    if (!how->full) {
        write_table(&table, how->columns);
        return;
    }
    size_t longest = 0;
    size_t shown = 0;
    fit(&table, how->columns);
    for (size_t b = 0; b < table.data->block_count; b++) {
        longest = num_max(longest, table.cuts[b].size);
        shown = num_max(shown, table.cuts[b].front + table.cuts[b].back);
    }
    for (size_t first = 0; first < longest; first += shown) {
        struct step_table part = part_of(template->data, first, shown);
        table = *template;
        table.data = &part;
        write_table(&table, 0);
    }
}
