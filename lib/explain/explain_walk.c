#include "explain/explain_walk.h"

#include <math.h>
#include <string.h>

/* --- facts ------------------------------------------------------------------------------------ */

const char *explain_token(const struct explanation *explanation)
{
    return explanation->text->labels[explanation->query].exact;
}

static void add_reading(struct buf *out, const char *name, const struct tokenized *tokenized,
                        explain_fact_writer add, const void *how)
{
    struct buf text = {0};
    tokenized_visible(&text, tokenized);
    add(out, &(struct explain_fact){name, text.bytes, text.size, "", false}, how);
    out->out_of_memory |= text.out_of_memory;
    buf_release(&text);
}

static void add_words(struct buf *out, struct explain_fact fact, struct buf *words,
                      explain_fact_writer add, const void *how)
{
    fact.words = words->size ? words->bytes : "";
    add(out, &fact, how);
    out->out_of_memory |= words->out_of_memory;
    buf_release(words);
}

static void add_place(struct buf *out, const struct explanation *explanation,
                      explain_fact_writer add, const void *how)
{
    const char *token = explain_token(explanation);
    struct buf words = {0};
    if (explanation->part)
        buf_format(&words, ", %s", explanation->part->words);
    buf_format(&words, ", layer %zu, head %zu", explanation->layer, explanation->head);
    add_words(out,
              (struct explain_fact){
                  .name = "query", .quoted = token, .size = strlen(token), .is_query = true},
              &words, add, how);
}

static void add_shown(struct buf *out, const struct explanation *explanation,
                      explain_fact_writer add, const void *how)
{
    struct buf words = {0};
    buf_format(&words, "%zu of %zu, which have %.2f of the weight", explanation->shown_count,
               explanation->key_count, (double)explanation->shown_weight);
    add_words(out, (struct explain_fact){.name = "keys shown"}, &words, add, how);
}

void explain_facts_add(struct buf *out, const struct report *report, explain_fact_writer add,
                       const void *how)
{
    struct tokenized model = {.text = report->model, .size = strlen(report->model)};
    add_reading(out, "model", &model, add, how);
    if (report->mechanism)
        add(out, &(struct explain_fact){.name = "mechanism", .words = report->mechanism}, how);
    add_reading(out, "sentence", &report->sentence, add, how);
    if (report->source.count)
        add_reading(out, "source", &report->source, add, how);
}

void explain_facts_add_query(struct buf *out, const struct explanation *explanation,
                             explain_fact_writer add, const void *how)
{
    add_place(out, explanation, add, how);
    if (explanation->shown_count < explanation->key_count)
        add_shown(out, explanation, add, how);
}

/* --- a line of a table
 * --------------------------------------------------------------------------------- */

static float value_of(const struct block *block, enum explain_line line, size_t row, size_t element)
{
    return line == LINE_TOTAL ? explain_total(block, element) : explain_cell(block, row, element);
}

static void write_cell(const struct explain_table *table, struct explain_cell *cell)
{
    char digits[NUMERAL_BYTES] = "";
    if (cell->kind == CELL_NUMBER && !isnan(cell->value))
        numeral_write(digits, cell->block->numeral, cell->value);
    cell->digits = digits;
    if (table->form->begin_cell)
        table->form->begin_cell(table->page, cell);
    table->form->cells[cell->kind](table->page, cell);
}

static void write_block(const struct explain_table *table, struct explain_cell *cell, size_t row)
{
    for (size_t slot = 0; slot < text_cut_slots(cell->cut); slot++) {
        size_t element = text_cut_place(cell->cut, slot);
        cell->kind = cell->line == LINE_TITLES ? CELL_TITLE : CELL_NUMBER;
        cell->first = slot == 0;
        cell->number = cell->block->first + element;
        if (text_cut_between(cell->cut, slot))
            cell->kind = CELL_DOTS;
        else if (cell->line != LINE_TITLES)
            cell->value = value_of(cell->block, cell->line, row, element);
        write_cell(table, cell);
    }
    cell->kind = CELL_BAR;
    if (cell->block->is_share)
        write_cell(table, cell);
}

static void write_line(const struct explain_table *table, enum explain_line line, size_t row)
{
    table->form->begin_line(table->page, line, row);
    for (size_t b = 0; b < table->data->block_count && line != LINE_GAP; b++) {
        struct explain_cell cell = {.kind = CELL_HEADING,
                                    .line = line,
                                    .place = b,
                                    .block = &table->data->blocks[b],
                                    .cut = &table->layout.cuts[b],
                                    .first = true};
        if (line == LINE_HEADINGS)
            write_cell(table, &cell);
        else
            write_block(table, &cell, row);
    }
    table->form->end_line(table->page, line);
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

void explain_table_begin(const struct explain_table *table)
{
    if (table->form->cells[CELL_HEADING] && has_headings(table))
        write_line(table, LINE_HEADINGS, NO_ROW);
    write_line(table, LINE_TITLES, NO_ROW);
}

/* --- a table ---------------------------------------------------------------------------------- */

/* A table fitted to so many columns; 0: endless. */
static void write_table(const struct explanation *explanation, const struct step_table *data,
                        const struct explain_table_form *form, struct page *page, size_t columns)
{
    const struct explain_table table = {explanation, data,
                                        explain_layout(explanation, data, columns), form, page};
    size_t count = explain_row_count(explanation, data);
    form->begin(page, &table);
    explain_table_begin(&table);
    for (size_t slot = 0; slot <= count; slot++) {
        if (explain_gap(explanation, data, slot))
            write_line(&table, LINE_GAP, NO_ROW);
        if (slot < count)
            write_line(&table, LINE_ROW, explain_row(explanation, data, slot));
    }
    if (data->total)
        write_line(&table, LINE_TOTAL, NO_ROW);
    if (form->end)
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

/* The same with all elements of all vectors: in several tables, each with as many of them as
 * `columns` take; single numbers stand in the first. */
static void write_parts(const struct explanation *explanation, const struct step_table *data,
                        const struct explain_table_form *form, struct page *page, size_t columns)
{
    struct explain_layout layout = explain_layout(explanation, data, columns);
    size_t longest = 0;
    size_t shown = 0;
    for (size_t b = 0; b < data->block_count; b++) {
        const struct text_cut *cut = &layout.cuts[b];
        longest = cut->size > longest ? cut->size : longest;
        shown = cut->front + cut->back > shown ? cut->front + cut->back : shown;
    }
    for (size_t first = 0; first < longest; first += shown) {
        struct step_table part = part_of(data, first, shown);
        write_table(explanation, &part, form, page, 0);
    }
}

/* --- the walk --------------------------------------------------------------------------------- */

/* One query's way through the form. */
struct way {
    const struct explanation *explanation;
    const struct explain_form *form;
    struct page *page;
    const struct explain_page *how;
};

static void walk_table(const struct way *way, const struct step_table *table)
{
    (way->how->full ? write_parts : write_table)(way->explanation, table, &way->form->table,
                                                 way->page, way->how->columns);
}

static void walk_formula(const struct way *way, enum explain_text kind,
                         const struct formula *formula)
{
    const char *text = way->form->latex ? formula->latex : formula->text;
    if (text)
        way->form->add_text(way->page, kind, text);
}

static void walk_step(const struct way *way, const struct step *step)
{
    const struct explain_form *form = way->form;
    form->begin_step(way->page, (size_t)(step - way->explanation->steps) + 1, step->title);
    for (size_t i = 0; i < step->formula_count; i++)
        walk_formula(way, EXPLAIN_FORMULA, &step->formulas[i]);
    if (step->note)
        form->add_text(way->page, EXPLAIN_NOTE, step->note);
    for (size_t i = 0; i < step->given_count; i++)
        if (explain_shows(&step->givens[i], way->how->full))
            walk_table(way, &step->givens[i].table);
    if (step->table.row_count)
        walk_table(way, &step->table);
    walk_formula(way, EXPLAIN_WORKED, &step->worked);
    if (form->end_step)
        form->end_step(way->page);
}

void explain_walk(const struct explanations *explanations, const struct explain_form *form,
                  struct page *page, const struct explain_page *how)
{
    for (size_t i = 0; i < explanations->count; i++) {
        const struct way way = {&explanations->items[i], form, page, how};
        form->begin_query(page, way.explanation, i);
        for (size_t s = 0; s < way.explanation->step_count; s++)
            walk_step(&way, &way.explanation->steps[s]);
        if (form->end_query)
            form->end_query(page);
    }
}
