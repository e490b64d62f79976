#include "explain/explain_walk.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum {
    LABEL_MAX = 16,
    NUMBER_BYTES = 48,
};

bool explain_shows(const struct given *given, bool full)
{
    return !given->is_shown && (full || given->is_small);
}

size_t explain_row_count(const struct explanation *explanation, const struct step_table *table)
{
    return table->of_keys ? explanation->shown_count : table->row_count;
}

size_t explain_row(const struct explanation *explanation, const struct step_table *table,
                   size_t slot)
{
    return table->of_keys ? explanation->shown[slot] : slot;
}

bool explain_gap(const struct explanation *explanation, const struct step_table *table, size_t slot)
{
    size_t count = explain_row_count(explanation, table);
    size_t before = slot > 0 ? explain_row(explanation, table, slot - 1) + 1 : 0;
    size_t here = slot < count ? explain_row(explanation, table, slot) : table->row_count;
    return here > before;
}

float explain_cell(const struct block *block, size_t row, size_t element)
{
    return block->values[row * block->stride + element];
}

float explain_total(const struct block *block, size_t element)
{
    return block->total ? block->total[element] : NAN;
}

void explain_heading(struct buf *heading, const char *symbol, const struct text_cut *cut)
{
    bool both = *symbol && text_is_cut(cut);
    buf_text(heading, symbol);
    buf_text(heading, both ? " (" : "");
    if (text_is_cut(cut))
        buf_format(heading, "%zu of %zu", cut->front + cut->back, cut->size);
    buf_text(heading, both ? ")" : "");
}

void explain_prose(struct buf *out, const char *sentence)
{
    while (*sentence) {
        size_t size = strcspn(sentence, " ");
        const char *mark = memchr(sentence, '_', size);
        size_t symbol = size - (size > 0 && strchr(",.:", sentence[size - 1]) != NULL);
        if (mark && symbol) {
            size_t base = (size_t)(mark - sentence);
            buf_format(out, "$%.*s_{%.*s}$", (int)base, sentence, (int)(symbol - base - 1),
                       mark + 1);
            buf_bytes(out, sentence + symbol, size - symbol);
        } else {
            buf_bytes(out, sentence, size);
        }
        sentence += size;
        for (; *sentence == ' '; sentence++)
            buf_char(out, ' ');
    }
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

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
static size_t cell_width(const struct explanation *explanation, const struct step_table *table,
                         const struct block *block)
{
    size_t widest = block->is_vector ? 1 : width_of(block->symbol.text);
    for (size_t element = 0; element < block->width; element++) {
        widest = larger(widest, number_width(block, explain_total(block, element)));
        for (size_t slot = 0; slot < explain_row_count(explanation, table); slot++) {
            size_t row = explain_row(explanation, table, slot);
            widest = larger(widest, number_width(block, explain_cell(block, row, element)));
        }
    }
    return widest;
}

static void fit_labels(struct explain_layout *layout, const struct explanation *explanation,
                       const struct step_table *table)
{
    char number[NUMBER_BYTES];
    size_t widest = table->total ? width_of(table->total) : 0;
    size_t count = explain_row_count(explanation, table);
    if (table->of_keys)
        layout->number_width =
            snprintf(number, sizeof number, "%zu", explain_row(explanation, table, count - 1));
    for (size_t slot = 0; slot < count; slot++)
        widest = larger(widest, width_of(table->rows[explain_row(explanation, table, slot)].text));
    layout->label_width = widest < LABEL_MAX ? widest : LABEL_MAX;
    if (table->of_keys)
        layout->label_width += (size_t)layout->number_width + 1;
    layout->label_width = larger(layout->label_width, width_of(table->corner));
}

size_t explain_block_width(const struct explain_layout *layout, size_t block)
{
    const struct text_cut *cut = &layout->cuts[block];
    size_t shown = cut->front + cut->back;
    size_t gaps = (text_cut_slots(cut) - 1) * EXPLAIN_GAP;
    return shown * layout->cells[block] + gaps + text_is_cut(cut);
}

/* The columns of what explain_heading writes. */
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

/* What stands above the vectors of a block must have room. */
static void widen_cells(struct explain_layout *layout, const struct step_table *table)
{
    for (size_t b = 0; b < table->block_count; b++) {
        size_t width = heading_width(table->blocks[b].symbol.text, &layout->cuts[b]);
        while (explain_block_width(layout, b) < width)
            layout->cells[b]++;
    }
}

static size_t whole_width(const struct explain_layout *layout, const struct step_table *table)
{
    size_t width = layout->label_width;
    for (size_t b = 0; b < table->block_count; b++)
        width += layout->gap + explain_block_width(layout, b);
    return width;
}

/* Lay out so many elements of every vector. */
static void try_elements(struct explain_layout *layout, const struct step_table *table,
                         const size_t *cells, size_t elements)
{
    for (size_t b = 0; b < table->block_count; b++) {
        layout->cells[b] = cells[b];
        layout->cuts[b] = text_cut_to(table->blocks[b].width, elements);
    }
    widen_cells(layout, table);
    layout->width = whole_width(layout, table);
}

struct explain_layout explain_layout(const struct explanation *explanation,
                                     const struct step_table *table, size_t columns)
{
    struct explain_layout layout = {.gap = EXPLAIN_BLOCK_GAP};
    size_t cells[STEP_BLOCKS_MAX] = {0};
    size_t longest = 2;
    fit_labels(&layout, explanation, table);
    for (size_t b = 0; b < table->block_count; b++) {
        cells[b] = cell_width(explanation, table, &table->blocks[b]);
        longest = larger(longest, table->blocks[b].width);
    }
    if (columns > 0 && longest > columns)
        longest = columns;
    try_elements(&layout, table, cells, longest);
    for (; columns > 0 && layout.width > columns && longest > 2; longest--)
        try_elements(&layout, table, cells, longest - 1);
    if (columns > 0 && layout.width > columns) {
        layout.gap = EXPLAIN_GAP;
        try_elements(&layout, table, cells, longest);
    }
    return layout;
}
