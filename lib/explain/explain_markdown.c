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
#include "explain/explain_facts.h"
#include "explain/explain_walk.h"
#include "explain/markdown_text.h"

enum { PAGE_COLUMNS = 100 }; /* what a table may take of a page in a browser */

/* What is written, and how. */
struct page {
    struct buf text;
    struct buf dashes;                 /* the line below the titles of a table */
    const struct explain_table *table; /* that is being written */
    bool several;                      /* explanations */
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
    size_t number = cell->number;
    if (!block->is_vector)
        buf_format(&page->text, " $%s$ |", symbol);
    else if (*symbol == '\0')
        buf_format(&page->text, " %zu |", number);
    else
        buf_format(&page->text, symbol[1] ? " $(%s)_{%zu}$ |" : " $%s_{%zu}$ |", symbol, number);
}

static void add_number(struct page *page, const struct explain_cell *cell)
{
    buf_format(&page->text, isinf(cell->value) ? " $-\\infty$ |" : " %s |", cell->digits);
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

static void add_dots(struct page *page, const struct explain_cell *cell)
{
    (void)cell;
    buf_text(&page->text, " … |");
}

/* Of the columns below it. */
static void add_dashes(struct page *page, const struct explain_cell *cell)
{
    if (cell->line == LINE_TITLES)
        buf_text(&page->dashes, cell->kind == CELL_BAR ? ":--|" : "--:|");
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

static void begin_line(struct page *page, enum explain_line line, size_t row)
{
    const struct step_table *table = page->table->data;
    switch (line) {
    case LINE_HEADINGS: /* titles have their symbols themselves */
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

static void end_line(struct page *page, enum explain_line line)
{
    if (line == LINE_TITLES)
        buf_format(&page->text, "\n%s", page->dashes.bytes ? page->dashes.bytes : "");
    buf_char(&page->text, '\n');
}

static void begin_table(struct page *page, const struct explain_table *table)
{
    page->table = table;
    buf_clear(&page->dashes);
}

/* A line that says what is shown in part. */
static void end_table(struct page *page)
{
    for (size_t b = 0; b < page->table->data->block_count; b++) {
        const struct text_cut *cut = &page->table->layout.cuts[b];
        if (text_is_cut(cut))
            buf_format(&page->text, "\n(%zu of %zu elements)\n", cut->front + cut->back, cut->size);
    }
}

static void begin_step(struct page *page, size_t number, const char *title)
{
    buf_format(&page->text, "\n%s %zu. %s\n", page->several ? "###" : "##", number, title);
}

static void add_paragraph(struct page *page, enum explain_text kind, const char *text)
{
    static const char *const around[][2] = {[EXPLAIN_FORMULA] = {"\n$$", "$$\n"},
                                            [EXPLAIN_NOTE] = {"\n", "\n"},
                                            [EXPLAIN_WORKED] = {"\n$", "$\n"}};
    buf_text(&page->text, around[kind][0]);
    (kind == EXPLAIN_NOTE ? explain_prose : buf_text)(&page->text, text);
    buf_text(&page->text, around[kind][1]);
}

static void add_fact(struct buf *out, const struct explain_fact *fact)
{
    const char *bold = fact->is_query ? "**" : "";
    buf_format(out, "- %s: %s", fact->name, bold);
    if (fact->size)
        markdown_text(out, fact->quoted, fact->size);
    buf_format(out, "%s%s\n", bold, fact->words);
}

static void begin_query(struct page *page, const struct explanation *explanation, size_t place)
{
    (void)place;
    if (page->several) {
        buf_text(&page->text, "\n## ");
        add_text(page, explain_token(explanation));
        buf_text(&page->text, "\n\n");
    }
    explain_facts_add_query(&page->text, explanation, add_fact);
}

int explain_markdown_write(struct stream *out, const struct explanations *explanations,
                           const struct explain_page *how, struct err *err)
{
    static const struct explain_form form = {
        .latex = true,
        .begin_query = begin_query,
        .begin_step = begin_step,
        .add_text = add_paragraph,
        .table = {begin_table,
                  begin_line,
                  add_dashes,
                  {NULL, add_title, add_number, add_dots, add_bar},
                  end_line,
                  end_table},
    };
    struct page page = {.several = explanations->several};
    buf_format(&page.text, "# %s, step by step\n\n", page.several ? "Every query" : "One query");
    explain_facts_add(&page.text, explanations->items->report, add_fact);
    explain_walk(explanations, &form, &page,
                 &(struct explain_page){how->full ? 0 : PAGE_COLUMNS, how->full});
    page.text.out_of_memory |= page.dashes.out_of_memory;
    buf_release(&page.dashes);
    int failed = text_send(out, &page.text, err);
    buf_release(&page.text);
    return failed;
}
