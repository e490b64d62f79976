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
#include <math.h>
#include <string.h>

#include "base/bar.h"
#include "base/utf8.h"
#include "out/explain_format.h"
#include "out/explain_table.h"
#include "out/text_titles.h"

enum {
    INDENT = 3,
    GO_ON = 5,    /* where a line that is too long goes on */
    SCREEN = 100, /* columns that are seen without scrolling */
};

static const char own_mark[] = " › ";
static const char rule[] = "─";
static const char left_out[] =
    "(left out: matrices, inputs of all keys; --full prints them, JSON has them)";

/* A table on its way out. */
struct table {
    struct stream *out;
    const struct step_table *data;
    const struct explain_layout *layout;
    size_t room; /* columns; 0: endless */
    struct buf line;
    bool failed;
    struct err *err;
};

static void add_rule(struct buf *line, size_t columns)
{
    for (size_t i = 0; i < columns && !line->out_of_memory; i++)
        buf_text(line, rule);
}

/* In the middle of so many columns, but not beyond what a screen shows, with rules to both sides
 * where there is room. */
static void add_centred(struct buf *line, const struct buf *heading, size_t columns)
{
    size_t width = heading->size ? utf8_width(heading->bytes, heading->size) : 0;
    size_t line_columns = columns < SCREEN || width > SCREEN ? columns : SCREEN;
    size_t left = line_columns > width ? (line_columns - width) / 2 : 0;
    size_t right = columns > width + left ? columns - width - left : 0;
    bool ruled = width > 0 && left >= 2;
    (ruled ? add_rule : text_blanks)(line, ruled ? left - 1 : left);
    text_blanks(line, ruled);
    if (heading->size)
        buf_bytes(line, heading->bytes, heading->size);
    text_blanks(line, ruled);
    (ruled ? add_rule : text_blanks)(line, ruled ? right - 1 : right);
}

/* The symbol of vectors, above the numbers of their elements. */
static void add_heading(struct table *table, const struct explain_cell *cell)
{
    struct buf heading = {0};
    if (cell->block->is_vector)
        explain_heading(&heading, cell->block->symbol.text, cell->cut);
    table->line.out_of_memory |= heading.out_of_memory;
    add_centred(&table->line, &heading, explain_block_width(table->layout, cell->place));
    buf_release(&heading);
}

static void add_title(struct table *table, const struct explain_cell *cell)
{
    const struct block *block = cell->block;
    size_t width = table->layout->cells[cell->place];
    struct buf number = {0};
    buf_format(&number, "%zu", block->first + cell->element);
    if (!number.out_of_memory)
        text_right(&table->line, block->is_vector ? number.bytes : block->symbol.text, width);
    table->line.out_of_memory |= number.out_of_memory;
    buf_release(&number);
}

static void add_number(struct table *table, const struct explain_cell *cell)
{
    char text[NUMERAL_BYTES] = "";
    if (!isnan(cell->value))
        numeral_write(text, cell->block->numeral, cell->value);
    text_right(&table->line, text, table->layout->cells[cell->place]);
}

static void add_bar(struct table *table, const struct explain_cell *cell)
{
    char bar[BAR_BYTES];
    bool fits = table->room == 0 || table->layout->width + EXPLAIN_GAP + BAR_COLUMNS <= table->room;
    if (fits && cell->line == LINE_ROW)
        buf_format(&table->line, "  %s", bar_draw(bar, (double)cell->value));
}

static void add_cell(void *page, const struct explain_cell *cell)
{
    struct table *table = page;
    if (cell->kind != CELL_BAR)
        text_blanks(&table->line, cell->first ? table->layout->gap : EXPLAIN_GAP);
    switch (cell->kind) {
    case CELL_HEADING:
        add_heading(table, cell);
        break;
    case CELL_TITLE:
        add_title(table, cell);
        break;
    case CELL_NUMBER:
        add_number(table, cell);
        break;
    case CELL_DOTS:
        buf_text(&table->line, "…");
        break;
    case CELL_BAR:
        add_bar(table, cell);
        break;
    }
}

static void add_label(struct table *table, size_t row)
{
    const struct explain_layout *layout = table->layout;
    size_t width = layout->label_width;
    buf_text(&table->line, row == table->data->own_row ? own_mark : "   ");
    if (layout->number_width) {
        buf_format(&table->line, "%*zu ", layout->number_width, row);
        width -= (size_t)layout->number_width + 1;
    }
    text_left(&table->line, table->data->rows[row].text, width);
}

static void end_line(void *page, enum explain_line line)
{
    struct table *table = page;
    (void)line;
    table->failed |= text_end(table->out, &table->line, table->err) != 0;
}

static void begin_line(void *page, enum explain_line line, size_t row)
{
    struct table *table = page;
    const struct explain_layout *layout = table->layout;
    if (line == LINE_ROW) {
        add_label(table, row);
        return;
    }
    text_blanks(&table->line, INDENT);
    if (line == LINE_TOTAL) {
        add_rule(&table->line, layout->width);
        end_line(page, line);
        text_blanks(&table->line, INDENT);
    }
    if (line == LINE_GAP)
        text_right(&table->line, "…", (size_t)layout->number_width);
    else
        text_left(&table->line,
                  line == LINE_TOTAL    ? table->data->total
                  : line == LINE_TITLES ? table->data->corner
                                        : "",
                  layout->label_width);
}

static void begin_table(void *page, const struct explain_table *from)
{
    struct table *table = page;
    table->data = from->data;
    table->layout = &from->layout;
    stream_char(table->out, '\n');
}

static void end_table(void *page)
{
    (void)page;
}

static int write_table(struct stream *out, const struct explanation *explanation,
                       const struct step_table *data, size_t room, struct err *err)
{
    static const struct explain_form form = {begin_table, begin_line, add_cell, end_line,
                                             end_table};
    struct table table = {.out = out, .room = room, .err = err};
    struct explain_table whole = explain_table(explanation, data, room);
    explain_table_write(&whole, &form, &table);
    buf_release(&table.line);
    return table.failed ? -1 : 0;
}

static void write_indented(struct stream *out, const char *text, size_t columns)
{
    stream_format(out, "%*s", INDENT, "");
    text_wrap(out, text, INDENT, GO_ON, columns);
}

static int write_tables(struct stream *out, const struct explanation *explanation,
                        const struct step *step, const struct explain_page *page, struct err *err)
{
    size_t room = page->columns > INDENT ? page->columns - INDENT : page->columns;
    for (size_t i = 0; i < step->given_count; i++)
        if (explain_shows(&step->givens[i], page->full) &&
            write_table(out, explanation, &step->givens[i].table, room, err))
            return -1;
    return step->table.row_count ? write_table(out, explanation, &step->table, room, err) : 0;
}

static int write_step(struct stream *out, const struct explanation *explanation,
                      const struct step *step, const struct explain_page *page, struct err *err)
{
    size_t columns = page->columns;
    stream_format(out, "\n%zu  %s\n", (size_t)(step - explanation->steps) + 1, step->title);
    for (size_t i = 0; i < step->formula_count; i++)
        write_indented(out, step->formulas[i].text, columns);
    if (step->note)
        write_indented(out, step->note, columns);
    if (write_tables(out, explanation, step, page, err))
        return -1;
    if (step->worked.text) {
        stream_char(out, '\n');
        write_indented(out, step->worked.text, columns);
    }
    return 0;
}

static int write_part(struct stream *out, const struct explanation *explanation, size_t columns,
                      struct err *err)
{
    struct buf note = {0};
    buf_format(&note,
               "(%zu of %zu keys shown, those with the most weight: %.2f of it; --full shows all)",
               explanation->shown_count, explanation->key_count, (double)explanation->shown_weight);
    int failed = buf_check(&note, err);
    if (!failed)
        text_wrap(out, note.bytes, 0, 1, columns);
    buf_release(&note);
    return failed;
}

/* Which query it is, and how many of its keys are shown. */
static int write_query(struct stream *out, const struct explanation *explanation, size_t columns,
                       struct err *err)
{
    struct buf line = {0};
    buf_format(&line, "query · %s · ", explanation->text->labels[explanation->query].exact);
    if (explanation->part)
        buf_format(&line, "%s · ", explanation->part->words);
    buf_format(&line, "layer %zu · head %zu", explanation->layer, explanation->head);
    text_shorten(&line, columns);
    int failed = text_end(out, &line, err);
    buf_release(&line);
    if (!failed && explanation->shown_count < explanation->key_count)
        failed = write_part(out, explanation, columns, err);
    return failed;
}

static int write_explanation(struct stream *out, const struct explanation *explanation,
                             const struct explain_page *page, struct err *err)
{
    if (write_query(out, explanation, page->columns, err))
        return -1;
    for (size_t i = 0; i < explanation->step_count; i++)
        if (write_step(out, explanation, &explanation->steps[i], page, err))
            return -1;
    return 0;
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
                       const struct explain_page *page, struct err *err)
{
    struct place place = {.count = 1, .columns = page->columns};
    if (text_titles_write(out, explanations->items->report, &place, err))
        return -1;
    for (size_t i = 0; i < explanations->count; i++) {
        stream_text(out, i ? "\n" : "");
        if (write_explanation(out, &explanations->items[i], page, err))
            return -1;
    }
    if (hides_givens(explanations->items, page->full)) {
        stream_char(out, '\n');
        text_wrap(out, left_out, 0, 1, page->columns);
    }
    return 0;
}
