#include "explain/explain_format.h"

#include "write/format.h"

const struct explain_format explain_formats[] = {
    {"text", ".txt", "a page to read, fitted to the terminal", false, explain_text_write, NULL},
    {"markdown", ".md", "tables and formulas for GitHub, Jupyter, pandoc", false,
     explain_markdown_write, NULL},
    {"latex", ".tex", "a document for pdflatex, xelatex or lualatex", false, explain_latex_write,
     NULL},
    {"html", ".html", "a page for browsers and paper, without scripts", false, explain_html_write,
     NULL},
    {"pdf", ".pdf", "pages of A4 (needs pango and cairo)", true, explain_pdf_write, drawing_check},
    {"json", ".json", "all numbers and the matrices they follow from, for programs", false,
     explain_json_write, NULL},
};

const size_t explain_format_count = sizeof explain_formats / sizeof *explain_formats;
