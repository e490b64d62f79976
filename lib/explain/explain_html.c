/* explain_html.c: explanations as one page of HTML: no scripts, nothing from a network, light or
 * dark as its reader has it, and black on white on paper.
 *
 * Whole vectors come in several tables, as in LaTeX: a page as wide as a matrix could be neither
 * read nor printed.
 */
#include <math.h>
#include <string.h>

#include "explain/explain_facts.h"
#include "explain/explain_walk.h"
#include "explain/html_text.h"

enum { PAGE_COLUMNS = 100 }; /* characters of a line of the page, as explain_layout counts them */

static const double bar_em = 7; /* the bar of a weight of 1 */

/* What is written, and how. */
struct page {
    struct buf text;
    const struct explain_table *table; /* that is being written */
    bool several;                      /* explanations */
    bool in_body;                      /* of that table */
};

static const char looks[] =
    ":root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --faint: #5c6570;\n"
    "  --line: #d3d8de; --own: #fff3d6; --bar: #3b6fb6; --box: #f4f6f8; }\n"
    "@media (prefers-color-scheme: dark) { :root { --ink: #e4e7eb; --paper: #15181c;\n"
    "  --faint: #a3acb7; --line: #3a4149; --own: #3d3420; --bar: #7fb0f0; --box: #1f242a; } }\n"
    "body { margin: 0; background: var(--paper); color: var(--ink);\n"
    "  font: 16px/1.5 system-ui, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif; }\n"
    "main { max-width: 62rem; margin: 0 auto; padding: 1rem 1.25rem 3rem; }\n"
    "h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin: 2rem 0 .5rem; }\n"
    "h3 { font-size: 1.1rem; margin: 1.75rem 0 .5rem; }\n"
    "dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; }\n"
    "dt { color: var(--faint); } dd { margin: 0; overflow-wrap: anywhere; }\n"
    "code { font-family: ui-monospace, 'DejaVu Sans Mono', monospace; font-size: .92em; }\n"
    "nav a { margin-right: .9rem; color: inherit; }\n"
    ".formula, .worked { font-family: 'STIX Two Math', 'Cambria Math', Georgia,\n"
    "  'DejaVu Serif', serif; overflow-wrap: anywhere; }\n"
    ".formula { font-size: 1.12rem; margin: .35rem 0 .35rem 1.5rem; }\n"
    ".worked { background: var(--box); border-left: 3px solid var(--line);\n"
    "  padding: .4rem .8rem; margin: .7rem 0; font-variant-numeric: tabular-nums; }\n"
    "sub, sup { line-height: 0; font-size: .74em; }\n"
    ".root { border-top: 1px solid; padding: 0 .15em; }\n"
    ".scroll { overflow-x: auto; margin: .7rem 0; }\n"
    "table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }\n"
    "th, td { padding: .12rem .55rem; text-align: right; font-weight: 400; white-space: nowrap; }\n"
    "th[scope=row], thead th:first-child { text-align: left; }\n"
    "thead th { color: var(--faint); border-bottom: 1px solid var(--line); }\n"
    "thead .group { text-align: center; }\n"
    "tfoot th, tfoot td { border-top: 1px solid var(--line); font-weight: 600; }\n"
    ".own th, .own td { background: var(--own); font-weight: 600; }\n"
    ".bar { text-align: left; } .bar span { display: inline-block; height: .7em;\n"
    "  background: var(--bar); }\n"
    "@media print { :root { --ink: #000; --paper: #fff; --faint: #444; --line: #999;\n"
    "  --own: #eee; --bar: #555; --box: #fff; } body { font-size: 10pt; }\n"
    "  main { max-width: none; padding: 0; } nav { display: none; }\n"
    "  .scroll { overflow: visible; } table { font-size: 7.5pt; } tr { break-inside: avoid; }\n"
    "  h1, h2, h3, .formula { break-after: avoid; } tfoot { display: table-row-group; }\n"
    "  .bar span, .own th, .own td { print-color-adjust: exact;\n"
    "  -webkit-print-color-adjust: exact; } .walk + .walk { break-before: page; } }\n";

/* --- a table ---------------------------------------------------------------------------------- */

static void add_heading(struct page *page, const struct explain_cell *cell)
{
    struct buf symbol = {0};
    struct buf heading = {0};
    html_formula(&symbol, cell->block->symbol.text);
    if (cell->block->is_vector)
        explain_heading(&heading, symbol.size ? symbol.bytes : "", cell->cut);
    buf_format(&page->text, "<th class=\"group\" colspan=\"%zu\">%s</th>",
               text_cut_slots(cell->cut) + cell->block->is_share,
               heading.size ? heading.bytes : "");
    page->text.out_of_memory |= symbol.out_of_memory || heading.out_of_memory;
    buf_release(&symbol);
    buf_release(&heading);
}

static void add_title(struct page *page, const struct explain_cell *cell)
{
    buf_text(&page->text, "<th scope=\"col\">");
    if (cell->block->is_vector)
        buf_format(&page->text, "%zu", cell->number);
    else
        html_formula(&page->text, cell->block->symbol.text);
    buf_text(&page->text, "</th>");
}

static void add_number(struct page *page, const struct explain_cell *cell)
{
    buf_format(&page->text, "<td>%s</td>", isinf(cell->value) ? "−∞" : cell->digits);
}

static void add_dots(struct page *page, const struct explain_cell *cell)
{
    buf_text(&page->text, cell->line == LINE_TITLES ? "<th>…</th>" : "<td>…</td>");
}

static void add_bar(struct page *page, const struct explain_cell *cell)
{
    if (cell->line == LINE_ROW)
        buf_format(&page->text, "<td class=\"bar\"><span style=\"width: %.2fem\"></span></td>",
                   bar_em * (double)cell->value);
    else
        buf_text(&page->text, cell->line == LINE_TITLES ? "<th></th>" : "<td></td>");
}

static void add_label(struct page *page, size_t row)
{
    const struct step_table *table = page->table->data;
    const char *name = table->rows[row].text;
    buf_format(&page->text, "<tr%s><th scope=\"row\">",
               row == table->own_row ? " class=\"own\"" : "");
    if (table->of_keys)
        buf_format(&page->text, "%zu ", row);
    buf_text(&page->text, "<bdi>");
    html_text(&page->text, name, strlen(name));
    buf_text(&page->text, "</bdi></th>");
}

/* Of the table, after its titles. */
static void begin_body(struct page *page)
{
    if (!page->in_body)
        buf_text(&page->text, "</thead><tbody>\n");
    page->in_body = true;
}

static void begin_line(struct page *page, enum explain_line line, size_t row)
{
    if (line == LINE_ROW || line == LINE_GAP)
        begin_body(page);
    switch (line) {
    case LINE_HEADINGS:
        buf_text(&page->text, "<tr><td></td>");
        break;
    case LINE_TITLES:
        buf_format(&page->text, "<tr><th scope=\"col\">%s</th>", page->table->data->corner);
        break;
    case LINE_ROW:
        add_label(page, row);
        break;
    case LINE_GAP:
        buf_text(&page->text, "<tr><th scope=\"row\">…</th>");
        break;
    case LINE_TOTAL:
        buf_format(&page->text, "</tbody><tfoot>\n<tr><th scope=\"row\">%s</th>",
                   page->table->data->total);
        break;
    }
}

static void end_line(struct page *page, enum explain_line line)
{
    (void)line;
    buf_text(&page->text, "</tr>\n");
}

static void begin_table(struct page *page, const struct explain_table *table)
{
    page->table = table;
    page->in_body = false;
    buf_text(&page->text, "<div class=\"scroll\"><table><thead>\n");
}

static void end_table(struct page *page)
{
    buf_format(&page->text, "</%s></table></div>\n", page->table->data->total ? "tfoot" : "tbody");
}

/* --- the page --------------------------------------------------------------------------------- */

static void begin_step(struct page *page, size_t number, const char *title)
{
    const char *level = page->several ? "h3" : "h2";
    buf_format(&page->text, "<section>\n<%s>%zu. %s</%s>\n", level, number, title, level);
}

static void end_section(struct page *page)
{
    buf_text(&page->text, "</section>\n");
}

static void add_paragraph(struct page *page, enum explain_text kind, const char *text)
{
    static const char *const begin[] = {[EXPLAIN_FORMULA] = "<p class=\"formula\">",
                                        [EXPLAIN_NOTE] = "<p>",
                                        [EXPLAIN_WORKED] = "<p class=\"worked\">"};
    buf_text(&page->text, begin[kind]);
    (kind == EXPLAIN_NOTE ? html_prose : html_formula)(&page->text, text);
    buf_text(&page->text, "</p>\n");
}

static void add_fact(struct buf *out, const struct explain_fact *fact)
{
    buf_format(out, "<dt>%s</dt><dd>", fact->name);
    if (fact->size) {
        buf_text(out, "<code>");
        html_text(out, fact->quoted, fact->size);
        buf_text(out, "</code>");
    }
    html_text(out, fact->words, strlen(fact->words));
    buf_text(out, "</dd>\n");
}

static void begin_query(struct page *page, const struct explanation *explanation, size_t place)
{
    const char *token = explain_token(explanation);
    (void)place;
    buf_format(&page->text, "<section class=\"walk\" id=\"token-%zu\">\n", explanation->query);
    if (page->several) {
        buf_text(&page->text, "<h2><bdi>");
        html_text(&page->text, token, strlen(token));
        buf_text(&page->text, "</bdi></h2>\n");
    }
    buf_text(&page->text, "<dl>\n");
    explain_facts_add_query(&page->text, explanation, add_fact);
    buf_text(&page->text, "</dl>\n");
}

/* A link to each of several. */
static void add_links(struct page *page, const struct explanations *explanations)
{
    buf_text(&page->text, "<nav>\n");
    for (size_t i = 0; i < explanations->count; i++) {
        const char *token = explain_token(&explanations->items[i]);
        buf_format(&page->text, "<a href=\"#token-%zu\"><bdi>", explanations->items[i].query);
        html_text(&page->text, token, strlen(token));
        buf_text(&page->text, "</bdi></a>\n");
    }
    buf_text(&page->text, "</nav>\n");
}

/* Its title is the text: what a browser shows on a tab. */
static void begin_page(struct page *page, const struct report *report)
{
    struct buf title = {0};
    buf_text(&page->text, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                          "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    reading_visible(&title, &report->sentence);
    html_text(&page->text, title.bytes ? title.bytes : "", title.size);
    page->text.out_of_memory |= title.out_of_memory;
    buf_release(&title);
    buf_format(&page->text,
               ", step by step</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n", looks);
}

int explain_html_write(struct stream *out, const struct explanations *explanations,
                       const struct explain_page *how, struct err *err)
{
    static const struct explain_form form = {
        .begin_query = begin_query,
        .begin_step = begin_step,
        .add_text = add_paragraph,
        .table = {begin_table,
                  begin_line,
                  NULL,
                  {add_heading, add_title, add_number, add_dots, add_bar},
                  end_line,
                  end_table},
        .end_step = end_section,
        .end_query = end_section,
    };
    struct page page = {.several = explanations->several};
    const struct report *report = explanations->items->report;
    begin_page(&page, report);
    buf_format(&page.text, "<h1>%s, step by step</h1>\n<dl>\n",
               page.several ? "Every query" : "One query");
    explain_facts_add(&page.text, report, add_fact);
    buf_text(&page.text, "</dl>\n");
    if (page.several)
        add_links(&page, explanations);
    explain_walk(explanations, &form, &page, &(struct explain_page){PAGE_COLUMNS, how->full});
    buf_text(&page.text, "</main>\n</body>\n</html>\n");
    int failed = text_send(out, &page.text, err);
    buf_release(&page.text);
    return failed;
}
