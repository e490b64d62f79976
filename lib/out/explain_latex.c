/* explain_latex.c: an explanation as a LaTeX document; pdfLaTeX, XeLaTeX and LuaLaTeX take it.
 *
 * A vector that is wide and to be shown whole comes in several tables, some elements each, and so
 * do many keys: paper has no endless lines, and no endless pages.
 */
#include <math.h>
#include <string.h>

#include "out/explain_facts.h"
#include "out/explain_format.h"
#include "out/explain_table.h"
#include "out/latex_text.h"

enum {
    PAGE_COLUMNS = 105, /* characters of a line, in \small on A4 */
    PAGE_ROWS = 40,
    BAR_CENTIMETRES = 3, /* for a weight of 1 */
};

#define RULE "\\noalign{\\smallskip}\\hline\\noalign{\\smallskip}\n"

/* What is written, and how. */
struct page {
    struct buf text;
    const struct explanation *explanation;
    bool full;
    const struct explain_table *table; /* that is being written */
    size_t before;                     /* columns of it, left of a block */
    size_t rows;                       /* of its tabular so far */
};

static void add_text(struct page *page, const char *text)
{
    latex_text(&page->text, text, strlen(text));
}

/* The types of the columns: R is a number; a share has its bar after it. */
static void add_columns(struct page *page, const struct explain_table *table)
{
    buf_text(&page->text, "@{}l");
    for (size_t b = 0; b < table->data->block_count; b++) {
        for (size_t slot = 0; slot < text_cut_slots(&table->layout.cuts[b]); slot++)
            buf_char(&page->text, 'R');
        buf_text(&page->text, table->data->blocks[b].is_share ? "l" : "");
    }
}

/* The symbol of the vectors above their elements, and a rule below it. */
static void add_heading(struct page *page, const struct explain_cell *cell)
{
    size_t slots = text_cut_slots(cell->cut);
    const struct block *block = cell->block;
    struct buf symbol = {0};
    struct buf heading = {0};
    if (*block->symbol.latex)
        buf_format(&symbol, "$%s$", block->symbol.latex);
    if (block->is_vector)
        explain_heading(&heading, symbol.size ? symbol.bytes : "", cell->cut);
    if (heading.size)
        buf_format(&page->text,
                   "\\multicolumn{%zu}{l}{} & \\multicolumn{%zu}{c}{%s} \\\\\n"
                   "\\cline{%zu-%zu}\n",
                   page->before, slots, heading.bytes, page->before + 1, page->before + slots);
    page->text.out_of_memory |= symbol.out_of_memory || heading.out_of_memory;
    buf_release(&symbol);
    buf_release(&heading);
    page->before += slots + block->is_share;
}

static void add_number(struct page *page, const struct explain_cell *cell)
{
    char digits[NUMERAL_BYTES] = "";
    if (!isnan(cell->value))
        numeral_write(digits, cell->block->numeral, cell->value);
    numeral_latex(&page->text, digits);
}

static void add_title(struct page *page, const struct explain_cell *cell)
{
    if (cell->block->is_vector)
        buf_format(&page->text, "%zu", cell->block->first + cell->element);
    else
        buf_text(&page->text, cell->block->symbol.latex);
}

static void add_cell(void *to, const struct explain_cell *cell)
{
    struct page *page = to;
    buf_text(&page->text, cell->kind == CELL_HEADING ? "" : cell->kind == CELL_BAR ? " &" : " & ");
    switch (cell->kind) {
    case CELL_HEADING:
        add_heading(page, cell);
        break;
    case CELL_TITLE:
        add_title(page, cell);
        break;
    case CELL_NUMBER:
        add_number(page, cell);
        break;
    case CELL_DOTS:
        buf_text(&page->text, "\\cdots");
        break;
    case CELL_BAR:
        if (cell->line == LINE_ROW)
            buf_format(&page->text, " \\rule{%.2fcm}{1.2ex}",
                       BAR_CENTIMETRES * (double)cell->value);
        break;
    }
}

static void begin_tabular(struct page *page)
{
    buf_text(&page->text, "\n\\medskip\\begin{tabular}{");
    add_columns(page, page->table);
    buf_text(&page->text, "}\n");
    page->rows = 0;
}

static void end_table(void *to)
{
    struct page *page = to;
    buf_text(&page->text, "\\end{tabular}\\medskip\n");
}

static void begin_table(void *to, const struct explain_table *table)
{
    struct page *page = to;
    page->table = table;
    begin_tabular(page);
}

static void add_label(struct page *page, size_t row)
{
    const struct step_table *table = page->table->data;
    buf_text(&page->text, row == table->own_row ? "\\llap{$\\triangleright$\\,}" : "");
    if (table->of_keys)
        buf_format(&page->text, "%zu ", row);
    add_text(page, table->rows[row].text);
}

static void begin_line(void *to, enum explain_line line, size_t row);
static void end_line(void *to, enum explain_line line);

static const struct explain_form form = {begin_table, begin_line, add_cell, end_line, end_table};

/* A tabular does not break: where a page could be full, another one begins. */
static void turn_page(struct page *page)
{
    end_table(page);
    begin_tabular(page);
    explain_table_begin(page->table, &form, page);
}

static void begin_line(void *to, enum explain_line line, size_t row)
{
    struct page *page = to;
    if (page->rows == PAGE_ROWS && (line == LINE_ROW || line == LINE_GAP))
        turn_page(page);
    switch (line) {
    case LINE_HEADINGS:
        page->before = 1;
        break;
    case LINE_TITLES:
        buf_text(&page->text, page->table->data->corner);
        break;
    case LINE_ROW:
        add_label(page, row);
        page->rows++;
        break;
    case LINE_GAP:
        buf_text(&page->text, "$\\cdots$");
        break;
    case LINE_TOTAL:
        buf_text(&page->text, RULE);
        add_text(page, page->table->data->total);
        break;
    }
}

static void end_line(void *to, enum explain_line line)
{
    struct page *page = to;
    buf_text(&page->text, line == LINE_HEADINGS ? "" : " \\\\\n");
    buf_text(&page->text, line == LINE_TITLES ? RULE : "");
}

static void add_table(struct page *page, const struct step_table *data)
{
    struct explain_table table = explain_table(page->explanation, data, PAGE_COLUMNS);
    (page->full ? explain_table_write_parts : explain_table_write)(&table, &form, page);
}

static void add_step(struct page *page, const struct step *step)
{
    buf_format(&page->text, "\n\\subsection*{%zu\\quad %s}\n",
               (size_t)(step - page->explanation->steps) + 1, step->title);
    for (size_t i = 0; i < step->formula_count; i++)
        buf_format(&page->text, "\\[ %s \\]\n", step->formulas[i].latex);
    if (step->note) {
        explain_prose(&page->text, step->note);
        buf_text(&page->text, "\n");
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
    buf_format(out, "\\item[%s] ", fact->name);
    if (fact->size)
        latex_text(out, fact->quoted, fact->size);
    buf_format(out, "%s\n", fact->words);
}

static void begin_facts(struct page *page)
{
    buf_text(&page->text, "\\begin{description}\\raggedright\n");
}

static void end_facts(struct page *page)
{
    buf_text(&page->text, "\\end{description}\n");
}

static void add_preamble(struct page *page)
{
    buf_text(&page->text, "\\documentclass[a4paper,fleqn]{article}\n"
                          "\\usepackage[margin=2cm]{geometry}\n"
                          "\\usepackage{amsmath,array}\n"
                          "\\newcolumntype{R}{>{$}r<{$}}\n"
                          "\\setlength{\\mathindent}{0pt}\n"
                          "\\setlength{\\tabcolsep}{4pt}\n"
                          "\\setlength{\\parindent}{0pt}\n");
    latex_preamble_signs(&page->text);
    buf_text(&page->text, "\\begin{document}\n\\raggedright\\small\n");
}

static void add_steps(struct page *page, const struct explanation *explanation)
{
    page->explanation = explanation;
    for (size_t i = 0; i < explanation->step_count; i++)
        add_step(page, &explanation->steps[i]);
}

static void add_one(struct page *page, const struct explanation *explanation)
{
    buf_text(&page->text, "\\section*{One query, step by step}\n");
    begin_facts(page);
    explain_facts_add(&page->text, explanation->report, add_fact);
    explain_facts_add_query(&page->text, explanation, add_fact);
    end_facts(page);
    add_steps(page, explanation);
}

/* A section and a page for each. */
static void add_several(struct page *page, const struct explanations *explanations)
{
    buf_text(&page->text, "\\section*{Every query, step by step}\n");
    begin_facts(page);
    explain_facts_add(&page->text, explanations->items->report, add_fact);
    end_facts(page);
    for (size_t i = 0; i < explanations->count; i++) {
        const struct explanation *explanation = &explanations->items[i];
        buf_text(&page->text, i ? "\n\\clearpage\\section*{" : "\n\\section*{");
        add_text(page, explanation->text->labels[explanation->query].exact);
        buf_text(&page->text, "}\n");
        begin_facts(page);
        explain_facts_add_query(&page->text, explanation, add_fact);
        end_facts(page);
        add_steps(page, explanation);
    }
}

int explain_latex_write(struct stream *out, const struct explanations *explanations,
                        const struct explain_page *how, struct err *err)
{
    struct page page = {.full = how->full};
    add_preamble(&page);
    if (explanations->several)
        add_several(&page, explanations);
    else
        add_one(&page, explanations->items);
    buf_text(&page.text, "\\end{document}\n");
    int failed = buf_check(&page.text, err);
    if (!failed)
        stream_bytes(out, page.text.bytes, page.text.size);
    buf_release(&page.text);
    return failed;
}
