/* markdown.c: reports as Markdown, for GitHub, GitLab, Jupyter and pandoc: the titles, and a table
 * of pipes for each table and matrix; formulas are between dollar signs.
 *
 *     ## tiny · Life is short
 *
 *     | token | text | logprob |
 *     |--:|:--|--:|
 *     | 1 | is | -0.0003 |
 *
 *     ## 3. Keys and scores
 *
 *     $$s_{j} = q \cdot k_{j}$$
 *
 *     | key | $(k_{j})_{0}$ | $(k_{j})_{1}$ | $s_{j}$ |
 *     |:--|--:|--:|--:|
 *     | 0 Life | -0.0823 | -0.3031 | -0.6004 |
 *     | **1 is** | 0.5295 | 1.7355 | 3.4707 |
 */
#include <string.h>

#include "write/working.h"

/* Append a text of one line, escaped for a table cell. A backslash escapes anything that
 * CommonMark, or the tables and formulas of GitHub and pandoc, would treat as markup: some
 * characters anywhere, and -- and ..., which would become typographic signs. */
static void markdown_text(struct buf *out, const char *text, size_t size)
{
    static const char always[] = "\\`*_[]<>|$~^&#@'\"";
    for (size_t i = 0; i < size; i++) {
        bool repeats = i + 1 < size && text[i + 1] == text[i];
        if (memchr(always, text[i], sizeof always - 1) || (repeats && memchr("-.", text[i], 2)))
            buf_char(out, '\\');
        buf_char(out, text[i]);
    }
}

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

static void markdown_note(struct buf *out, const char *text)
{
    formula_prose(out, text, markdown_symbol, markdown_word);
}

/* Append the title of an element of a vector column: $q_{0}$, $(k_{j})_{0}$ or, if the column has
 * no symbol, only the element's number. */
static void markdown_title(struct buf *out, const struct grid_slot *slot)
{
    const char *symbol = slot->column->title;
    bool brackets = slot->column->width && *symbol && symbol[1];
    if (*symbol == '\0') {
        buf_format(out, "%zu", slot->element);
        return;
    }
    buf_text(out, brackets ? "$(" : "$");
    latex_math(out, symbol);
    buf_text(out, brackets ? ")" : "");
    if (slot->column->width)
        buf_format(out, "_{%zu}", slot->element);
    buf_char(out, '$');
}

static const struct markup markdown = {
    .marks = {[PIECE_DOCUMENT] = {"# ", "\n"},
              [PIECE_SUBJECT] = {"## "},
              [PIECE_CHAPTER] = {"## ", "\n"},
              [PIECE_TITLE] = {"## "},
              [PIECE_MATRIX] = {"### "},
              [PIECE_FORMULA] = {"$$", "$$"},
              [PIECE_WORKED] = {"$", "$"}},
    .fact = {"- ", ": "},
    .texts = ":--|",
    .numbers = "--:|",
    .notation = {latex_math, markdown_text, "$-\\infty$", true},
    .bold = "**",
    .note = markdown_note,
    .title = markdown_title,
};

FORMAT_ROW(markdown, ".md", "tables for GitHub, GitLab, Jupyter and pandoc", UNIT_TEXT,
           .for_people = true, .has_tables = true, .markup = &markdown)
