/* explain_markdown.c: an explanation in Markdown: tables with pipes, formulas between dollar signs,
 * as GitHub, GitLab, Jupyter and pandoc show them.
 *
 *     ## 3. Keys and scores
 *
 *     $$s_j = q \cdot k_j$$
 *
 *     | key | $(k_j)_{0}$ | $(k_j)_{1}$ | $s_j$ |
 *     |:--|--:|--:|--:|
 *     | 0 Life | -0.0823 | -0.3031 | -0.6004 |
 *     | **1 is** | 0.5295 | 1.7355 | 3.4707 |
 */
#include <math.h>
#include <string.h>

#include "base/bar.h"
#include "out/explain_facts.h"
#include "out/explain_format.h"
#include "out/explain_table.h"
#include "out/markdown_text.h"

enum { PAGE_COLUMNS = 100 }; /* what a table may take of a page in a browser */

/* What is written, and how. */
struct page {
    struct buf text;
    struct buf dashes; /* the line below the titles of a table */
    const struct explanation *explanation;
    const struct explain_table *table; /* that is being written */
    bool full;
    bool several; /* explanations */
};

static void add_text(struct page *page, const char *text)
{
    markdown_text(&page->text, text, strlen(text));
}

/* $q_{0}$, $(k_j)_{0}$, or the number alone */
static void add_title(struct page *page, const struct explain_cell *cell)
{
    const struct block *block = cell->block;
    const char *symbol = block->symbol.latex;
    size_t number = block->first + cell->element;
    if (!block->is_vector)
        buf_format(&page->text, " $%s$ |", symbol);
    else if (*symbol == '\0')
        buf_format(&page->text, " %zu |", number);
    else
        buf_format(&page->text, symbol[1] ? " $(%s)_{%zu}$ |" : " $%s_{%zu}$ |", symbol, number);
}

static void add_number(struct page *page, const struct explain_cell *cell)
{
    char text[NUMERAL_BYTES] = "";
    if (!isnan(cell->value))
        numeral_write(text, cell->block->numeral, cell->value);
    buf_format(&page->text, isinf(cell->value) ? " $-\\infty$ |" : " %s |", text);
}

static void add_bar(struct page *page, const struct explain_cell *cell)
{
    char bar[BAR_BYTES] = "";
    if (cell->line == LINE_ROW) {
        bar_draw(bar, (double)cell->value);
        bar[strcspn(bar, " ")] = '\0';
    }
    buf_format(&page->text, " %s |", bar);
}

static void add_cell(void *to, const struct explain_cell *cell)
{
    struct page *page = to;
    if (cell->line == LINE_TITLES)
        buf_text(&page->dashes, cell->kind == CELL_BAR ? ":--|" : "--:|");
    switch (cell->kind) {
    case CELL_HEADING: /* titles have their symbols themselves */
        break;
    case CELL_TITLE:
        add_title(page, cell);
        break;
    case CELL_NUMBER:
        add_number(page, cell);
        break;
    case CELL_DOTS:
        buf_text(&page->text, " … |");
        break;
    case CELL_BAR:
        add_bar(page, cell);
        break;
    }
}

static void add_label(struct page *page, size_t row)
{
    const struct step_table *table = page->table->data;
    const char *bold = row == table->own_row ? "**" : "";
    buf_format(&page->text, "| %s", bold);
    if (table->of_keys)
        buf_format(&page->text, "%zu ", row);
    add_text(page, table->rows[row].text);
    buf_format(&page->text, "%s |", bold);
}

static void begin_line(void *to, enum explain_line line, size_t row)
{
    struct page *page = to;
    const struct step_table *table = page->table->data;
    switch (line) {
    case LINE_HEADINGS:
        break;
    case LINE_TITLES:
        buf_format(&page->text, "\n| %s |", table->corner);
        buf_text(&page->dashes, "|:--|");
        break;
    case LINE_ROW:
        add_label(page, row);
        break;
    case LINE_GAP:
        buf_text(&page->text, "| … |");
        break;
    case LINE_TOTAL:
        buf_text(&page->text, "| **");
        add_text(page, table->total);
        buf_text(&page->text, "** |");
        break;
    }
}

static void end_line(void *to, enum explain_line line)
{
    struct page *page = to;
    if (line == LINE_TITLES)
        buf_format(&page->text, "\n%s", page->dashes.bytes ? page->dashes.bytes : "");
    if (line != LINE_HEADINGS)
        buf_char(&page->text, '\n');
}

static void begin_table(void *to, const struct explain_table *table)
{
    struct page *page = to;
    page->table = table;
    buf_clear(&page->dashes);
}

/* A line that says what is shown in part. */
static void end_table(void *to)
{
    struct page *page = to;
    for (size_t b = 0; b < page->table->data->block_count; b++) {
        const struct text_cut *cut = &page->table->layout.cuts[b];
        if (text_is_cut(cut))
            buf_format(&page->text, "\n(%zu of %zu elements)\n", cut->front + cut->back, cut->size);
    }
}

static void add_table(struct page *page, const struct step_table *data)
{
    static const struct explain_form form = {begin_table, begin_line, add_cell, end_line,
                                             end_table};
    struct explain_table table =
        explain_table(page->explanation, data, page->full ? 0 : PAGE_COLUMNS);
    explain_table_write(&table, &form, page);
    page->text.out_of_memory |= page->dashes.out_of_memory;
}

static void add_step(struct page *page, const struct step *step)
{
    buf_format(&page->text, "\n%s %zu. %s\n", page->several ? "###" : "##",
               (size_t)(step - page->explanation->steps) + 1, step->title);
    for (size_t i = 0; i < step->formula_count; i++)
        buf_format(&page->text, "\n$$%s$$\n", step->formulas[i].latex);
    if (step->note) {
        buf_char(&page->text, '\n');
        explain_prose(&page->text, step->note);
        buf_char(&page->text, '\n');
    }
    for (size_t i = 0; i < step->given_count; i++)
        if (explain_shows(&step->givens[i], page->full))
            add_table(page, &step->givens[i].table);
    if (step->table.row_count)
        add_table(page, &step->table);
    if (step->worked.latex)
        buf_format(&page->text, "\n$%s$\n", step->worked.latex);
}

static void add_fact(struct buf *out, const struct explain_fact *fact)
{
    const char *bold = fact->is_query ? "**" : "";
    buf_format(out, "- %s: %s", fact->name, bold);
    if (fact->size)
        markdown_text(out, fact->quoted, fact->size);
    buf_format(out, "%s%s\n", bold, fact->words);
}

static void add_explanation(struct page *page, const struct explanation *explanation)
{
    page->explanation = explanation;
    if (page->several) {
        buf_text(&page->text, "\n## ");
        add_text(page, explanation->text->labels[explanation->query].exact);
        buf_text(&page->text, "\n\n");
    }
    explain_facts_add_query(&page->text, explanation, add_fact);
    for (size_t i = 0; i < explanation->step_count; i++)
        add_step(page, &explanation->steps[i]);
}

int explain_markdown_write(struct stream *out, const struct explanations *explanations,
                           const struct explain_page *how, struct err *err)
{
    struct page page = {.full = how->full, .several = explanations->several};
    buf_format(&page.text, "# %s, step by step\n\n", page.several ? "Every query" : "One query");
    explain_facts_add(&page.text, explanations->items->report, add_fact);
    for (size_t i = 0; i < explanations->count; i++)
        add_explanation(&page, &explanations->items[i]);
    int failed = buf_check(&page.text, err);
    if (!failed)
        stream_bytes(out, page.text.bytes, page.text.size);
    buf_release(&page.text);
    buf_release(&page.dashes);
    return failed;
}
