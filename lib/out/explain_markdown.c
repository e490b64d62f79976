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
#include "out/explain_layout.h"
#include "out/markdown_text.h"

enum { PAGE_COLUMNS = 100 }; /* what a table may take of a page in a browser */

/* What is written, and how. */
struct page {
    struct buf text;
    const struct explanation *explanation;
    size_t columns;
};

static void add_text(struct page *page, const char *text)
{
    markdown_text(&page->text, text, strlen(text));
}

/* A line that says what is shown in part. */
static void add_note(struct page *page, const struct step *step,
                     const struct explain_layout *layout)
{
    for (size_t b = 0; b < step->block_count; b++) {
        const struct text_cut *cut = &layout->cuts[b];
        if (text_is_cut(cut))
            buf_format(&page->text, "\n(%zu of %zu elements)\n", cut->front + cut->back, cut->size);
    }
}

/* $q_{0}$, $(k_j)_{0}$, or the number alone */
static void add_element(struct page *page, const struct block *block, size_t element)
{
    const char *symbol = block->symbol.latex;
    size_t number = block->first + element;
    if (!block->is_vector)
        buf_format(&page->text, " $%s$ |", symbol);
    else if (*symbol == '\0')
        buf_format(&page->text, " %zu |", number);
    else
        buf_format(&page->text, symbol[1] ? " $(%s)_{%zu}$ |" : " $%s_{%zu}$ |", symbol, number);
}

static void add_value(struct page *page, const struct block *block, float value)
{
    char text[NUMERAL_BYTES] = "";
    if (!isnan(value))
        numeral_write(text, block->numeral, value);
    buf_format(&page->text, isinf(value) ? " $-\\infty$ |" : " %s |", text);
}

/* What stands in a line for one block: above the numbers, the line of dashes, a row, the total. */
enum line { TITLES, DASHES, ROW, TOTAL };

static void add_cell(struct page *page, enum line line, const struct block *block, size_t row,
                     size_t element)
{
    switch (line) {
    case TITLES:
        add_element(page, block, element);
        break;
    case DASHES:
        buf_text(&page->text, "--:|");
        break;
    case ROW:
        add_value(page, block, explain_cell(block, row, element));
        break;
    case TOTAL:
        add_value(page, block, explain_total(block, element));
        break;
    }
}

static void add_bar(struct page *page, enum line line, const struct block *block, size_t row)
{
    char bar[BAR_BYTES] = "";
    if (line == ROW) {
        bar_draw(bar, (double)explain_cell(block, row, 0));
        bar[strcspn(bar, " ")] = '\0';
    }
    buf_format(&page->text, line == DASHES ? ":--|" : " %s |", bar);
}

static void add_line(struct page *page, const struct step *step,
                     const struct explain_layout *layout, enum line line, size_t row)
{
    for (size_t b = 0; b < step->block_count; b++) {
        const struct block *block = &step->blocks[b];
        const struct text_cut *cut = &layout->cuts[b];
        for (size_t slot = 0; slot < text_cut_slots(cut); slot++) {
            if (text_cut_between(cut, slot))
                buf_text(&page->text, line == DASHES ? "--:|" : " … |");
            else
                add_cell(page, line, block, row, text_cut_place(cut, slot));
        }
        if (block->is_share)
            add_bar(page, line, block, row);
    }
    buf_char(&page->text, '\n');
}

static void add_label(struct page *page, const struct step *step, size_t row)
{
    const char *bold = row == step->own_row ? "**" : "";
    buf_format(&page->text, "| %s", bold);
    if (step->of_keys)
        buf_format(&page->text, "%zu ", row);
    add_text(page, step->rows[row].text);
    buf_format(&page->text, "%s |", bold);
}

static void add_rows(struct page *page, const struct step *step,
                     const struct explain_layout *layout)
{
    size_t count = explain_row_count(page->explanation, step);
    for (size_t slot = 0; slot <= count; slot++) {
        if (explain_gap(page->explanation, step, slot))
            buf_text(&page->text, "| … |\n");
        if (slot == count)
            break;
        size_t row = explain_row(page->explanation, step, slot);
        add_label(page, step, row);
        add_line(page, step, layout, ROW, row);
    }
}

static void add_table(struct page *page, const struct step *step)
{
    struct explain_layout layout = explain_layout(page->explanation, step, page->columns);
    buf_format(&page->text, "\n| %s |", step->corner);
    add_line(page, step, &layout, TITLES, 0);
    buf_text(&page->text, "|:--|");
    add_line(page, step, &layout, DASHES, 0);
    add_rows(page, step, &layout);
    if (step->total) {
        buf_text(&page->text, "| **");
        add_text(page, step->total);
        buf_text(&page->text, "** |");
        add_line(page, step, &layout, TOTAL, 0);
    }
    add_note(page, step, &layout);
}

static void add_step(struct page *page, const struct step *step)
{
    buf_format(&page->text, "\n## %zu. %s\n", (size_t)(step - page->explanation->steps) + 1,
               step->title);
    for (size_t i = 0; i < step->formula_count; i++)
        buf_format(&page->text, "\n$$%s$$\n", step->formulas[i].latex);
    if (step->note) {
        buf_char(&page->text, '\n');
        explain_prose(&page->text, step->note);
        buf_char(&page->text, '\n');
    }
    if (step->row_count)
        add_table(page, step);
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

int explain_markdown_write(struct stream *out, const struct explanation *explanation,
                           const struct explain_page *form, struct err *err)
{
    struct page page = {{0}, explanation, form->full ? 0 : PAGE_COLUMNS};
    buf_text(&page.text, "# One query, step by step\n\n");
    explain_facts_add(&page.text, explanation, add_fact);
    for (size_t i = 0; i < explanation->step_count; i++)
        add_step(&page, &explanation->steps[i]);
    int failed = buf_check(&page.text, err);
    if (!failed)
        stream_bytes(out, page.text.bytes, page.text.size);
    buf_release(&page.text);
    return failed;
}
