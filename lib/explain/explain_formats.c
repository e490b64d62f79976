/* explain_formats.c: explanations as text for a terminal, Markdown, an HTML page and JSON. */
#include <string.h>

#include "base/language.h"
#include "base/num.h"
#include "base/utf8.h"
#include "draw/page.h"
#include "explain/explain_page.h"
#include "write/format.h"

enum { PAGE_COLUMNS = 100 }; /* usual width of tables in a browser, in characters */

typedef void write_word(struct buf *out, const char *word, size_t size);

/* Append a sentence: words such as W_q as symbols, except within quotes. */
static void add_prose(struct buf *out, const char *sentence, write_word *symbol, write_word *other)
{
    while (*sentence) {
        size_t size = strcspn(sentence, " ");
        size_t blanks = strspn(sentence + size, " ");
        bool is_symbol = memchr(sentence, '_', size) && *sentence != '\'';
        (is_symbol ? symbol : other)(out, sentence, size);
        buf_bytes(out, sentence + size, blanks);
        sentence += size + blanks;
    }
}

/* --- text ------------------------------------------------------------------------------------- */

/* An explanation for a terminal, in aligned columns.
 *
 *     life · Life is short, eat dessert first
 *     query · 1:is · layer 0 · head 0
 *
 *     3  Keys and scores
 *        k_j = x_j · W_k
 *        score_j = q · k_j
 *
 *                   ───── k_j ─────
 *        key              0        1    score_j
 *        0 Life     -0.0823  -0.3031    -0.6004
 *      › 1 is        0.5295   1.7355     3.4707
 *
 *        score_0 = 0.5667 · (-0.0823) + 1.8269 · (-0.3031) = -0.6004
 */
enum {
    INDENT = 3,
    WRAPPED = 5, /* indent of continuation lines */
};

static void plain_rule(struct buf *line, size_t columns)
{
    buf_repeat(line, "─", strlen("─"), columns);
}

/* Append a heading centred in `columns`, with rules on both sides if there is room. */
static void plain_centred(struct buf *line, const char *heading, size_t columns)
{
    size_t width = utf8_width(heading, strlen(heading));
    size_t left = columns > width ? (columns - width) / 2 : 0;
    size_t right = columns > width + left ? columns - width - left : 0;
    bool ruled = width > 0 && left >= 2;
    (ruled ? plain_rule : text_blanks)(line, ruled ? left - 1 : left);
    text_blanks(line, ruled);
    buf_text(line, heading);
    text_blanks(line, ruled);
    (ruled ? plain_rule : text_blanks)(line, ruled ? right - 1 : right);
}

static void plain_cell(struct document *document, const struct grid_slot *slot,
                       const struct grid_line *line, const struct grid *grid)
{
    char bar[BAR_BYTES];
    struct buf text = {0};
    struct buf *out = &document->text;
    size_t bar_end = grid->width + EXPLAIN_GAP + BAR_COLUMNS;
    grid_cell(&text, line, slot, buf_text, NULL);
    const char *shown = text.size ? text.bytes : "";
    text_blanks(out, slot->gap);
    if (line->kind == LINE_HEADINGS)
        plain_centred(out, shown, slot->block_width);
    else if (slot->kind != SLOT_BAR)
        text_cell(out, shown, slot->width, true);
    else if (line->kind == LINE_ROW && (!document->columns || bar_end <= document->columns))
        buf_format(out, "  %s", bar_draw(bar, (double)slot->block->values[line->row]));
    buf_fail_with(out, &text);
    buf_release(&text);
}

/* Whether a line is of a key, whose number precedes its label. */
static bool has_number(const struct grid_line *line, const struct grid *grid)
{
    return line->kind == LINE_ROW && grid->data->of_keys &&
           line->row < grid->explanation->key_count;
}

static void plain_label(struct buf *out, const struct grid_line *line, const struct grid *grid)
{
    size_t width = grid->label_width;
    if (line->kind == LINE_TOTAL) {
        text_blanks(out, INDENT);
        plain_rule(out, grid->width);
        buf_char(out, '\n');
    }
    buf_text(out, line->is_own ? " › " : "   ");
    if (has_number(line, grid)) {
        buf_format(out, "%*zu ", grid->number_width, line->row);
        width -= (size_t)grid->number_width + 1;
    }
    text_cell(out, line->label, line->kind == LINE_GAP ? (size_t)grid->number_width : width,
              line->kind == LINE_GAP);
}

static void plain_table(struct document *document, const struct grid *grid)
{
    stream_char(document->out, '\n');
    for (const struct grid_line *line = grid->lines; line < grid->lines + grid->line_count;
         line++) {
        plain_label(&document->text, line, grid);
        for (size_t i = 0; i < grid->slot_count && line->kind != LINE_GAP; i++)
            if (line->kind != LINE_HEADINGS || grid->slots[i].block_slots)
                plain_cell(document, &grid->slots[i], line, grid);
        text_end(document->out, &document->text, document->err);
    }
}

static void plain_piece(struct document *document, enum piece piece, const char *text)
{
    if (piece == PIECE_TITLE) {
        stream_format(document->out, "\n%zu  %s\n", document->step, text);
        return;
    }
    stream_format(document->out, "%s%*s", piece == PIECE_WORKED ? "\n" : "", INDENT, "");
    text_wrap(document->out, text, INDENT, WRAPPED, document->all->columns);
}

/* Write the query, and how many of its keys are shown. */
static void plain_query(struct document *document, const struct explanation *explanation)
{
    struct buf *line = &document->text;
    stream_text(document->out, explanation > document->all->items ? "\n" : "");
    buf_format(line, say(explanation->language, "query · %s"), explain_token(explanation));
    explain_query_words(line, explanation, " · ");
    text_shorten(line, document->all->columns);
    text_end(document->out, line, document->err);
    if (explanation->shown_count == explanation->key_count)
        return;
    buf_format(line,
               say(explanation->language,
                   "(%zu of %zu keys shown: the largest weights, %.2f in total; --full shows all)"),
               explanation->shown_count, explanation->key_count, (double)explanation->shown_weight);
    text_wrap(document->out, line->size ? line->bytes : "", 0, 1, document->all->columns);
    buf_clear(line);
}

static int plain_titles(struct document *document)
{
    const struct style style = {.language = document->all->items->language};
    struct layout layout = {.columns = document->all->columns, .style = &style};
    return text_titles_write(document->out, document->all->items->report, &layout, document->err);
}

/* Write where the head is in the model, and how to see more. */
static void plain_end(struct document *document)
{
    const struct explanation *explanation = document->all->items;
    struct buf *line = &document->text;
    if (document->all->full)
        return;
    buf_format(line,
               say(explanation->language,
                   "(shows 1 layer of %zu and 1 head of %zu: --layer, --head and --token choose "
                   "others; --full shows whole vectors, all keys and the matrices)"),
               explanation->layer_count, explanation->head_count);
    stream_char(document->out, '\n');
    text_wrap(document->out, line->size ? line->bytes : "", 0, 1, document->all->columns);
    buf_clear(line);
}

static int text_write(struct stream *out, const struct explanations *explanations, struct err *err)
{
    static const struct document_format format = {
        plain_titles, plain_query, plain_piece, plain_table, plain_end,
    };
    size_t margin = explanations->columns > INDENT ? INDENT : 0;
    return document_write(&format, out, explanations, explanations->columns - margin, err);
}

/* --- Markdown --------------------------------------------------------------------------------- */

/* Tables of pipes and formulas between dollar signs, for GitHub, GitLab, Jupyter and pandoc.
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

static void markdown_symbol(struct buf *out, const char *word, size_t size)
{
    size_t symbol = size - (strchr(",.:", word[size - 1]) != NULL);
    size_t base = strcspn(word, "_");
    buf_format(out, "$%.*s_{%.*s}$", (int)base, word, (int)(symbol - base - 1), word + base + 1);
    buf_bytes(out, word + symbol, size - symbol);
}

static void markdown_word(struct buf *out, const char *word, size_t size)
{
    if (*word == '\'')
        markdown_text(out, word, size);
    else
        buf_bytes(out, word, size);
}

static void markdown_fact(struct buf *out, const char *name, const char *quoted, const char *words)
{
    bool is_query = strcmp(name, "query") == 0 || strcmp(name, say("zh", "query")) == 0;
    const char *bold = is_query ? "**" : "";
    buf_format(out, "- %s: %s", name, bold);
    markdown_text(out, quoted, strlen(quoted));
    buf_format(out, "%s%s\n", bold, words);
}

/* Append a column title: $q_{0}$, $(k_j)_{0}$, or only the element's number. */
static void markdown_title(struct buf *out, const struct grid_slot *slot)
{
    const char *symbol = slot->block->symbol;
    bool brackets = slot->block->is_vector && *symbol && symbol[1];
    if (*symbol == '\0') {
        buf_format(out, "%zu", slot->element);
        return;
    }
    buf_text(out, brackets ? "$(" : "$");
    latex_math(out, symbol);
    buf_text(out, brackets ? ")" : "");
    if (slot->block->is_vector)
        buf_format(out, "_{%zu}", slot->element);
    buf_char(out, '$');
}

static void markdown_cell(struct buf *out, const struct grid_slot *slot,
                          const struct grid_line *line)
{
    char bar[BAR_BYTES] = "";
    buf_char(out, ' ');
    if (line->kind == LINE_TITLES && slot->kind == SLOT_NUMBER) {
        markdown_title(out, slot);
    } else if (slot->kind != SLOT_BAR) {
        grid_cell(out, line, slot, latex_math, "$-\\infty$");
    } else if (line->kind == LINE_ROW) {
        bar_draw(bar, (double)slot->block->values[line->row]);
        buf_bytes(out, bar, strcspn(bar, " "));
    }
    buf_text(out, " |");
}

static void markdown_line(struct buf *out, const struct grid_line *line, const struct grid *grid)
{
    const char *bold = line->is_own || line->kind == LINE_TOTAL ? "**" : "";
    buf_format(out, "| %s", bold);
    if (has_number(line, grid))
        buf_format(out, "%zu ", line->row);
    markdown_text(out, line->label, strlen(line->label));
    buf_format(out, "%s |", bold);
    for (size_t i = 0; i < grid->slot_count && line->kind != LINE_GAP; i++)
        markdown_cell(out, &grid->slots[i], line);
    buf_char(out, '\n');
    if (line->kind != LINE_TITLES)
        return;
    buf_text(out, "|:--|");
    for (size_t i = 0; i < grid->slot_count; i++)
        buf_text(out, grid->slots[i].kind == SLOT_BAR ? ":--|" : "--:|");
    buf_char(out, '\n');
}

static void markdown_table(struct document *document, const struct grid *grid)
{
    struct buf *out = &document->text;
    buf_char(out, '\n');
    for (size_t i = 0; i < grid->line_count; i++)
        if (grid->lines[i].kind != LINE_HEADINGS) /* Markdown tables have a single title line */
            markdown_line(out, &grid->lines[i], grid);
    for (size_t i = 0; i < grid->slot_count; i++) {
        const struct text_cut *cut = &grid->slots[i].cut;
        if (grid->slots[i].block_slots && text_is_cut(cut))
            buf_format(out, say(grid->explanation->language, "\n(%zu of %zu elements)\n"),
                       cut->front + cut->back, cut->size);
    }
}

static const char *title_of(const struct explanations *all)
{
    return say(all->items->language,
               all->several ? "Every query, step by step" : "One query, step by step");
}

static int markdown_beginning(struct document *document)
{
    buf_format(&document->text, "# %s\n\n", title_of(document->all));
    explain_report_facts(&document->text, document->all->items, markdown_fact);
    return 0;
}

static void markdown_query(struct document *document, const struct explanation *explanation)
{
    const char *token = explain_token(explanation);
    if (document->all->several) {
        buf_text(&document->text, "\n## ");
        markdown_text(&document->text, token, strlen(token));
        buf_text(&document->text, "\n\n");
    }
    explain_query_facts(&document->text, explanation, markdown_fact);
}

static void markdown_piece(struct document *document, enum piece piece, const char *text)
{
    struct buf *out = &document->text;
    const char *marks = piece == PIECE_FORMULA ? "$$" : piece == PIECE_WORKED ? "$" : "";
    if (piece == PIECE_TITLE) {
        buf_format(out, "\n##%s %zu. %s\n", document->all->several ? "#" : "", document->step,
                   text);
        return;
    }
    buf_format(out, "\n%s", marks);
    if (piece == PIECE_NOTE)
        add_prose(out, text, markdown_symbol, markdown_word);
    else
        latex_math(out, text);
    buf_format(out, "%s\n", marks);
}

static int markdown_write(struct stream *out, const struct explanations *explanations,
                          struct err *err)
{
    static const struct document_format format = {
        markdown_beginning, markdown_query, markdown_piece, markdown_table, NULL,
    };
    return document_write(&format, out, explanations, PAGE_COLUMNS, err);
}

/* --- HTML ------------------------------------------------------------------------------------- */

/* One page without scripts or network access; light or dark as the browser prefers, and black on
 * white in print. */
static const double bar_em = 7; /* bar length for a weight of 1 */

static void html_element(struct buf *out, const char *name, const char *text)
{
    buf_format(out, "<%s>", name);
    html_text(out, text, strlen(text));
    buf_format(out, "</%s>", name);
}

static void html_fact(struct buf *out, const char *name, const char *quoted, const char *words)
{
    buf_format(out, "<dt>%s</dt><dd>", name);
    if (*quoted)
        html_element(out, "code", quoted);
    html_text(out, words, strlen(words));
    buf_text(out, "</dd>\n");
}

static void html_cell(struct buf *out, const struct grid_slot *slot, const struct grid_line *line)
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
static void html_label(struct buf *out, const struct grid_line *line, const struct grid *grid)
{
    bool row = line->kind == LINE_ROW;
    buf_text(out, line->is_own ? "<tr class=\"own\">" : "<tr>");
    if (line->kind == LINE_HEADINGS) {
        buf_text(out, "<td></td>");
        return;
    }
    buf_format(out, "<th scope=\"%s\">", line->kind == LINE_TITLES ? "col" : "row");
    if (has_number(line, grid))
        buf_format(out, "%zu ", line->row);
    if (row)
        html_element(out, "bdi", line->label);
    else
        html_text(out, line->label, strlen(line->label));
    buf_text(out, "</th>");
}

static void html_table(struct document *document, const struct grid *grid)
{
    struct buf *out = &document->text;
    buf_text(out, "<div class=\"scroll\"><table><thead>\n");
    for (size_t l = 0; l < grid->line_count; l++) {
        const struct grid_line *line = &grid->lines[l];
        buf_text(out, line->kind == LINE_TOTAL ? "</tbody><tfoot>\n" : "");
        html_label(out, line, grid);
        for (size_t i = 0; i < grid->slot_count && line->kind != LINE_GAP; i++)
            if (line->kind != LINE_HEADINGS || grid->slots[i].block_slots)
                html_cell(out, &grid->slots[i], line);
        buf_text(out, line->kind == LINE_TITLES ? "</tr>\n</thead><tbody>\n" : "</tr>\n");
    }
    buf_format(out, "</%s></table></div>\n", grid->data->total ? "tfoot" : "tbody");
}

static void html_piece(struct document *document, enum piece piece, const char *text)
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
    if (piece == PIECE_NOTE)
        add_prose(out, text, html_symbol, html_text);
    else
        html_formula(out, text);
    buf_text(out, "</p>\n");
}

static void html_query(struct document *document, const struct explanation *explanation)
{
    struct buf *out = &document->text;
    if (explanation > document->all->items)
        buf_text(out, "</section>\n");
    buf_format(out, "<section class=\"walk\" id=\"token-%zu\">\n", explanation->query);
    if (document->all->several) {
        buf_text(out, "<h2>");
        html_element(out, "bdi", explain_token(explanation));
        buf_text(out, "</h2>\n");
    }
    buf_text(out, "<dl>\n");
    explain_query_facts(out, explanation, html_fact);
    buf_text(out, "</dl>\n");
}

/* Begin the page. Its title, shown on the browser's tab, is the text. */
static int html_beginning(struct document *document)
{
    const struct explanations *all = document->all;
    struct buf *out = &document->text;
    struct buf title = {0};
    tokenized_visible(&title, &all->items->report->sentence);
    const char *language = all->items->language ? all->items->language : "en";
    buf_format(out, "<!DOCTYPE html>\n<html lang=\"%s\">\n", language);
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
               title_of(all));
    explain_report_facts(out, all->items, html_fact);
    buf_text(out, all->several ? "</dl>\n<nav>\n" : "</dl>\n");
    for (size_t i = 0; i < all->count && all->several; i++) {
        buf_format(out, "<a href=\"#token-%zu\">", all->items[i].query);
        html_element(out, "bdi", explain_token(&all->items[i]));
        buf_text(out, "</a>\n");
    }
    buf_text(out, all->several ? "</nav>\n" : "");
    return 0;
}

static void html_end(struct document *document)
{
    buf_text(&document->text, "</section>\n</main>\n</body>\n</html>\n");
}

int explain_html_write(struct stream *out, const struct explanations *explanations, struct err *err)
{
    static const struct document_format format = {
        html_beginning, html_query, html_piece, html_table, html_end,
    };
    size_t columns = explanations->columns ? explanations->columns : PAGE_COLUMNS;
    return document_write(&format, out, explanations, columns, err);
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* data/schemas/explain.json describes the document. "given" has the weights and rows from which all
 * other numbers follow. Members that a step lacks are omitted; empty cells and minus infinity are
 * null. */

static void put_formula(struct json_writer *json, const char *name, const char *formula,
                        struct buf *latex)
{
    buf_clear(latex);
    latex_math(latex, formula);
    json_put_open(json, name, '{');
    json_put_text(json, "text", formula);
    json_put_text(json, "latex", latex->size ? latex->bytes : "");
    json_put_close(json, '}');
}

/* Put a row's number, or its vector. */
static void put_row(struct json_writer *json, const char *name, const struct block *block,
                    const float *values)
{
    if (block->is_vector)
        json_put_floats(json, name, values, block->width);
    else
        json_put_float(json, name, *values);
}

/* Put a number for each row, or an array of vectors. */
static void put_block(struct json_writer *json, const struct step_table *table,
                      const struct block *block)
{
    if (!block->is_vector) {
        json_put_floats(json, block->name, block->values, table->row_count);
        return;
    }
    json_put_open(json, block->name, '[');
    for (size_t row = 0; row < table->row_count; row++)
        put_row(json, row ? "\n     " : NULL, block, block->values + row * block->stride);
    json_put_close(json, ']');
}

static void put_table(struct json_writer *json, const struct step_table *table)
{
    json_put_open(json, "\n   rows", '[');
    for (size_t row = 0; row < table->row_count; row++)
        json_put_text(json, NULL, table->rows[row].exact);
    json_put_close(json, ']');
    json_put_open(json, "\n   columns", '{');
    for (size_t b = 0; b < table->block_count; b++) {
        if (b > 0)
            json_put_gap(json, "\n    ");
        put_block(json, table, &table->blocks[b]);
    }
    json_put_close(json, '}');
    if (!table->total)
        return;
    json_put_open(json, "\n   total", '{');
    json_put_text(json, "name", table->total);
    for (size_t b = 0; b < table->block_count; b++)
        if (table->blocks[b].total)
            put_row(json, table->blocks[b].name, &table->blocks[b], table->blocks[b].total);
    json_put_close(json, '}');
}

static void put_step(struct json_writer *json, const struct step *step, struct buf *latex)
{
    json_put_open(json, "\n  ", '{');
    json_put_text(json, "name", step->name);
    json_put_text(json, "title", step->title);
    if (step->formula_count) {
        json_put_open(json, "\n   formulas", '[');
        for (size_t i = 0; i < step->formula_count; i++)
            put_formula(json, NULL, step->formulas[i], latex);
        json_put_close(json, ']');
    }
    if (step->note)
        json_put_text(json, "\n   note", step->note);
    if (step->worked)
        put_formula(json, "\n   worked", step->worked, latex);
    if (step->table.row_count)
        put_table(json, &step->table);
    json_put_close(json, '}');
}

/* Put the operands of all queries, which are stored with the first query. */
static void put_givens(struct json_writer *json, const struct explanation *first)
{
    json_put_open(json, "\n given", '{');
    for (size_t i = 0; i < first->step_count; i++)
        for (size_t g = 0; g < first->steps[i].given_count; g++) {
            const struct step_table *table = &first->steps[i].givens[g].table;
            if (json->comma)
                json_put_gap(json, "\n   ");
            if (table->rows)
                put_block(json, table, table->blocks);
            else
                put_row(json, table->blocks->name, table->blocks, table->blocks->values);
        }
    json_put_close(json, '}');
}

static int json_write(struct stream *out, const struct explanations *explanations, struct err *err)
{
    struct json_writer json = {.stream = out};
    const struct explanation *first = explanations->items;
    struct report origin = *first->report;
    struct buf latex = {0};
    origin.heads = NULL; /* the single head and its queries are named below */
    origin.tensor_count = 0;
    json_put_open(&json, NULL, '{');
    json_put_text(&json, "format", JSON_FORMAT("explain"));
    json_report_origin(&json, &origin, NULL);
    json_put_gap(&json, "\n ");
    if (first->part)
        json_put_text(&json, "attention_of", first->part->name);
    json_put_integer(&json, "layer", first->layer);
    json_put_integer(&json, "head", first->head);
    put_givens(&json, first);
    json_put_gap(&json, "\n ");
    if (explanations->several)
        json_put_open(&json, "explanations", '[');
    for (size_t i = 0; i < explanations->count; i++) {
        if (explanations->several)
            json_put_open(&json, "\n ", '{');
        const struct explanation *explanation = &explanations->items[i];
        json_put_integer(&json, "query", explanation->query);
        json_put_open(&json, "\n steps", '[');
        for (size_t k = 0; k < explanation->step_count; k++)
            put_step(&json, &explanation->steps[k], &latex);
        json_put_close(&json, ']');
        if (explanations->several)
            json_put_close(&json, '}');
    }
    if (explanations->several)
        json_put_close(&json, ']');
    json_put_close(&json, '}');
    stream_char(out, '\n');
    int failed = buf_check(&latex, err);
    buf_release(&latex);
    return failed;
}

/* --- all formats ------------------------------------------------------------------------------ */

const struct explain_format explain_formats[] = {
    {"text", ".txt", "text, fitted to the terminal", text_write},
    {"markdown", ".md", "tables and formulas for GitHub, Jupyter or pandoc", markdown_write},
    {"html", ".html", "page without scripts, for browsers and printing", explain_html_write},
    {"json", ".json", "all numbers and matrices", json_write},
};

const size_t explain_format_count = sizeof explain_formats / sizeof *explain_formats;
