/* explain_latex.c: an explanation as a LaTeX document; pdfLaTeX, XeLaTeX and LuaLaTeX take it.
 *
 * A vector that is wide and to be shown whole comes in several tables, some elements each, and so
 * do many keys: paper has no endless lines, and no endless pages.
 */
#include <string.h>

#include "explain/explain_facts.h"
#include "explain/explain_walk.h"
#include "explain/latex_text.h"

enum {
    PAGE_COLUMNS = 105, /* characters of a line, in \small on A4 */
    PAGE_ROWS = 40,
    BAR_CENTIMETRES = 3, /* for a weight of 1 */
};

#define RULE "\\noalign{\\smallskip}\\hline\\noalign{\\smallskip}\n"

/* What is written, and how. */
struct page {
    struct buf text;
    bool several;                      /* explanations */
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
    numeral_latex(&page->text, cell->digits);
}

static void add_title(struct page *page, const struct explain_cell *cell)
{
    if (cell->block->is_vector)
        buf_format(&page->text, "%zu", cell->number);
    else
        buf_text(&page->text, cell->block->symbol.latex);
}

static void add_dots(struct page *page, const struct explain_cell *cell)
{
    (void)cell;
    buf_text(&page->text, "\\cdots");
}

static void add_bar(struct page *page, const struct explain_cell *cell)
{
    if (cell->line == LINE_ROW)
        buf_format(&page->text, " \\rule{%.2fcm}{1.2ex}", BAR_CENTIMETRES * (double)cell->value);
}

static void separate(struct page *page, const struct explain_cell *cell)
{
    buf_text(&page->text, cell->kind == CELL_HEADING ? "" : cell->kind == CELL_BAR ? " &" : " & ");
}

static void begin_tabular(struct page *page)
{
    buf_text(&page->text, "\n\\medskip\\begin{tabular}{");
    add_columns(page, page->table);
    buf_text(&page->text, "}\n");
    page->rows = 0;
}

static void end_table(struct page *page)
{
    buf_text(&page->text, "\\end{tabular}\\medskip\n");
}

static void begin_table(struct page *page, const struct explain_table *table)
{
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

/* A tabular does not break: where a page could be full, another one begins. */
static void turn_page(struct page *page)
{
    end_table(page);
    begin_tabular(page);
    explain_table_begin(page->table);
}

static void begin_line(struct page *page, enum explain_line line, size_t row)
{
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

static void end_line(struct page *page, enum explain_line line)
{
    buf_text(&page->text, line == LINE_HEADINGS ? "" : " \\\\\n");
    buf_text(&page->text, line == LINE_TITLES ? RULE : "");
}

static void begin_step(struct page *page, size_t number, const char *title)
{
    buf_format(&page->text, "\n\\subsection*{%zu\\quad %s}\n", number, title);
}

static void add_paragraph(struct page *page, enum explain_text kind, const char *text)
{
    static const char *const around[][2] = {[EXPLAIN_FORMULA] = {"\\[ ", " \\]\n"},
                                            [EXPLAIN_NOTE] = {"", "\n"},
                                            [EXPLAIN_WORKED] = {"\n$", "$\n"}};
    buf_text(&page->text, around[kind][0]);
    (kind == EXPLAIN_NOTE ? explain_prose : buf_text)(&page->text, text);
    buf_text(&page->text, around[kind][1]);
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

/* One query's facts go on in the list of those above; each of several has a page, and a list. */
static void begin_query(struct page *page, const struct explanation *explanation, size_t place)
{
    if (page->several) {
        buf_text(&page->text, place ? "\n\\clearpage\\section*{" : "\n\\section*{");
        add_text(page, explain_token(explanation));
        buf_text(&page->text, "}\n");
        begin_facts(page);
    }
    explain_facts_add_query(&page->text, explanation, add_fact);
    end_facts(page);
}

int explain_latex_write(struct stream *out, const struct explanations *explanations,
                        const struct explain_page *how, struct err *err)
{
    static const struct explain_form form = {
        .latex = true,
        .begin_query = begin_query,
        .begin_step = begin_step,
        .add_text = add_paragraph,
        .table = {begin_table,
                  begin_line,
                  separate,
                  {add_heading, add_title, add_number, add_dots, add_bar},
                  end_line,
                  end_table},
    };
    struct page page = {.several = explanations->several};
    add_preamble(&page);
    buf_format(&page.text, "\\section*{%s, step by step}\n",
               page.several ? "Every query" : "One query");
    begin_facts(&page);
    explain_facts_add(&page.text, explanations->items->report, add_fact);
    if (page.several)
        end_facts(&page);
    explain_walk(explanations, &form, &page, &(struct explain_page){PAGE_COLUMNS, how->full});
    buf_text(&page.text, "\\end{document}\n");
    int failed = text_send(out, &page.text, err);
    buf_release(&page.text);
    return failed;
}
