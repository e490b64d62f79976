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
 *     $$s_j = q \cdot k_j$$
 *
 *     | key | $(k_j)_{0}$ | $(k_j)_{1}$ | $s_j$ |
 *     |:--|--:|--:|--:|
 *     | 0 Life | -0.0823 | -0.3031 | -0.6004 |
 *     | **1 is** | 0.5295 | 1.7355 | 3.4707 |
 */
#include <string.h>

#include "base/language.h"
#include "text/label.h"
#include "write/formula.h"
#include "write/working.h"

void markdown_text(struct buf *out, const char *text, size_t size)
{
    static const char always[] = "\\`*_[]<>|$~^&#@'\"";
    for (size_t i = 0; i < size; i++) {
        bool repeats = i + 1 < size && text[i + 1] == text[i];
        if (memchr(always, text[i], sizeof always - 1) || (repeats && memchr("-.", text[i], 2)))
            buf_char(out, '\\');
        buf_char(out, text[i]);
    }
}

/* Append the visible form of a text. */
static void markdown_plain(struct buf *out, const char *text)
{
    struct buf visible = {0};
    label_line(&visible, text, strlen(text));
    markdown_text(out, visible.size ? visible.bytes : "", visible.size);
    buf_fail_with(out, &visible);
    buf_release(&visible);
}

static void markdown_fact(struct buf *out, const char *name, const char *quoted, const char *words)
{
    bool is_query = strcmp(name, "query") == 0 || strcmp(name, say("zh", "query")) == 0;
    const char *bold = is_query ? "**" : "";
    int indent = (int)strspn(name, " "); /* part of the fact above */
    buf_format(out, "%.*s- %s: %s", indent, name, name + indent, bold);
    markdown_text(out, quoted, strlen(quoted));
    buf_format(out, "%s%s\n", bold, words);
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

/* Write a text in a paragraph of its own. */
static void markdown_piece(struct document *document, enum piece piece, const char *text)
{
    static const char *const marks[][2] = {
        [PIECE_DOCUMENT] = {"# ", "\n"}, [PIECE_SUBJECT] = {"## "},
        [PIECE_CHAPTER] = {"## ", "\n"}, [PIECE_MATRIX] = {"### "},
        [PIECE_FORMULA] = {"$$", "$$"},  [PIECE_WORKED] = {"$", "$"},
    };
    struct buf *out = &document->text;
    buf_text(out, document->begun || out->size ? "\n" : "");
    buf_text(out, marks[piece][0] ? marks[piece][0] : "");
    if (piece == PIECE_TITLE)
        buf_format(out, "##%s %zu. %s", document->chapter->is_listed ? "#" : "", document->number,
                   text);
    else if (piece == PIECE_NOTE)
        formula_prose(out, text, markdown_symbol, markdown_word);
    else if (piece == PIECE_FORMULA || piece == PIECE_WORKED)
        latex_math(out, text);
    else
        markdown_text(out, text, strlen(text));
    buf_format(out, "%s\n", marks[piece][1] ? marks[piece][1] : "");
}

/* Append the title of a column of vectors: $q_{0}$, $(k_j)_{0}$, or only the element's number. */
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

static const struct document_format markdown = {
    .piece = markdown_piece,
    .fact = markdown_fact,
    .bars = {{latex_math, markdown_plain, "$-\\infty$"}, "**", ":--|", "--:|", markdown_title},
};

FORMAT_ROW(markdown, ".md", "tables for GitHub, GitLab, Jupyter and pandoc", UNIT_SENTENCE,
           .layer = "-1", .has_tables = true, .document = &markdown)
