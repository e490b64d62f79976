/* working_html.c: writes tables with their working as a page without scripts or network access;
 * light or dark as the browser prefers, and black on white in print. */
#include <string.h>

#include "base/language.h"
#include "draw/page.h"
#include "write/working.h"

static const double bar_em = 7; /* length in em of the bar for a weight of 1 */

static void html_plain(struct buf *out, const char *text)
{
    html_text(out, text, strlen(text));
}

static void html_element(struct buf *out, const char *name, const char *text)
{
    buf_format(out, "<%s>", name);
    html_plain(out, text);
    buf_format(out, "</%s>", name);
}

static void html_fact(struct document *document, const char *name, const char *quoted,
                      const char *words)
{
    struct buf *out = &document->text;
    buf_format(out, "<dt>%s</dt><dd>", name);
    if (*quoted)
        html_element(out, "code", quoted);
    html_plain(out, words);
    buf_text(out, "</dd>\n");
}

static void html_cell(struct buf *out, const struct grid *grid, const struct grid_line *line,
                      const struct grid_slot *slot)
{
    static const struct notation notation = {html_formula, html_text, "−∞", false};
    bool bar = slot->kind == SLOT_BAR;
    if (line->kind == LINE_HEADINGS)
        buf_format(out, "<th class=\"group\" colspan=\"%zu\">", slot->column_slots);
    else if (line->kind == LINE_TITLES)
        buf_text(out, slot->kind == SLOT_CELL ? "<th scope=\"col\">" : "<th>");
    else if (bar && line->kind == LINE_ROW)
        buf_format(out, "<td class=\"bar\"><span style=\"width: %.2fem\"></span>",
                   bar_em * (double)*column_vector(slot->column, line->row));
    else
        buf_text(out, "<td>");
    grid_cell(out, grid, line, slot, &notation);
    buf_text(out, line->kind <= LINE_TITLES ? "</th>" : "</td>");
}

static void html_table(struct document *document, const struct grid *grid)
{
    struct buf *out = &document->text;
    buf_text(out, "<div class=\"scroll\"><table><thead>\n");
    for (const struct grid_line *line = grid->lines; line < grid->lines + grid->line_count;
         line++) {
        bool is_heading = line->kind == LINE_HEADINGS;
        buf_text(out, line->kind == LINE_TOTAL ? "</tbody><tfoot>\n" : "");
        buf_text(out, line->is_own ? "<tr class=\"own\">" : "<tr>");
        if (is_heading)
            buf_text(out, "<td></td>");
        else
            buf_format(out, "<th scope=\"%s\">", line->kind == LINE_TITLES ? "col" : "row");
        if (grid_has_number(grid, line))
            buf_format(out, "%zu ", line->row);
        if (line->kind == LINE_ROW)
            html_element(out, "bdi", line->label);
        else
            html_plain(out, line->label);
        buf_text(out, is_heading ? "" : "</th>");
        for (size_t i = 0; i < grid->slot_count && line->kind != LINE_GAP; i++)
            if (!is_heading || grid->slots[i].column_slots)
                html_cell(out, grid, line, &grid->slots[i]);
        buf_text(out, line->kind == LINE_TITLES ? "</tr>\n</thead><tbody>\n" : "</tr>\n");
    }
    buf_format(out, "</%s></table></div>\n", grid->table->working.total ? "tfoot" : "tbody");
}

static void html_piece(struct document *document, enum piece piece, const char *text)
{
    struct buf *out = &document->text;
    int level = report_chapter(document->report)->is_listed ? 3 : 2;
    if (piece == PIECE_TITLE) {
        buf_format(out, "<h%d>%zu. %s</h%d>\n", level, document->number, text, level);
        return;
    }
    buf_text(out, piece == PIECE_FORMULA  ? "<p class=\"formula\">"
                  : piece == PIECE_WORKED ? "<p class=\"worked\">"
                                          : "<p>");
    if (piece == PIECE_NOTE)
        formula_prose(out, text, html_symbol, html_text);
    else
        html_formula(out, text);
    buf_text(out, "</p>\n");
}

static void html_chapter(struct document *document)
{
    struct buf *out = &document->text;
    const struct chapter *chapter = document->chapter;
    if (chapter != report_chapter(document->report))
        buf_text(out, "</section>\n");
    buf_format(out, "<section class=\"walk\" id=\"token-%zu\">\n", chapter->query);
    if (chapter->is_listed) {
        buf_text(out, "<h2>");
        html_element(out, "bdi", chapter_token(chapter));
        buf_text(out, "</h2>\n");
    }
    buf_text(out, "<dl>\n");
    document_chapter_facts(document);
    buf_text(out, "</dl>\n");
}

/* Begin the page. If the report is a list of chapters, the page begins with links to them. The
 * page's <title> begins with the text. */
static int html_beginning(struct document *document)
{
    struct buf *out = &document->text;
    const struct report *report = document->report;
    const struct chapter *chapter = NULL;
    struct buf title = {0};
    tokenized_visible(&title, &report->text);
    buf_format(out, "<!DOCTYPE html>\n<html lang=\"%s\">\n",
               document->language ? document->language : "en");
    buf_text(out, "<head>\n<meta charset=\"utf-8\">\n"
                  "<meta name=\"viewport\" content=\"width=device-width\">\n<title>");
    html_text(out, title.bytes, title.size);
    buf_fail_with(out, &title);
    buf_release(&title);
    buf_text(out, ", step by step</title>\n<style>\n");
    buf_bytes(out, page_explanation_style.bytes, page_explanation_style.size);
    buf_format(out,
               "</style>\n</head>\n<body>\n<main>\n"
               "<h1>%s</h1>\n<dl>\n",
               document_title(document));
    document_facts(document);
    buf_text(out, "</dl>\n");
    if (!report_chapter(report)->is_listed)
        return 0;
    buf_text(out, "<nav>\n");
    for (size_t i = 0; i < report->table_count; i++) {
        if (report->tables[i].working.chapter == chapter)
            continue;
        chapter = report->tables[i].working.chapter;
        buf_format(out, "<a href=\"#token-%zu\">", chapter->query);
        html_element(out, "bdi", chapter_token(chapter));
        buf_text(out, "</a>\n");
    }
    buf_text(out, "</nav>\n");
    return 0;
}

static void html_end(struct document *document)
{
    buf_text(&document->text, "</section>\n</main>\n");
    page_add_command(&document->text, document->report);
    buf_text(&document->text, "</body>\n</html>\n");
}

int html_working_write(struct stream *out, const struct report *report, const struct layout *layout,
                       struct err *err)
{
    static const struct document_format format = {
        .piece = html_piece,
        .fact = html_fact,
        .table = html_table,
        .begin = html_beginning,
        .chapter = html_chapter,
        .end = html_end,
    };
    size_t columns = layout->is_piped || !layout->columns ? PAGE_COLUMNS : layout->columns;
    return document_write(&format, out, report, layout, columns, err);
}
