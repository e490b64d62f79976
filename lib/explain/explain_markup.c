#include "explain/explain_markup.h"

#include <string.h>

#include "write/text_line.h"

struct page {
    struct buf text;
    const struct markup *markup;
    const struct explain_table *table; /* that is being written */
    bool several;                      /* explanations */
    size_t rows;                       /* of the table, since it last began */
};

static void add(struct page *page, const char *text)
{
    buf_text(&page->text, text);
}

static void add_text(struct page *page, const struct marks *marks, const char *text)
{
    add(page, marks->before);
    page->markup->text(&page->text, text, strlen(text));
    add(page, marks->after);
}

/* --- a table ---------------------------------------------------------------------------------- */

static void add_heading(struct page *page, const struct explain_cell *cell)
{
    struct buf symbol = {0};
    struct buf heading = {0};
    page->markup->symbol(&symbol, &cell->block->symbol);
    if (cell->block->is_vector)
        explain_heading(&heading, symbol.size ? symbol.bytes : "", cell->cut);
    page->markup->heading_cell(&page->text, page->table, cell, heading.size ? heading.bytes : "");
    page->text.out_of_memory |= symbol.out_of_memory || heading.out_of_memory;
    buf_release(&symbol);
    buf_release(&heading);
}

static void add_cell(struct page *page, const struct explain_cell *cell)
{
    const struct markup *markup = page->markup;
    const struct marks *marks =
        &(cell->line == LINE_TITLES ? markup->titles : markup->cells)[cell->kind];
    if (cell->kind == CELL_BAR && cell->line == LINE_ROW) {
        markup->bar_cell(&page->text, (double)cell->value);
        return;
    }
    add(page, marks->before);
    if (cell->kind == CELL_TITLE)
        markup->title_cell(&page->text, cell);
    else if (cell->kind == CELL_NUMBER)
        markup->number_cell(&page->text, cell);
    else if (cell->kind == CELL_DOTS)
        add(page, markup->dots);
    add(page, marks->after);
}

static void add_columns(struct page *page)
{
    const struct step_table *table = page->table->data;
    add(page, page->markup->columns.label);
    for (size_t b = 0; b < table->block_count; b++) {
        for (size_t slot = 0; slot < text_cut_slots(&page->table->layout.cuts[b]); slot++)
            add(page, page->markup->columns.number);
        add(page, table->blocks[b].is_share ? page->markup->columns.share : "");
    }
    add(page, page->markup->columns.end);
}

static void open_table(struct page *page)
{
    page->rows = 0;
    add(page, page->markup->table_begin);
    if (!page->markup->columns.below_titles)
        add_columns(page);
}

static void begin_table(struct page *page, const struct explain_table *table)
{
    page->table = table;
    open_table(page);
}

static void end_table(struct page *page)
{
    add(page, page->markup->table_end[page->table->data->total != NULL]);
    for (size_t b = 0; b < page->table->data->block_count; b++) {
        const struct text_cut *cut = &page->table->layout.cuts[b];
        if (page->markup->says_parts && text_is_cut(cut))
            buf_format(&page->text, "\n(%zu of %zu elements)\n", cut->front + cut->back, cut->size);
    }
}

static void add_row_label(struct page *page, size_t row)
{
    const struct step_table *table = page->table->data;
    if (table->of_keys)
        buf_format(&page->text, "%zu ", row);
    add_text(page, &page->markup->name, table->rows[row].text);
    page->rows++;
}

static void begin_line(struct page *page, enum explain_line line, size_t row)
{
    const struct markup *markup = page->markup;
    const struct step_table *table = page->table->data;
    const bool own = line == LINE_ROW && row == table->own_row;
    if (markup->rows_max && page->rows == markup->rows_max &&
        (line == LINE_ROW || line == LINE_GAP)) {
        end_table(page);
        open_table(page);
        explain_table_begin(page->table);
    }
    add(page, own ? markup->own_row.before : markup->lines[line].before);
    if (line == LINE_ROW)
        add_row_label(page, row);
    else if (line == LINE_TOTAL)
        markup->text(&page->text, table->total, strlen(table->total));
    else if (line != LINE_HEADINGS)
        add(page, line == LINE_TITLES ? table->corner : markup->gap);
    add(page, own ? markup->own_row.after : markup->lines[line].after);
}

static void end_line(struct page *page, enum explain_line line)
{
    add(page, page->markup->lines[line].end);
    if (line == LINE_TITLES && page->markup->columns.below_titles)
        add_columns(page);
}

/* --- a query ---------------------------------------------------------------------------------- */

static void add_fact(struct buf *out, const struct explain_fact *fact, const void *how)
{
    const struct markup *markup = how;
    const struct marks *quote = fact->is_query ? &markup->query_quote : &markup->quote;
    buf_format(out, "%s%s%s", markup->fact.before, fact->name, markup->fact.after);
    if (fact->size) {
        buf_text(out, quote->before);
        markup->text(out, fact->quoted, fact->size);
        buf_text(out, quote->after);
    }
    if (markup->escapes_words)
        markup->text(out, fact->words, strlen(fact->words));
    else
        buf_text(out, fact->words);
    buf_text(out, markup->fact_end);
}

static void begin_query(struct page *page, const struct explanation *explanation, size_t place)
{
    const struct markup *markup = page->markup;
    if (*markup->anchor.before)
        buf_format(&page->text, "%s%zu%s", markup->anchor.before, explanation->query,
                   markup->anchor.after);
    if (page->several) {
        add(page, markup->query_breaks[place > 0]);
        add_text(page, &markup->query, explain_token(explanation));
    }
    add(page, page->several || !markup->one_list ? markup->facts.before : "");
    explain_facts_add_query(&page->text, explanation, add_fact, markup);
    add(page, markup->facts.after);
}

static void end_query(struct page *page)
{
    add(page, page->markup->query_end);
}

static void begin_step(struct page *page, size_t number, const char *title)
{
    const struct markup *markup = page->markup;
    buf_format(&page->text, "%s%zu%s%s%s", markup->step[page->several].before, number,
               markup->step[page->several].number, title, markup->step[page->several].after);
}

static void end_step(struct page *page)
{
    add(page, page->markup->step_end);
}

static void add_paragraph(struct page *page, enum explain_text kind, const char *text)
{
    const struct markup *markup = page->markup;
    add(page, markup->paragraphs[kind].before);
    (kind == EXPLAIN_NOTE ? markup->prose : markup->formula)(&page->text, text);
    add(page, markup->paragraphs[kind].after);
}

/* --- the document ----------------------------------------------------------------------------- */

int explain_markup_write(struct stream *out, const struct explanations *explanations,
                         const struct explain_page *how, const struct markup *markup,
                         struct err *err)
{
    const struct explain_form form = {
        .latex = markup->latex,
        .begin_query = begin_query,
        .begin_step = begin_step,
        .add_text = add_paragraph,
        .table = {begin_table,
                  begin_line,
                  NULL,
                  {markup->heading_cell ? add_heading : NULL, add_cell, add_cell, add_cell,
                   add_cell},
                  end_line,
                  end_table},
        .end_step = end_step,
        .end_query = end_query,
    };
    struct page page = {.markup = markup, .several = explanations->several};
    const struct report *report = explanations->items->report;
    if (markup->begin)
        markup->begin(&page.text, report);
    buf_format(&page.text, "%s%s, step by step%s%s", markup->title.before,
               page.several ? "Every query" : "One query", markup->title.after,
               markup->facts.before);
    explain_facts_add(&page.text, report, add_fact, markup);
    add(&page, page.several || !markup->one_list ? markup->facts.after : "");
    if (page.several && markup->links)
        markup->links(&page.text, explanations);
    explain_walk(explanations, &form, &page, how);
    add(&page, markup->end);
    int failed = text_send(out, &page.text, err);
    buf_release(&page.text);
    return failed;
}
