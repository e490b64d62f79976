#include "out/explain_table.h"

#include <math.h>

struct explain_table explain_table(const struct explanation *explanation,
                                   const struct step_table *data, size_t columns)
{
    return (struct explain_table){explanation, data, explain_layout(explanation, data, columns)};
}

/* --- one line --------------------------------------------------------------------------------- */

static float value_of(const struct block *block, enum explain_line line, size_t row, size_t element)
{
    return line == LINE_TOTAL ? explain_total(block, element) : explain_cell(block, row, element);
}

static void write_cells(const struct explain_table *table, const struct explain_form *form,
                        void *page, enum explain_line line, size_t row)
{
    for (size_t b = 0; b < table->data->block_count; b++) {
        const struct block *block = &table->data->blocks[b];
        const struct text_cut *cut = &table->layout.cuts[b];
        struct explain_cell cell = {.line = line, .place = b, .block = block, .cut = cut};
        for (size_t slot = 0; slot < text_cut_slots(cut); slot++) {
            cell.kind = line == LINE_TITLES ? CELL_TITLE : CELL_NUMBER;
            cell.first = slot == 0;
            cell.element = text_cut_place(cut, slot);
            if (text_cut_between(cut, slot))
                cell.kind = CELL_DOTS;
            else if (line != LINE_TITLES)
                cell.value = value_of(block, line, row, cell.element);
            form->cell(page, &cell);
        }
        cell.kind = CELL_BAR;
        if (block->is_share)
            form->cell(page, &cell);
    }
}

static void write_line(const struct explain_table *table, const struct explain_form *form,
                       void *page, enum explain_line line, size_t row)
{
    form->begin_line(page, line, row);
    if (line != LINE_GAP)
        write_cells(table, form, page, line, row);
    form->end_line(page, line);
}

/* --- the lines above -------------------------------------------------------------------------- */

/* Is there a symbol, or are some elements left out, so that it must be said? */
static bool has_headings(const struct explain_table *table)
{
    for (size_t b = 0; b < table->data->block_count; b++)
        if (table->data->blocks[b].is_vector &&
            (*table->data->blocks[b].symbol.text || text_is_cut(&table->layout.cuts[b])))
            return true;
    return false;
}

static void write_headings(const struct explain_table *table, const struct explain_form *form,
                           void *page)
{
    form->begin_line(page, LINE_HEADINGS, NO_ROW);
    for (size_t b = 0; b < table->data->block_count; b++)
        form->cell(page, &(struct explain_cell){.kind = CELL_HEADING,
                                                .line = LINE_HEADINGS,
                                                .place = b,
                                                .block = &table->data->blocks[b],
                                                .cut = &table->layout.cuts[b],
                                                .first = true});
    form->end_line(page, LINE_HEADINGS);
}

void explain_table_begin(const struct explain_table *table, const struct explain_form *form,
                         void *page)
{
    if (has_headings(table))
        write_headings(table, form, page);
    write_line(table, form, page, LINE_TITLES, NO_ROW);
}

/* --- the whole -------------------------------------------------------------------------------- */

void explain_table_write(const struct explain_table *table, const struct explain_form *form,
                         void *page)
{
    const struct explanation *explanation = table->explanation;
    size_t count = explain_row_count(explanation, table->data);
    form->begin(page, table);
    explain_table_begin(table, form, page);
    for (size_t slot = 0; slot <= count; slot++) {
        if (explain_gap(explanation, table->data, slot))
            write_line(table, form, page, LINE_GAP, NO_ROW);
        if (slot < count)
            write_line(table, form, page, LINE_ROW, explain_row(explanation, table->data, slot));
    }
    if (table->data->total)
        write_line(table, form, page, LINE_TOTAL, NO_ROW);
    form->end(page);
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

void explain_table_write_parts(const struct explain_table *table, const struct explain_form *form,
                               void *page)
{
    size_t longest = 0;
    size_t shown = 0;
    for (size_t b = 0; b < table->data->block_count; b++) {
        const struct text_cut *cut = &table->layout.cuts[b];
        longest = cut->size > longest ? cut->size : longest;
        shown = cut->front + cut->back > shown ? cut->front + cut->back : shown;
    }
    for (size_t first = 0; first < longest; first += shown) {
        struct step_table part = part_of(table->data, first, shown);
        struct explain_table whole = explain_table(table->explanation, &part, 0);
        explain_table_write(&whole, form, page);
    }
}
