/* explain_text.c: an explanation for a terminal, in aligned columns.
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
#include <string.h>

#include "base/amount.h"
#include "base/utf8.h"
#include "explain/explain_page.h"
#include "write/text.h"

enum {
    INDENT = 3,
    WRAPPED = 5, /* indent of continuation lines */
};

static void add_rule(struct buf *line, size_t columns)
{
    buf_repeat(line, "─", strlen("─"), columns);
}

/* Append a heading centred in `columns`, with rules on both sides if there is room. */
static void add_centred(struct buf *line, const char *heading, size_t columns)
{
    size_t width = utf8_width(heading, strlen(heading));
    size_t left = columns > width ? (columns - width) / 2 : 0;
    size_t right = columns > width + left ? columns - width - left : 0;
    bool ruled = width > 0 && left >= 2;
    (ruled ? add_rule : text_blanks)(line, ruled ? left - 1 : left);
    text_blanks(line, ruled);
    buf_text(line, heading);
    text_blanks(line, ruled);
    (ruled ? add_rule : text_blanks)(line, ruled ? right - 1 : right);
}

static void add_cell(struct document *document, const struct grid_slot *slot,
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
        add_centred(out, shown, slot->block_width);
    else if (slot->kind != SLOT_BAR)
        text_cell(out, shown, slot->width, true);
    else if (line->kind == LINE_ROW && (!document->columns || bar_end <= document->columns))
        buf_format(out, "  %s", bar_draw(bar, (double)slot->block->values[line->row], BAR_COLUMNS));
    buf_fail_with(out, &text);
    buf_release(&text);
}

static void add_label(struct buf *out, const struct grid_line *line, const struct grid *grid)
{
    size_t width = grid->label_width;
    if (line->kind == LINE_TOTAL) {
        text_blanks(out, INDENT);
        add_rule(out, grid->width);
        buf_char(out, '\n');
    }
    buf_text(out, line->is_own ? " › " : "   ");
    if (line->kind == LINE_ROW && grid->number_width) {
        buf_format(out, "%*zu ", grid->number_width, line->row);
        width -= (size_t)grid->number_width + 1;
    }
    text_cell(out, line->label, line->kind == LINE_GAP ? (size_t)grid->number_width : width,
              line->kind == LINE_GAP);
}

static void write_table(struct document *document, const struct grid *grid)
{
    stream_char(document->out, '\n');
    for (const struct grid_line *line = grid->lines; line < grid->lines + grid->line_count;
         line++) {
        add_label(&document->text, line, grid);
        for (size_t i = 0; i < grid->slot_count && line->kind != LINE_GAP; i++)
            if (line->kind != LINE_HEADINGS || grid->slots[i].block_slots)
                add_cell(document, &grid->slots[i], line, grid);
        text_end(document->out, &document->text, document->err);
    }
}

static void write_piece(struct document *document, enum piece piece, const char *text)
{
    if (piece == PIECE_TITLE) {
        stream_format(document->out, "\n%zu  %s\n", document->step, text);
        return;
    }
    stream_format(document->out, "%s%*s", piece == PIECE_WORKED ? "\n" : "", INDENT, "");
    text_wrap(document->out, text, INDENT, WRAPPED, document->all->columns);
}

/* Write the query, and how many of its keys are shown. */
static void write_query(struct document *document, const struct explanation *explanation)
{
    struct buf *line = &document->text;
    stream_text(document->out, explanation > document->all->items ? "\n" : "");
    buf_format(line, "query · %s", explain_token(explanation));
    explain_query_words(line, explanation, " · ");
    text_shorten(line, document->all->columns);
    text_end(document->out, line, document->err);
    if (explanation->shown_count == explanation->key_count)
        return;
    buf_format(line,
               "(%zu of %zu keys shown: the largest weights, %.2f in total; --full shows all)",
               explanation->shown_count, explanation->key_count, (double)explanation->shown_weight);
    text_wrap(document->out, line->size ? line->bytes : "", 0, 1, document->all->columns);
    buf_clear(line);
}

static int write_titles(struct document *document)
{
    struct place place = {.count = 1, .columns = document->all->columns};
    return text_titles_write(document->out, document->all->items->report, &place, document->err);
}

/* Write where the head is in the model, and how to see more. */
static void write_end(struct document *document)
{
    const struct explanation *explanation = document->all->items;
    struct buf *line = &document->text;
    if (document->all->full)
        return;
    buf_format(line,
               "(shows 1 layer of %zu and 1 head of %zu: --layer, --head and --token choose "
               "others; --full shows whole vectors, all keys and the matrices)",
               explanation->layer_count, explanation->head_count);
    stream_char(document->out, '\n');
    text_wrap(document->out, line->size ? line->bytes : "", 0, 1, document->all->columns);
    buf_clear(line);
}

int explain_text_write(struct stream *out, const struct explanations *explanations, struct err *err)
{
    static const struct document_format format = {
        write_titles, write_query, write_piece, write_table, write_end,
    };
    size_t margin = explanations->columns > INDENT ? INDENT : 0;
    return document_write(&format, out, explanations, explanations->columns - margin, err);
}
