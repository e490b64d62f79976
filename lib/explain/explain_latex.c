/* explain_latex.c: an explanation as a LaTeX document; pdfLaTeX, XeLaTeX and LuaLaTeX take it.
 *
 * A vector that is wide and to be shown whole comes in several tables, some elements each, and so
 * do many keys: a tabular does not break, and paper has no endless lines.
 */
#include "explain/explain_walk.h"

enum {
    PAGE_COLUMNS = 105, /* characters of a line, in \small on A4 */
    PAGE_ROWS = 40,
    BAR_CENTIMETRES = 3, /* for a weight of 1 */
};

#define RULE "\\noalign{\\smallskip}\\hline\\noalign{\\smallskip}\n"

/* Columns of numbers are mathematics, what stands above them is not. */
static void add_symbol(struct buf *out, const struct explain_cell *cell)
{
    bool dollars = cell->kind == CELL_HEADING && *cell->block->symbol;
    buf_text(out, dollars ? "$" : "");
    latex_math(out, cell->block->symbol);
    buf_text(out, dollars ? "$" : "");
}

/* The symbol of the vectors above their elements, and a rule below it. */
static void add_heading(struct buf *out, const struct explain_table *table,
                        const struct explain_cell *cell)
{
    size_t slots = text_cut_slots(cell->cut);
    size_t before = 1; /* columns left of the block */
    for (size_t b = 0; b < cell->place; b++)
        before += text_cut_slots(&table->cuts[b]) + table->data->blocks[b].is_share;
    if (*cell->text)
        buf_format(out,
                   "\\multicolumn{%zu}{l}{} & \\multicolumn{%zu}{c}{%s} \\\\\n"
                   "\\cline{%zu-%zu}\n",
                   before, slots, cell->text, before + 1, before + slots);
}

static void add_bar(struct buf *out, double share)
{
    buf_format(out, " & \\rule{%.2fcm}{1.2ex}", BAR_CENTIMETRES * share);
}

static void add_preamble(struct buf *out, const struct report *report)
{
    (void)report;
    buf_text(out, "\\documentclass[a4paper,fleqn]{article}\n"
                  "\\usepackage[margin=2cm]{geometry}\n"
                  "\\usepackage{amsmath,array}\n"
                  "\\newcolumntype{R}{>{$}r<{$}}\n"
                  "\\setlength{\\mathindent}{0pt}\n"
                  "\\setlength{\\tabcolsep}{4pt}\n"
                  "\\setlength{\\parindent}{0pt}\n");
    latex_preamble_signs(out);
    buf_text(out, "\\begin{document}\n\\raggedright\\small\n");
}

static const struct markup markup = {
    .form = {.formula = latex_math, .symbol = add_symbol, .number = numeral_latex},
    .prose = latex_prose,
    .begin = add_preamble,
    .title = {"\\section*{", "}\n"},
    .end = "\\end{document}\n",
    .facts = {"\\begin{description}\\raggedright\n", "\\end{description}\n"},
    .one_list = true,
    .fact = {.text = latex_text, .name = {"\\item[", "] "}, .end = "\n"},
    .query_breaks = {"\n", "\n\\clearpage"},
    .query = {"\\section*{", "}\n"},
    .step = {{"\n\\subsection*{", "\\quad ", "}\n"}, {"\n\\subsection*{", "\\quad ", "}\n"}},
    .paragraphs = {[EXPLAIN_FORMULA] = {"\\[ ", " \\]\n"},
                   [EXPLAIN_NOTE] = {"", "\n"},
                   [EXPLAIN_WORKED] = {"\n$", "$\n"}},
    .table_begin = "\n\\medskip\\begin{tabular}{",
    .columns = {"@{}l", "R", "l", "}\n"}, /* R is a number */
    .lines = {[LINE_TITLES] = {.end = " \\\\\n" RULE},
              [LINE_ROW] = {.end = " \\\\\n"},
              [LINE_GAP] = {.end = " \\\\\n"},
              [LINE_TOTAL] = {.before = RULE, .end = " \\\\\n"}},
    .own_row = {"\\llap{$\\triangleright$\\,}", ""},
    .dots = "\\cdots",
    .gap = "$\\cdots$",
    .cells = {[CELL_TITLE] = {" & ", ""},
              [CELL_NUMBER] = {" & ", ""},
              [CELL_DOTS] = {" & ", ""},
              [CELL_BAR] = {" &", ""}},
    .table_end = {"\\end{tabular}\\medskip\n", "\\end{tabular}\\medskip\n"},
    .rows_max = PAGE_ROWS,
    .bar_cell = add_bar,
    .heading_cell = add_heading,
};

int explain_latex_write(struct stream *out, const struct explanations *explanations,
                        const struct explain_page *how, struct err *err)
{
    const struct explain_page page = {PAGE_COLUMNS, how->full};
    return explain_markup_write(out, explanations, &page, &markup, err);
}
