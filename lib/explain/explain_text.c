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
#include "explain/explain_walk.h"
#include "write/text_page.h"

enum {
    INDENT = 3,
    GO_ON = 5,    /* where a line that is too long goes on */
    SCREEN = 100, /* columns that are seen without scrolling */
};

static const char own_mark[] = " › ";
static const char rule[] = "─";
static const char left_out[] =
    "(left out: matrices, inputs of all keys; --full prints them, JSON has them)";

/* Where it is written, and its line on the way out. */
struct page {
    struct stream *out;
    size_t columns; /* 0: endless */
    size_t room;    /* of them, for a table */
    const struct explain_table *table;
    struct buf line; /* memory that is not there sticks to it */
    struct err *err;
};

static void add_rule(struct buf *line, size_t columns)
{
    for (size_t i = 0; i < columns && !line->out_of_memory; i++)
        buf_text(line, rule);
}

/* In the middle of so many columns, but not beyond what a screen shows, with rules to both sides
 * where there is room. */
static void add_centred(struct buf *line, const char *heading, size_t columns)
{
    size_t width = utf8_width(heading, strlen(heading));
    size_t line_columns = columns < SCREEN || width > SCREEN ? columns : SCREEN;
    size_t left = line_columns > width ? (line_columns - width) / 2 : 0;
    size_t right = columns > width + left ? columns - width - left : 0;
    bool ruled = width > 0 && left >= 2;
    (ruled ? add_rule : text_blanks)(line, ruled ? left - 1 : left);
    text_blanks(line, ruled);
    buf_text(line, heading);
    text_blanks(line, ruled);
    (ruled ? add_rule : text_blanks)(line, ruled ? right - 1 : right);
}

static void add_bar(struct page *page, const struct explain_cell *cell)
{
    char bar[BAR_BYTES];
    size_t width = page->table->width + EXPLAIN_GAP + BAR_COLUMNS;
    if (cell->line == LINE_ROW && (page->room == 0 || width <= page->room))
        buf_format(&page->line, "  %s", bar_draw(bar, (double)cell->value, BAR_COLUMNS));
}

static void add_cell(struct page *page, const struct explain_cell *cell)
{
    text_blanks(&page->line, cell->gap);
    if (cell->kind == CELL_HEADING)
        add_centred(&page->line, cell->text, cell->width);
    else if (cell->kind == CELL_DOTS)
        buf_text(&page->line, "…");
    else if (cell->kind == CELL_BAR)
        add_bar(page, cell);
    else
        text_right(&page->line, cell->text, cell->width);
}

static void end_line(struct page *page, enum explain_line_kind line)
{
    (void)line;
    text_end(page->out, &page->line, page->err);
}

static void begin_line(struct page *page, const struct explain_line *line)
{
    const struct explain_table *table = page->table;
    size_t width = table->label_width;
    if (line->kind == LINE_TOTAL) {
        text_blanks(&page->line, INDENT);
        add_rule(&page->line, table->width);
        end_line(page, line->kind);
    }
    buf_text(&page->line, line->is_own ? own_mark : "   ");
    if (line->kind == LINE_GAP) {
        text_right(&page->line, "…", (size_t)table->number_width);
        return;
    }
    if (line->kind == LINE_ROW && table->number_width) {
        buf_format(&page->line, "%*zu ", table->number_width, line->row);
        width -= (size_t)table->number_width + 1;
    }
    text_left(&page->line, line->label, width);
}

static void begin_table(struct page *page, const struct explain_table *table)
{
    page->table = table;
    stream_char(page->out, '\n');
}

static void begin_step(struct page *page, size_t number, const char *title)
{
    stream_format(page->out, "\n%zu  %s\n", number, title);
}

static void add_paragraph(struct page *page, enum explain_text kind, const char *text)
{
    stream_format(page->out, kind == EXPLAIN_WORKED ? "\n%*s" : "%*s", INDENT, "");
    text_wrap(page->out, text, INDENT, GO_ON, page->columns);
}

/* Which query it is, and how many of its keys are shown. */
static void begin_query(struct page *page, const struct explanation *explanation, size_t place)
{
    stream_text(page->out, place ? "\n" : "");
    buf_format(&page->line, "query · %s · ", explain_token(explanation));
    if (explanation->part)
        buf_format(&page->line, "%s · ", explanation->part->words);
    buf_format(&page->line, "layer %zu · head %zu", explanation->layer, explanation->head);
    text_shorten(&page->line, page->columns);
    text_end(page->out, &page->line, page->err);
    if (explanation->shown_count == explanation->key_count)
        return;
    buf_format(&page->line,
               "(%zu of %zu keys shown, those with the most weight: %.2f of it; --full shows all)",
               explanation->shown_count, explanation->key_count, (double)explanation->shown_weight);
    text_wrap(page->out, page->line.size ? page->line.bytes : "", 0, 1, page->columns);
    buf_clear(&page->line);
}

/* Is anything left out that the steps take? */
static bool hides_givens(const struct explanation *explanation, bool full)
{
    for (size_t i = 0; i < explanation->step_count; i++)
        for (size_t g = 0; g < explanation->steps[i].given_count; g++) {
            const struct given *given = &explanation->steps[i].givens[g];
            if (!given->is_shown && !explain_shows(given, full))
                return true;
        }
    return false;
}

int explain_text_write(struct stream *out, const struct explanations *explanations,
                       const struct explain_page *how, struct err *err)
{
    static const struct explain_form form = {
        .formula = buf_text,
        .begin_query = begin_query,
        .begin_step = begin_step,
        .add_text = add_paragraph,
        .begin_table = begin_table,
        .begin_line = begin_line,
        .add_cell = add_cell,
        .end_line = end_line,
    };
    struct page page = {.out = out, .columns = how->columns, .err = err};
    struct place place = {.count = 1, .columns = how->columns};
    if (text_titles_write(out, explanations->items->report, &place, err))
        return -1;
    page.room = how->columns > INDENT ? how->columns - INDENT : how->columns;
    int failed =
        explain_walk(explanations, &form, &page, &(struct explain_page){page.room, how->full}, err);
    if (hides_givens(explanations->items, how->full)) {
        stream_char(out, '\n');
        text_wrap(out, left_out, 0, 1, how->columns);
    }
    failed = failed || buf_check(&page.line, err);
    buf_release(&page.line);
    return failed ? -1 : 0;
}
