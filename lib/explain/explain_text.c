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
#include "explain/explain_table.h"
#include "write/text_page.h"

enum {
    INDENT = 3,
    WRAPPED = 5,  /* the indent of the rest of a line that is too long */
    SCREEN = 100, /* columns that are seen without scrolling */
};

struct text_writer {
    struct stream *out;
    struct explain_page page;
    size_t columns; /* of the page, for a table; 0: endless */
    struct buf line;
    struct err *err;
};

static void add_rule(struct buf *line, size_t columns)
{
    buf_repeat(line, "─", strlen("─"), columns);
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

static void add_cell(struct text_writer *writer, const struct explain_cell *cell,
                     const struct explain_line *line, const struct explain_table *table)
{
    char bar[BAR_BYTES];
    struct buf text = {0};
    size_t bar_end = table->width + EXPLAIN_GAP + BAR_COLUMNS;
    text_blanks(&writer->line, cell->gap);
    if (cell->kind == CELL_HEADING)
        explain_heading(&text, cell, buf_text);
    else if (cell->kind == CELL_TITLE && cell->block->is_vector)
        buf_format(&text, "%zu", cell->number);
    else if (cell->kind == CELL_TITLE)
        buf_text(&text, cell->block->symbol);
    else if (cell->kind == CELL_NUMBER)
        explain_number(&text, cell, NULL);
    const char *shown = text.size ? text.bytes : "";
    if (cell->kind == CELL_HEADING)
        add_centred(&writer->line, shown, cell->width);
    else if (cell->kind == CELL_DOTS)
        buf_text(&writer->line, "…");
    else if (cell->kind != CELL_BAR)
        text_right(&writer->line, shown, cell->width);
    else if (line->kind == LINE_ROW && (writer->columns == 0 || bar_end <= writer->columns))
        buf_format(&writer->line, "  %s", bar_draw(bar, (double)cell->value, BAR_COLUMNS));
    buf_fail_with(&writer->line, &text);
    buf_release(&text);
}

static void add_label(struct text_writer *writer, const struct explain_line *line,
                      const struct explain_table *table)
{
    size_t width = table->label_width;
    if (line->kind == LINE_TOTAL) {
        text_blanks(&writer->line, INDENT);
        add_rule(&writer->line, table->width);
        text_end(writer->out, &writer->line, writer->err);
    }
    buf_text(&writer->line, line->is_own ? " › " : "   ");
    if (line->kind == LINE_GAP) {
        text_right(&writer->line, "…", (size_t)table->number_width);
        return;
    }
    if (line->kind == LINE_ROW && table->number_width) {
        buf_format(&writer->line, "%*zu ", table->number_width, line->row);
        width -= (size_t)table->number_width + 1;
    }
    text_left(&writer->line, line->label, width);
}

static void write_table(struct text_writer *writer, const struct explain_table *table)
{
    struct explain_line line = {0};
    stream_char(writer->out, '\n');
    while (explain_line_next(&line, table)) {
        struct explain_cell cell = {0};
        add_label(writer, &line, table);
        while (explain_cell_next(&cell, &line, table))
            add_cell(writer, &cell, &line, table);
        text_end(writer->out, &writer->line, writer->err);
    }
}

static void write_paragraph(struct text_writer *writer, const char *text)
{
    stream_format(writer->out, "%*s", INDENT, "");
    text_wrap(writer->out, text, INDENT, WRAPPED, writer->page.columns);
}

static void write_step(struct text_writer *writer, const struct explanation *explanation,
                       size_t number)
{
    const struct step *step = &explanation->steps[number];
    struct explain_table table = {explanation, step, {writer->columns, writer->page.full}};
    stream_format(writer->out, "\n%zu  %s\n", number + 1, step->title);
    for (size_t i = 0; i < step->formula_count; i++)
        write_paragraph(writer, step->formulas[i]);
    if (step->note)
        write_paragraph(writer, step->note);
    while (explain_table_next(&table))
        write_table(writer, &table);
    if (step->worked) {
        stream_char(writer->out, '\n');
        write_paragraph(writer, step->worked);
    }
}

/* Which query it is, and how many of its keys are shown. */
static void write_query(struct text_writer *writer, const struct explanation *explanation)
{
    buf_format(&writer->line, "query · %s · ", explain_token(explanation));
    if (explanation->part)
        buf_format(&writer->line, "%s · ", explanation->part->words);
    buf_format(&writer->line, "layer %zu · head %zu", explanation->layer, explanation->head);
    text_shorten(&writer->line, writer->page.columns);
    text_end(writer->out, &writer->line, writer->err);
    if (explanation->shown_count == explanation->key_count)
        return;
    buf_format(&writer->line,
               "(%zu of %zu keys shown, those with the most weight: %.2f of it; --full shows all)",
               explanation->shown_count, explanation->key_count, (double)explanation->shown_weight);
    text_wrap(writer->out, writer->line.size ? writer->line.bytes : "", 0, 1, writer->page.columns);
    buf_clear(&writer->line);
}

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
    struct text_writer writer = {.out = out, .page = *page, .err = err};
    struct place place = {.count = 1, .columns = page->columns};
    writer.columns = page->columns > INDENT ? page->columns - INDENT : page->columns;
    if (text_titles_write(out, explanations->items->report, &place, err))
        return -1;
    for (size_t i = 0; i < explanations->count; i++) {
        const struct explanation *explanation = &explanations->items[i];
        stream_text(out, i ? "\n" : "");
        write_query(&writer, explanation);
        for (size_t s = 0; s < explanation->step_count; s++)
            write_step(&writer, explanation, s);
    }
    if (hides_givens(explanations->items, page->full)) {
        stream_char(out, '\n');
        text_wrap(out,
                  "(not shown: matrices, inputs of all keys; --full or --format json has them)", 0,
                  1, page->columns);
    }
    int failed = buf_check(&writer.line, err);
    buf_release(&writer.line);
    return failed ? -1 : 0;
}
