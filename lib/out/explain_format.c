#include "out/explain_format.h"

#include <string.h>

const struct explain_format explain_formats[] = {
    {"text", ".txt", "a page to read, fitted to the terminal", explain_text_write},
    {"markdown", ".md", "tables and formulas for GitHub, Jupyter, pandoc", explain_markdown_write},
    {"latex", ".tex", "a document for pdflatex, xelatex or lualatex", explain_latex_write},
    {"html", ".html", "a page for browsers and paper, without scripts", explain_html_write},
    {"json", ".json", "all numbers and the matrices they follow from, for programs",
     explain_json_write},
};

const size_t explain_format_count = sizeof explain_formats / sizeof *explain_formats;

const struct explain_format *explain_format_find(const char *name)
{
    for (size_t i = 0; i < explain_format_count; i++)
        if (strcmp(explain_formats[i].name, name) == 0)
            return &explain_formats[i];
    return NULL;
}

const struct explain_format *explain_format_of_path(const char *path)
{
    size_t size = strlen(path);
    for (size_t i = 0; i < explain_format_count; i++) {
        size_t ending = strlen(explain_formats[i].ending);
        if (size >= ending && strcmp(path + size - ending, explain_formats[i].ending) == 0)
            return &explain_formats[i];
    }
    return NULL;
}
