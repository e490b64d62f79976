/* working_text.c: tables with their working for a terminal, in aligned columns.
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
 *        score_0 = 0.5667 × (-0.0823) + 1.8269 × (-0.3031) = -0.6004
 */
#include "write/working.h"

#include <string.h>

#include "base/language.h"
#include "base/utf8.h"

enum {
    INDENT = 3,
    WRAPPED = 5, /* indent of continuation lines, in columns */
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

/* Append a cell: a number, or a bar if the page is wide enough for bars. */
static void plain_cell(struct document *document, const struct grid *grid,
                       const struct grid_line *line, const struct grid_slot *slot)
{
    static const struct notation notation = {.symbol = buf_text};
    char bar[BAR_BYTES];
    struct buf text = {0};
    struct buf *out = &document->text;
    size_t bar_end = grid->width + GRID_GAP + BAR_COLUMNS;
    grid_cell(&text, grid, line, slot, &notation);
    const char *shown = text.size ? text.bytes : "";
    text_blanks(out, slot->gap);
    if (line->kind == LINE_HEADINGS)
        plain_centred(out, shown, slot->column_width);
    else if (slot->kind != SLOT_BAR)
        text_cell(out, shown, slot->width, true);
    else if (line->kind == LINE_ROW && (!document->columns || bar_end <= document->columns))
        buf_format(out, "  %s", bar_draw(bar, (double)*column_vector(slot->column, line->row)));
    buf_fail_with(out, &text);
    buf_release(&text);
}

static void plain_table(struct document *document, const struct grid *grid)
{
    struct buf *out = &document->text;
    stream_char(document->out, '\n');
    for (const struct grid_line *line = grid->lines; line < grid->lines + grid->line_count;
         line++) {
        /* the ellipsis of a gap is below the numbers of keys */
        bool is_gap = line->kind == LINE_GAP;
        size_t width = is_gap ? (size_t)grid->number_width : grid->label_width;
        if (line->kind == LINE_TOTAL) {
            text_blanks(out, INDENT);
            plain_rule(out, grid->width);
            buf_char(out, '\n');
        }
        buf_text(out, line->is_own ? " › " : "   ");
        if (grid_has_number(grid, line)) {
            buf_format(out, "%*zu ", grid->number_width, line->row);
            width -= (size_t)grid->number_width + 1;
        }
        text_cell(out, line->label, width, is_gap);
        for (size_t i = 0; i < grid->slot_count && !is_gap; i++)
            if (line->kind != LINE_HEADINGS || grid->slots[i].column_slots)
                plain_cell(document, grid, line, &grid->slots[i]);
        text_end(document->out, out, document->err);
    }
}

static void plain_piece(struct document *document, enum piece piece, const char *text)
{
    if (piece == PIECE_TITLE) {
        stream_format(document->out, "\n%zu  %s\n", document->number, text);
        return;
    }
    stream_format(document->out, "%s%*s", piece == PIECE_WORKED ? "\n" : "", INDENT, "");
    text_wrap(document->out, text, INDENT, WRAPPED, document->layout->columns);
}

/* Write the query of a chapter and, if some of its keys are omitted, how many are shown. */
static void plain_chapter(struct document *document)
{
    const struct chapter *chapter = document->chapter;
    const char *language = document->language;
    struct buf *line = &document->text;
    stream_text(document->out, chapter == report_chapter(document->report) ? "" : "\n");
    buf_format(line, say(language, "query · %s"), chapter_token(chapter));
    chapter_words(line, chapter, " · ", language);
    text_shorten(line, document->layout->columns);
    text_end(document->out, line, document->err);
    if (chapter->shown_count == chapter->key_count)
        return;
    buf_format(line,
               say(language,
                   "(%zu of %zu keys shown: the largest weights, %.2f in total; --full shows all)"),
               chapter->shown_count, chapter->key_count, (double)chapter->shown_weight);
    text_wrap(document->out, line->size ? line->bytes : "", 0, 1, document->layout->columns);
    buf_clear(line);
}

static int plain_titles(struct document *document)
{
    return text_titles_write(document->out, document->report, document->layout, document->err);
}

/* If the number of lines is limited, write how much of the model is shown, and how to see more. */
static void plain_end(struct document *document)
{
    const struct chapter *chapter = document->chapter;
    struct buf *line = &document->text;
    if (!document->layout->lines)
        return;
    buf_format(line,
               say(document->language,
                   "(shows 1 layer of %zu and 1 head of %zu: --layer, --head and --query choose "
                   "others; --full shows whole vectors, all keys and the matrices)"),
               chapter->layer_count, chapter->head_count);
    stream_char(document->out, '\n');
    text_wrap(document->out, line->size ? line->bytes : "", 0, 1, document->layout->columns);
    buf_clear(line);
}

int text_working_write(struct stream *out, const struct report *report, const struct layout *layout,
                       struct err *err)
{
    static const struct document_format format = {
        .piece = plain_piece,
        .table = plain_table,
        .begin = plain_titles,
        .chapter = plain_chapter,
        .end = plain_end,
    };
    size_t margin = layout->columns > INDENT ? INDENT : 0;
    return document_write(&format, out, report, layout, layout->columns - margin, err);
}
