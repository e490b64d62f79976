/* explain_markdown.c: an explanation in Markdown, with tables of pipes and formulas between dollar
 * signs, as understood by GitHub, GitLab, Jupyter and pandoc.
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
#include <string.h>

#include "base/amount.h"
#include "explain/explain_page.h"

enum { PAGE_COLUMNS = 100 }; /* width of a table in a browser */

/* Append a text on one line, safe in a table cell. A backslash escapes anything that CommonMark, or
 * the tables and formulas of GitHub and pandoc, would treat as markup: some characters anywhere,
 * and -- and ..., which would become typographic signs. */
static void add_text(struct buf *out, const char *text, size_t size)
{
    static const char always[] = "\\`*_[]<>|$~^&#@'\"";
    for (size_t i = 0; i < size; i++) {
        bool repeats = i + 1 < size && text[i + 1] == text[i];
        if (memchr(always, text[i], sizeof always - 1) || (repeats && memchr("-.", text[i], 2)))
            buf_char(out, '\\');
        buf_char(out, text[i]);
    }
}

/* Append a sentence, with symbols such as W_q as formulas ($W_{q}$), but not within quotes. */
static void add_prose(struct buf *out, const char *sentence)
{
    while (*sentence) {
        size_t size = strcspn(sentence, " ");
        const char *mark = memchr(sentence, '_', size);
        size_t symbol = size - (size > 0 && strchr(",.:", sentence[size - 1]) != NULL);
        if (*sentence == '\'') {
            add_text(out, sentence, size);
        } else if (mark && symbol) {
            size_t base = (size_t)(mark - sentence);
            buf_format(out, "$%.*s_{%.*s}$", (int)base, sentence, (int)(symbol - base - 1),
                       mark + 1);
            buf_bytes(out, sentence + symbol, size - symbol);
        } else {
            buf_bytes(out, sentence, size);
        }
        sentence += size;
        for (; *sentence == ' '; sentence++)
            buf_char(out, ' ');
    }
}

static void add_fact(struct buf *out, const char *name, const char *quoted, const char *words)
{
    const char *bold = strcmp(name, "query") == 0 ? "**" : "";
    buf_format(out, "- %s: %s", name, bold);
    add_text(out, quoted, strlen(quoted));
    buf_format(out, "%s%s\n", bold, words);
}

/* --- tables ----------------------------------------------------------------------------------- */

/* Append a column title: $q_{0}$, $(k_j)_{0}$, or only the element's number. */
static void add_title(struct buf *out, const struct grid_slot *slot)
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

static void add_cell(struct buf *out, const struct grid_slot *slot, const struct grid_line *line)
{
    char bar[BAR_BYTES] = "";
    buf_char(out, ' ');
    if (line->kind == LINE_TITLES && slot->kind == SLOT_NUMBER) {
        add_title(out, slot);
    } else if (slot->kind != SLOT_BAR) {
        grid_cell(out, line, slot, latex_math, "$-\\infty$");
    } else if (line->kind == LINE_ROW) {
        bar_draw(bar, (double)slot->block->values[line->row], BAR_COLUMNS);
        buf_bytes(out, bar, strcspn(bar, " "));
    }
    buf_text(out, " |");
}

static void add_line(struct buf *out, const struct grid_line *line, const struct grid *grid)
{
    const char *bold = line->is_own || line->kind == LINE_TOTAL ? "**" : "";
    buf_format(out, "| %s", bold);
    if (line->kind == LINE_ROW && grid->data->of_keys)
        buf_format(out, "%zu ", line->row);
    add_text(out, line->label, strlen(line->label));
    buf_format(out, "%s |", bold);
    for (size_t i = 0; i < grid->slot_count && line->kind != LINE_GAP; i++)
        add_cell(out, &grid->slots[i], line);
    buf_char(out, '\n');
    if (line->kind != LINE_TITLES)
        return;
    buf_text(out, "|:--|");
    for (size_t i = 0; i < grid->slot_count; i++)
        buf_text(out, grid->slots[i].kind == SLOT_BAR ? ":--|" : "--:|");
    buf_char(out, '\n');
}

static void add_table(struct document *document, const struct grid *grid)
{
    struct buf *out = &document->text;
    buf_char(out, '\n');
    for (size_t i = 0; i < grid->line_count; i++)
        if (grid->lines[i].kind != LINE_HEADINGS) /* Markdown tables have a single title line */
            add_line(out, &grid->lines[i], grid);
    for (size_t i = 0; i < grid->slot_count; i++) {
        const struct text_cut *cut = &grid->slots[i].cut;
        if (grid->slots[i].block_slots && text_is_cut(cut))
            buf_format(out, "\n(%zu of %zu elements)\n", cut->front + cut->back, cut->size);
    }
}

/* --- pages ------------------------------------------------------------------------------------ */

static int add_beginning(struct document *document)
{
    buf_format(&document->text, "# %s, step by step\n\n",
               document->all->several ? "Every query" : "One query");
    explain_report_facts(&document->text, document->all->items->report, add_fact);
    return 0;
}

static void add_query(struct document *document, const struct explanation *explanation)
{
    const char *token = explain_token(explanation);
    if (document->all->several) {
        buf_text(&document->text, "\n## ");
        add_text(&document->text, token, strlen(token));
        buf_text(&document->text, "\n\n");
    }
    explain_query_facts(&document->text, explanation, add_fact);
}

static void add_piece(struct document *document, enum piece piece, const char *text)
{
    struct buf *out = &document->text;
    const char *marks = piece == PIECE_FORMULA ? "$$" : piece == PIECE_WORKED ? "$" : "";
    if (piece == PIECE_TITLE) {
        buf_format(out, "\n##%s %zu. %s\n", document->all->several ? "#" : "", document->step,
                   text);
        return;
    }
    buf_format(out, "\n%s", marks);
    (piece == PIECE_NOTE ? add_prose : latex_math)(out, text);
    buf_format(out, "%s\n", marks);
}

int explain_markdown_write(struct stream *out, const struct explanations *explanations,
                           struct err *err)
{
    static const struct document_format format = {
        add_beginning, add_query, add_piece, add_table, NULL,
    };
    return document_write(&format, out, explanations, PAGE_COLUMNS, err);
}
