/* explain_markdown.c: an explanation in Markdown: tables with pipes, formulas between dollar signs,
 * as GitHub, GitLab, Jupyter and pandoc show them.
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
#include "explain/explain_table.h"

enum { PAGE_COLUMNS = 100 }; /* of a table on a page in a browser */

/* A text of one line, which may be in a cell of a table. Backslashes stand before all that
 * CommonMark, or the tables and formulas of GitHub and pandoc, would read as markup: some
 * characters anywhere, and -- and ..., which would become other signs. */
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

/* A sentence in which W_q is a formula: $W_{q}$. */
static void add_prose(struct buf *out, const char *sentence)
{
    while (*sentence) {
        size_t size = strcspn(sentence, " ");
        const char *mark = memchr(sentence, '_', size);
        size_t symbol = size - (size > 0 && strchr(",.:", sentence[size - 1]) != NULL);
        if (mark && symbol) {
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

static void add_fact(struct buf *out, const char *name, const struct buf *quoted, const char *words)
{
    bool bold = strcmp(name, "query") == 0 && quoted->size;
    buf_format(out, "- %s: %s", name, bold ? "**" : "");
    add_text(out, quoted->bytes, quoted->size);
    buf_format(out, "%s%s\n", bold ? "**" : "", words);
}

/* --- tables ----------------------------------------------------------------------------------- */

/* $q_{0}$, $(k_j)_{0}$, or only the number */
static void add_title(struct buf *out, const struct explain_cell *cell)
{
    const char *symbol = cell->block->symbol;
    bool brackets = cell->block->is_vector && *symbol && symbol[1];
    if (*symbol == '\0') {
        buf_format(out, "%zu", cell->number);
        return;
    }
    buf_text(out, brackets ? "$(" : "$");
    latex_math(out, symbol);
    buf_text(out, brackets ? ")" : "");
    if (cell->block->is_vector)
        buf_format(out, "_{%zu}", cell->number);
    buf_char(out, '$');
}

static void add_cell(struct buf *out, const struct explain_cell *cell,
                     const struct explain_line *line)
{
    char bar[BAR_BYTES] = "";
    buf_char(out, ' ');
    if (cell->kind == CELL_TITLE) {
        add_title(out, cell);
    } else if (cell->kind == CELL_DOTS) {
        buf_text(out, "…");
    } else if (cell->kind == CELL_NUMBER) {
        explain_number(out, cell, "$-\\infty$");
    } else if (line->kind == LINE_ROW) {
        bar_draw(bar, (double)cell->value, BAR_COLUMNS);
        buf_bytes(out, bar, strcspn(bar, " "));
    }
    buf_text(out, " |");
}

/* Which columns are numbers. */
static void add_alignment(struct buf *out, const struct explain_line *titles,
                          const struct explain_table *table)
{
    struct explain_cell cell = {0};
    buf_text(out, "|:--|");
    while (explain_cell_next(&cell, titles, table))
        buf_text(out, cell.kind == CELL_BAR ? ":--|" : "--:|");
    buf_char(out, '\n');
}

static void add_line(struct buf *out, const struct explain_line *line,
                     const struct explain_table *table)
{
    struct explain_cell cell = {0};
    const char *bold = line->is_own || line->kind == LINE_TOTAL ? "**" : "";
    const char *label = line->kind == LINE_GAP ? "…" : line->label;
    buf_format(out, "| %s", bold);
    if (line->kind == LINE_ROW && table->data.of_keys)
        buf_format(out, "%zu ", line->row);
    add_text(out, label, strlen(label));
    buf_format(out, "%s |", bold);
    while (explain_cell_next(&cell, line, table))
        add_cell(out, &cell, line);
    buf_char(out, '\n');
    if (line->kind == LINE_TITLES)
        add_alignment(out, line, table);
}

static void add_table(struct buf *out, const struct explain_table *table)
{
    struct explain_line line = {0};
    buf_char(out, '\n');
    while (explain_line_next(&line, table))
        if (line.kind != LINE_HEADINGS) /* a table in Markdown has one line of titles */
            add_line(out, &line, table);
    for (size_t b = 0; b < table->data.block_count; b++) {
        const struct text_cut *cut = &table->cuts[b];
        if (text_is_cut(cut))
            buf_format(out, "\n(%zu of %zu elements)\n", cut->front + cut->back, cut->size);
    }
}

/* --- pages ------------------------------------------------------------------------------------ */

static void add_formula(struct buf *out, const char *formula, const char *marks)
{
    buf_format(out, "\n%s", marks);
    latex_math(out, formula);
    buf_format(out, "%s\n", marks);
}

static void add_step(struct buf *out, const struct explanation *explanation, size_t number,
                     const struct explain_page *page)
{
    const struct step *step = &explanation->steps[number];
    struct explain_table table = {explanation, step, *page};
    buf_format(out, " %zu. %s\n", number + 1, step->title);
    for (size_t i = 0; i < step->formula_count; i++)
        add_formula(out, step->formulas[i], "$$");
    if (step->note) {
        buf_char(out, '\n');
        add_prose(out, step->note);
        buf_char(out, '\n');
    }
    while (explain_table_next(&table))
        add_table(out, &table);
    if (step->worked)
        add_formula(out, step->worked, "$");
}

int explain_markdown_write(struct stream *out, const struct explanations *explanations,
                           const struct explain_page *how, struct err *err)
{
    const struct explain_page page = {how->full ? 0 : PAGE_COLUMNS, how->full};
    bool several = explanations->several;
    struct buf text = {0};
    buf_format(&text, "# %s, step by step\n\n", several ? "Every query" : "One query");
    explain_report_facts(&text, explanations->items->report, add_fact);
    for (size_t i = 0; i < explanations->count; i++) {
        const struct explanation *explanation = &explanations->items[i];
        const char *token = explain_token(explanation);
        if (several) {
            buf_text(&text, "\n## ");
            add_text(&text, token, strlen(token));
            buf_text(&text, "\n\n");
        }
        explain_query_facts(&text, explanation, add_fact);
        for (size_t s = 0; s < explanation->step_count; s++) {
            buf_text(&text, several ? "\n###" : "\n##");
            add_step(&text, explanation, s, &page);
        }
    }
    int failed = text_send(out, &text, err);
    buf_release(&text);
    return failed;
}
