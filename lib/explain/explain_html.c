/* explain_html.c: explanations as one HTML page without scripts or network access; light or dark as
 * the browser prefers, and black on white in print.
 */
#include <string.h>

#include "explain/explain_page.h"

enum { PAGE_COLUMNS = 100 }; /* usual line width in characters, as computed by explain_page.c */

static const double bar_em = 7; /* bar length for a weight of 1 */

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

/* Append a sentence, with symbols such as W_q as formulas, but not within quotes. */
static void add_prose(struct buf *out, const char *sentence)
{
    while (*sentence) {
        size_t blanks = strspn(sentence, " ");
        size_t size = strcspn(sentence + blanks, " ");
        const char *word = sentence + blanks;
        buf_bytes(out, sentence, blanks);
        if (memchr(word, '_', size) && *word != '\'')
            html_symbol(out, word, size);
        else
            html_text(out, word, size);
        sentence = word + size;
    }
}

static void add_token(struct buf *out, const struct explanation *explanation)
{
    const char *token = explain_token(explanation);
    buf_text(out, "<bdi>");
    html_text(out, token, strlen(token));
    buf_text(out, "</bdi>");
}

static void add_fact(struct buf *out, const char *name, const char *quoted, const char *words)
{
    buf_format(out, "<dt>%s</dt><dd>", name);
    if (*quoted) {
        buf_text(out, "<code>");
        html_text(out, quoted, strlen(quoted));
        buf_text(out, "</code>");
    }
    html_text(out, words, strlen(words));
    buf_text(out, "</dd>\n");
}

/* --- tables ----------------------------------------------------------------------------------- */

static void add_cell(struct buf *out, const struct grid_slot *slot, const struct grid_line *line)
{
    bool bar = slot->kind == SLOT_BAR;
    if (line->kind == LINE_HEADINGS)
        buf_format(out, "<th class=\"group\" colspan=\"%zu\">", slot->block_slots);
    else if (line->kind == LINE_TITLES)
        buf_text(out, slot->kind == SLOT_NUMBER ? "<th scope=\"col\">" : "<th>");
    else if (bar && line->kind == LINE_ROW)
        buf_format(out, "<td class=\"bar\"><span style=\"width: %.2fem\"></span>",
                   bar_em * (double)slot->block->values[line->row]);
    else
        buf_text(out, "<td>");
    if (!bar)
        grid_cell(out, line, slot, html_formula, "−∞");
    buf_text(out, line->kind <= LINE_TITLES ? "</th>" : "</td>");
}

/* Append the cell with the label of a line. */
static void add_label(struct buf *out, const struct grid_line *line, const struct grid *grid)
{
    bool row = line->kind == LINE_ROW;
    buf_text(out, line->is_own ? "<tr class=\"own\">" : "<tr>");
    if (line->kind == LINE_HEADINGS) {
        buf_text(out, "<td></td>");
        return;
    }
    buf_format(out, "<th scope=\"%s\">", line->kind == LINE_TITLES ? "col" : "row");
    if (row && grid->data->of_keys)
        buf_format(out, "%zu ", line->row);
    buf_text(out, row ? "<bdi>" : "");
    html_text(out, line->label, strlen(line->label));
    buf_text(out, row ? "</bdi></th>" : "</th>");
}

static void add_table(struct document *document, const struct grid *grid)
{
    struct buf *out = &document->text;
    buf_text(out, "<div class=\"scroll\"><table><thead>\n");
    for (size_t l = 0; l < grid->line_count; l++) {
        const struct grid_line *line = &grid->lines[l];
        buf_text(out, line->kind == LINE_TOTAL ? "</tbody><tfoot>\n" : "");
        add_label(out, line, grid);
        for (size_t i = 0; i < grid->slot_count && line->kind != LINE_GAP; i++)
            if (line->kind != LINE_HEADINGS || grid->slots[i].block_slots)
                add_cell(out, &grid->slots[i], line);
        buf_text(out, line->kind == LINE_TITLES ? "</tr>\n</thead><tbody>\n" : "</tr>\n");
    }
    buf_format(out, "</%s></table></div>\n", grid->data->total ? "tfoot" : "tbody");
}

/* --- pages ------------------------------------------------------------------------------------ */

static void add_piece(struct document *document, enum piece piece, const char *text)
{
    struct buf *out = &document->text;
    int level = document->all->several ? 3 : 2;
    if (piece == PIECE_TITLE) {
        buf_format(out, "<h%d>%zu. %s</h%d>\n", level, document->step, text, level);
        return;
    }
    buf_text(out, piece == PIECE_FORMULA  ? "<p class=\"formula\">"
                  : piece == PIECE_WORKED ? "<p class=\"worked\">"
                                          : "<p>");
    (piece == PIECE_NOTE ? add_prose : html_formula)(out, text);
    buf_text(out, "</p>\n");
}

static void add_query(struct document *document, const struct explanation *explanation)
{
    struct buf *out = &document->text;
    if (explanation > document->all->items)
        buf_text(out, "</section>\n");
    buf_format(out, "<section class=\"walk\" id=\"token-%zu\">\n", explanation->query);
    if (document->all->several) {
        buf_text(out, "<h2>");
        add_token(out, explanation);
        buf_text(out, "</h2>\n");
    }
    buf_text(out, "<dl>\n");
    explain_query_facts(out, explanation, add_fact);
    buf_text(out, "</dl>\n");
}

static void add_links(struct buf *out, const struct explanations *explanations)
{
    buf_text(out, "<nav>\n");
    for (size_t i = 0; i < explanations->count; i++) {
        buf_format(out, "<a href=\"#token-%zu\">", explanations->items[i].query);
        add_token(out, &explanations->items[i]);
        buf_text(out, "</a>\n");
    }
    buf_text(out, "</nav>\n");
}

static void add_visible(struct buf *out, const struct tokenized *text)
{
    struct buf title = {0};
    tokenized_visible(&title, text);
    html_text(out, title.bytes, title.size);
    buf_fail_with(out, &title);
    buf_release(&title);
}

/* Begin the page. Its title, shown on the browser's tab, is the text. */
static int add_beginning(struct document *document)
{
    const struct explanations *all = document->all;
    struct buf *out = &document->text;
    buf_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    add_visible(out, &all->items->report->sentence);
    buf_format(out,
               ", step by step</title>\n<style>\n%s</style>\n</head>\n<body>\n<main>\n"
               "<h1>%s, step by step</h1>\n<dl>\n",
               looks, all->several ? "Every query" : "One query");
    explain_report_facts(out, all->items->report, add_fact);
    buf_text(out, "</dl>\n");
    if (all->several)
        add_links(out, all);
    return 0;
}

static void add_end(struct document *document)
{
    buf_text(&document->text, "</section>\n</main>\n</body>\n</html>\n");
}

int explain_html_write(struct stream *out, const struct explanations *explanations, struct err *err)
{
    static const struct document_format format = {
        add_beginning, add_query, add_piece, add_table, add_end,
    };
    size_t columns = explanations->columns ? explanations->columns : PAGE_COLUMNS;
    return document_write(&format, out, explanations, columns, err);
}
