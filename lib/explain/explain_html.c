/* explain_html.c: explanations as one page of HTML: no scripts, nothing from a network, light or
 * dark as its reader has it, and black on white on paper.
 *
 * Whole vectors come in several tables: a page as wide as a matrix could be neither read nor
 * printed.
 */
#include <string.h>

#include "explain/explain_walk.h"

enum { PAGE_COLUMNS = 100 }; /* characters of a line of the page, as explain_table.c counts them */

static const double bar_em = 7; /* the bar of a weight of 1 */

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

void html_text(struct buf *out, const char *text, size_t size)
{
    static const char *const entities[] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;"};
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        const char *entity = c < sizeof entities / sizeof *entities ? entities[c] : NULL;
        if (entity)
            buf_text(out, entity);
        else
            buf_char(out, text[i]);
    }
}

void html_prose(struct buf *out, const char *sentence)
{
    while (*sentence) {
        size_t blanks = strspn(sentence, " ");
        size_t size = strcspn(sentence + blanks, " ");
        const char *word = sentence + blanks;
        buf_bytes(out, sentence, blanks);
        if (memchr(word, '_', size))
            html_symbol(out, word, size);
        else
            html_text(out, word, size);
        sentence = word + size;
    }
}

static void add_heading(struct buf *out, const struct explain_cell *cell)
{
    buf_format(out, "<th class=\"group\" colspan=\"%zu\">%s</th>",
               text_cut_slots(cell->cut) + cell->block->is_share, cell->text);
}

static void add_bar(struct buf *out, double share)
{
    buf_format(out, "<td class=\"bar\"><span style=\"width: %.2fem\"></span></td>", bar_em * share);
}

static void add_links(struct buf *out, const struct explanations *explanations)
{
    buf_text(out, "<nav>\n");
    for (size_t i = 0; i < explanations->count; i++) {
        const char *token = explain_token(&explanations->items[i]);
        buf_format(out, "<a href=\"#token-%zu\"><bdi>", explanations->items[i].query);
        html_text(out, token, strlen(token));
        buf_text(out, "</bdi></a>\n");
    }
    buf_text(out, "</nav>\n");
}

/* Its title is the text: what a browser shows on a tab. */
static void begin_page(struct buf *out, const struct report *report)
{
    struct buf title = {0};
    buf_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    tokenized_visible(&title, &report->sentence);
    html_text(out, title.bytes ? title.bytes : "", title.size);
    out->out_of_memory |= title.out_of_memory;
    buf_release(&title);
    buf_format(out, ", step by step</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n",
               looks);
}

#define ROW_TITLE "<tr><th scope=\"row\">"

static const struct markup markup = {
    .form = {.formula = html_formula, .infinity = "−∞"},
    .prose = html_prose,
    .begin = begin_page,
    .title = {"<h1>", "</h1>\n"},
    .links = add_links,
    .end = "</main>\n</body>\n</html>\n",
    .facts = {"<dl>\n", "</dl>\n"},
    .text = html_text,
    .escapes_words = true,
    .fact = {"<dt>", "</dt><dd>", "</dd>\n"},
    .quote = {"<code>", "</code>"},
    .query_quote = {"<code>", "</code>"},
    .anchor = {"<section class=\"walk\" id=\"token-", "\">\n"},
    .query = {"<h2><bdi>", "</bdi></h2>\n"},
    .query_end = "</section>\n",
    .step = {{"<section>\n<h2>", ". ", "</h2>\n"}, {"<section>\n<h3>", ". ", "</h3>\n"}},
    .step_end = "</section>\n",
    .paragraphs = {[EXPLAIN_FORMULA] = {"<p class=\"formula\">", "</p>\n"},
                   [EXPLAIN_NOTE] = {"<p>", "</p>\n"},
                   [EXPLAIN_WORKED] = {"<p class=\"worked\">", "</p>\n"}},
    .table_begin = "<div class=\"scroll\"><table><thead>\n",
    .lines = {[LINE_HEADINGS] = {"<tr><td>", "</td>", "</tr>\n"},
              [LINE_TITLES] = {"<tr><th scope=\"col\">", "</th>", "</tr>\n</thead><tbody>\n"},
              [LINE_ROW] = {ROW_TITLE, "</th>", "</tr>\n"},
              [LINE_GAP] = {ROW_TITLE, "</th>", "</tr>\n"},
              [LINE_TOTAL] = {"</tbody><tfoot>\n" ROW_TITLE, "</th>", "</tr>\n"}},
    .own_row = {"<tr class=\"own\"><th scope=\"row\">", "</th>"},
    .name = {"<bdi>", "</bdi>"},
    .titles = {[CELL_TITLE] = {"<th scope=\"col\">", "</th>"},
               [CELL_DOTS] = {"<th>", "</th>"},
               [CELL_BAR] = {"<th>", "</th>"}},
    .cells = {[CELL_NUMBER] = {"<td>", "</td>"},
              [CELL_DOTS] = {"<td>", "</td>"},
              [CELL_BAR] = {"<td>", "</td>"}},
    .table_end = {"</tbody></table></div>\n", "</tfoot></table></div>\n"},
    .bar_cell = add_bar,
    .heading_cell = add_heading,
};

int explain_html_write(struct stream *out, const struct explanations *explanations,
                       const struct explain_page *how, struct err *err)
{
    const struct explain_page page = {PAGE_COLUMNS, how->full};
    return explain_markup_write(out, explanations, &page, &markup, err);
}
