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
#include "explain/explain_walk.h"

enum { PAGE_COLUMNS = 100 }; /* what a table may take of a page in a browser */

/* Markup wherever it stands; and what is only in a row: -- and ... become other signs. */
static bool is_special(char c, char next)
{
    static const char always[] = "\\`*_[]<>|$~^&#@'\"";
    static const char repeated[] = "-.";
    return memchr(always, c, sizeof always - 1) ||
           (c == next && memchr(repeated, c, sizeof repeated - 1));
}

void markdown_text(struct buf *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (is_special(text[i], i + 1 < size ? text[i + 1] : '\0'))
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

/* $q_{0}$, $(k_j)_{0}$, or the number alone */
static void add_title(struct buf *out, const struct explain_cell *cell)
{
    const char *symbol = cell->block->symbol;
    if (*symbol == '\0') {
        buf_format(out, "%zu", cell->number);
        return;
    }
    bool brackets = cell->block->is_vector && symbol[1];
    buf_text(out, brackets ? "$(" : "$");
    latex_math(out, symbol);
    buf_text(out, brackets ? ")" : "");
    if (cell->block->is_vector)
        buf_format(out, "_{%zu}", cell->number);
    buf_char(out, '$');
}

static void add_bar(struct buf *out, double share)
{
    char bar[BAR_BYTES] = "";
    bar_draw(bar, share, BAR_COLUMNS);
    bar[strcspn(bar, " ")] = '\0';
    buf_format(out, " %s |", bar);
}

static const struct markup markup = {
    .form = {.titles_say_all = true,
             .formula = latex_math,
             .symbol = add_title,
             .infinity = "$-\\infty$"},
    .prose = add_prose,
    .title = {"# ", "\n\n"},
    .text = markdown_text,
    .fact = {"- ", ": ", "\n"},
    .query_quote = {"**", "**"},
    .query = {"\n## ", "\n\n"},
    .step = {{"\n## ", ". ", "\n"}, {"\n### ", ". ", "\n"}},
    .paragraphs = {[EXPLAIN_FORMULA] = {"\n$$", "$$\n"},
                   [EXPLAIN_NOTE] = {"\n", "\n"},
                   [EXPLAIN_WORKED] = {"\n$", "$\n"}},
    .columns = {"|:--|", "--:|", ":--|", "\n"},
    .lines = {[LINE_TITLES] = {"\n| ", " |", "\n"},
              [LINE_ROW] = {"| ", " |", "\n"},
              [LINE_GAP] = {"| ", " |", "\n"},
              [LINE_TOTAL] = {"| **", "** |", "\n"}},
    .own_row = {"| **", "** |"},
    .cells = {[CELL_TITLE] = {" ", " |"},
              [CELL_NUMBER] = {" ", " |"},
              [CELL_DOTS] = {" ", " |"},
              [CELL_BAR] = {" ", " |"}},
    .says_parts = true,
    .bar_cell = add_bar,
};

int explain_markdown_write(struct stream *out, const struct explanations *explanations,
                           const struct explain_page *how, struct err *err)
{
    const struct explain_page page = {how->full ? 0 : PAGE_COLUMNS, how->full};
    return explain_markup_write(out, explanations, &page, &markup, err);
}
