#include "explain/explain_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"

enum {
    LABEL_MAX = 16,
    BLOCK_GAP = 4, /* columns before a block, where there is room; else EXPLAIN_GAP */
    ELEMENTS_MIN = 2,
    NUMBER_BYTES = 48,
};

/* --- rows ------------------------------------------------------------------------------------- */

static size_t row_count(const struct explain_table *table)
{
    return table->data.of_keys ? table->explanation->shown_count : table->data.row_count;
}

static size_t row_at(const struct explain_table *table, size_t slot)
{
    return table->data.of_keys ? table->explanation->shown[slot] : slot;
}

/* Are rows left out before a slot or, for the slot after the last, at the end? */
static bool has_gap(const struct explain_table *table, size_t slot)
{
    size_t before = slot > 0 ? row_at(table, slot - 1) + 1 : 0;
    size_t here = slot < row_count(table) ? row_at(table, slot) : table->data.row_count;
    return here > before;
}

static float total_of(const struct block *block, size_t element)
{
    return block->total ? block->total[element] : NAN;
}

/* --- widths ----------------------------------------------------------------------------------- */

static size_t width_of(const char *text)
{
    return utf8_width(text, strlen(text));
}

static size_t number_width(const struct block *block, float value)
{
    char text[NUMERAL_BYTES];
    return isnan(value) ? 0 : numeral_write(text, block->numeral, value);
}

/* The widest number of all elements, so that a page of another width has the same columns. */
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
    const struct step_table *data = &table->data;
    char number[NUMBER_BYTES];
    size_t widest = data->total ? width_of(data->total) : 0;
    size_t count = row_count(table);
    table->number_width =
        data->of_keys ? snprintf(number, sizeof number, "%zu", row_at(table, count - 1)) : 0;
    for (size_t slot = 0; slot < count; slot++)
        widest = num_max(widest, width_of(data->rows[row_at(table, slot)].text));
    table->label_width = widest < LABEL_MAX ? widest : LABEL_MAX;
    if (data->of_keys)
        table->label_width += (size_t)table->number_width + 1;
    table->label_width = num_max(table->label_width, width_of(data->corner));
}

/* A block with the gaps between its elements. */
static size_t block_width(const struct explain_table *table, size_t block)
{
    const struct text_cut *cut = &table->cuts[block];
    size_t gaps = (text_cut_slots(cut) - 1) * EXPLAIN_GAP;
    return (cut->front + cut->back) * table->cells[block] + gaps + text_is_cut(cut);
}

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

/* Lay out `elements` of each vector, and widen its cells until the heading fits. */
static void lay_out(struct explain_table *table, const size_t *cells, size_t elements)
{
    table->width = table->label_width;
    for (size_t b = 0; b < table->data.block_count; b++) {
        const struct block *block = &table->data.blocks[b];
        table->cells[b] = cells[b];
        table->cuts[b] = text_cut_to(block->width, elements);
        size_t heading = heading_width(block->symbol, &table->cuts[b]);
        while (block_width(table, b) < heading)
            table->cells[b]++;
        table->width += table->gap + block_width(table, b);
    }
}

/* 0 columns: nothing is left out. */
static void fit(struct explain_table *table, size_t columns)
{
    size_t cells[STEP_BLOCKS_MAX] = {0};
    size_t longest = ELEMENTS_MIN;
    table->gap = BLOCK_GAP;
    fit_labels(table);
    for (size_t b = 0; b < table->data.block_count; b++) {
        cells[b] = cell_width(table, &table->data.blocks[b]);
        longest = num_max(longest, table->data.blocks[b].width);
    }
    if (columns > 0 && longest > columns)
        longest = columns;
    lay_out(table, cells, longest);
    for (; columns > 0 && table->width > columns && longest > ELEMENTS_MIN; longest--)
        lay_out(table, cells, longest - 1);
    if (columns > 0 && table->width > columns) {
        table->gap = EXPLAIN_GAP;
        lay_out(table, cells, longest);
    }
}

/* --- tables and their parts ------------------------------------------------------------------- */

bool explain_shows(const struct given *given, bool full)
{
    return !given->is_shown && (full || given->is_small);
}

/* The given matrices that are shown, then the step's own table; NULL: no more. */
static const struct step_table *table_at(struct explain_table *table)
{
    const struct step *step = table->step;
    while (table->next < step->given_count &&
           !explain_shows(&step->givens[table->next], table->page.full))
        table->next++;
    if (table->next < step->given_count)
        return &step->givens[table->next].table;
    return table->next == step->given_count && step->table.row_count ? &step->table : NULL;
}

/* Keep `count` elements of each vector from `first` on; single numbers are in the first part. */
static void take_part(struct step_table *data, size_t first, size_t count)
{
    size_t kept = 0;
    for (size_t b = 0; b < data->block_count; b++) {
        struct block block = data->blocks[b];
        if (block.width <= first)
            continue;
        block.first += first;
        block.values += first;
        block.total = block.total ? block.total + first : NULL;
        block.width = block.width - first < count ? block.width - first : count;
        data->blocks[kept++] = block;
    }
    data->block_count = kept;
}

bool explain_table_next(struct explain_table *table)
{
    const struct step_table *whole = table_at(table);
    if (!whole)
        return false;
    table->data = *whole;
    if (!table->page.full) {
        fit(table, table->page.columns);
        table->next++;
        return true;
    }
    if (table->elements_in_parts == 0) {
        fit(table, table->page.columns);
        table->longest = 0;
        for (size_t b = 0; b < table->data.block_count; b++) {
            const struct text_cut *cut = &table->cuts[b];
            table->longest = num_max(table->longest, cut->size);
            table->elements_in_parts = num_max(table->elements_in_parts, cut->front + cut->back);
        }
    }
    take_part(&table->data, table->first, table->elements_in_parts);
    fit(table, 0);
    table->first += table->elements_in_parts;
    if (table->first >= table->longest) {
        table->first = table->elements_in_parts = 0;
        table->next++;
    }
    return true;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Is there a symbol or a count of elements to write above the vectors? */
static bool has_headings(const struct explain_table *table)
{
    for (size_t b = 0; b < table->data.block_count; b++)
        if (table->data.blocks[b].is_vector &&
            (*table->data.blocks[b].symbol || text_is_cut(&table->cuts[b])))
            return true;
    return false;
}

bool explain_line_next(struct explain_line *line, const struct explain_table *table)
{
    const struct step_table *data = &table->data;
    bool after_rows = line->kind == LINE_TITLES || line->kind == LINE_ROW;
    line->is_own = false;
    line->label = "";
    if (line->kind == LINE_NONE && has_headings(table)) {
        line->kind = LINE_HEADINGS;
    } else if (line->kind < LINE_TITLES) {
        line->kind = LINE_TITLES;
        line->label = data->corner;
    } else if (after_rows && has_gap(table, line->next_row)) {
        line->kind = LINE_GAP;
    } else if (line->next_row < row_count(table)) {
        line->kind = LINE_ROW;
        line->row = row_at(table, line->next_row++);
        line->is_own = line->row == data->own_row;
        line->label = data->rows[line->row].text;
    } else if (line->kind != LINE_TOTAL && data->total) {
        line->kind = LINE_TOTAL;
        line->label = data->total;
    } else {
        return false;
    }
    return true;
}

/* --- cells ------------------------------------------------------------------------------------ */

bool explain_cell_next(struct explain_cell *cell, const struct explain_line *line,
                       const struct explain_table *table)
{
    bool headings = line->kind == LINE_HEADINGS;
    if (cell->block) {
        size_t slots = headings ? 1 : text_cut_slots(cell->cut) + cell->block->is_share;
        bool done = cell->next_slot == slots;
        cell->place += done;
        cell->next_slot = done ? 0 : cell->next_slot;
    }
    if (cell->place == table->data.block_count || line->kind == LINE_GAP)
        return false;
    const struct block *block = cell->block = &table->data.blocks[cell->place];
    const struct text_cut *cut = cell->cut = &table->cuts[cell->place];
    size_t slot = cell->next_slot++;
    cell->gap = slot > 0 ? EXPLAIN_GAP : table->gap;
    if (headings) {
        cell->kind = CELL_HEADING;
        cell->width = block_width(table, cell->place);
    } else if (slot == text_cut_slots(cut)) {
        cell->kind = CELL_BAR; /* of the number before it */
        cell->gap = cell->width = 0;
    } else if (text_cut_between(cut, slot)) {
        cell->kind = CELL_DOTS;
        cell->width = 1;
    } else {
        size_t element = text_cut_place(cut, slot);
        cell->kind = line->kind == LINE_TITLES ? CELL_TITLE : CELL_NUMBER;
        cell->width = table->cells[cell->place];
        cell->number = block->first + element;
        if (line->kind == LINE_ROW)
            cell->value = block->values[line->row * block->stride + element];
        else if (line->kind == LINE_TOTAL)
            cell->value = total_of(block, element);
    }
    return true;
}

void explain_heading(struct buf *out, const struct explain_cell *cell, explain_notation *notation)
{
    const struct text_cut *cut = cell->cut;
    if (!cell->block->is_vector)
        return;
    notation(out, cell->block->symbol);
    if (text_is_cut(cut))
        buf_format(out, *cell->block->symbol ? " (%zu of %zu)" : "%zu of %zu",
                   cut->front + cut->back, cut->size);
}

void explain_number(struct buf *out, const struct explain_cell *cell, const char *infinity)
{
    char digits[NUMERAL_BYTES];
    if (isnan(cell->value))
        return;
    if (isinf(cell->value) && infinity) {
        buf_text(out, infinity);
    } else {
        numeral_write(digits, cell->block->numeral, cell->value);
        buf_text(out, digits);
    }
}

const char *explain_token(const struct explanation *explanation)
{
    return explanation->text->labels[explanation->query].exact;
}

/* --- facts ------------------------------------------------------------------------------------ */

static void add_text(struct buf *out, const char *name, const struct tokenized *tokenized,
                     explain_fact *fact)
{
    struct buf text = {0};
    tokenized_visible(&text, tokenized);
    fact(out, name, &text, "");
    buf_fail_with(out, &text);
    buf_release(&text);
}

void explain_report_facts(struct buf *out, const struct report *report, explain_fact *fact)
{
    const struct tokenized model = {.text = report->model, .size = strlen(report->model)};
    add_text(out, "model", &model, fact);
    if (report->mechanism)
        fact(out, "mechanism", &(struct buf){0}, report->mechanism);
    add_text(out, "sentence", &report->sentence, fact);
    if (report->source.count)
        add_text(out, "source", &report->source, fact);
}

void explain_query_facts(struct buf *out, const struct explanation *explanation, explain_fact *fact)
{
    struct buf token = {0};
    struct buf words = {0};
    buf_text(&token, explain_token(explanation));
    if (explanation->part)
        buf_format(&words, ", %s", explanation->part->words);
    buf_format(&words, ", layer %zu, head %zu", explanation->layer, explanation->head);
    fact(out, "query", &token, words.size ? words.bytes : "");
    buf_clear(&words);
    buf_format(&words, "%zu of %zu, with %.2f of the weight", explanation->shown_count,
               explanation->key_count, (double)explanation->shown_weight);
    if (explanation->shown_count < explanation->key_count)
        fact(out, "keys shown", &(struct buf){0}, words.size ? words.bytes : "");
    buf_fail_with(out, &token);
    buf_fail_with(out, &words);
    buf_release(&token);
    buf_release(&words);
}
