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
#include "out/explain_layout.h"
#include "out/text_titles.h"

enum {
    INDENT = 3,
    GO_ON = 5, /* where a line that is too long goes on */
};

static const char own_mark[] = " › ";
static const char rule[] = "─";

/* A table on its way out. */
struct table {
    struct stream *out;
    const struct explanation *explanation;
    const struct step *step;
    struct explain_layout layout;
    bool bars;
    struct buf line;
    struct err *err;
};

static void add_rule(struct buf *line, size_t columns)
{
    for (size_t i = 0; i < columns && !line->out_of_memory; i++)
        buf_text(line, rule);
}

/* In the middle of so many columns, with rules to both sides where there is room. */
static void add_centred(struct buf *line, const struct buf *heading, size_t columns)
{
    size_t width = heading->size ? utf8_width(heading->bytes, heading->size) : 0;
    size_t rest = columns > width ? columns - width : 0;
    size_t left = rest / 2;
    size_t right = rest - left;
    bool ruled = width > 0 && left >= 2;
    (ruled ? add_rule : text_blanks)(line, ruled ? left - 1 : left);
    text_blanks(line, ruled);
    if (heading->size)
        buf_bytes(line, heading->bytes, heading->size);
    text_blanks(line, ruled);
    (ruled ? add_rule : text_blanks)(line, ruled ? right - 1 : right);
}

/* The symbols of vectors, above the numbers of their elements; where there are none, no line. */
static int write_headings(struct table *table)
{
    bool any = false;
    text_blanks(&table->line, INDENT + table->layout.label_width);
    for (size_t b = 0; b < table->step->block_count; b++) {
        const struct block *block = &table->step->blocks[b];
        struct buf heading = {0};
        if (block->is_vector)
            explain_heading(&heading, block->symbol.text, &table->layout.cuts[b]);
        any |= heading.size > 0;
        table->line.out_of_memory |= heading.out_of_memory;
        text_blanks(&table->line, table->layout.gap);
        add_centred(&table->line, &heading, explain_block_width(&table->layout, b));
        buf_release(&heading);
    }
    if (any)
        return text_end(table->out, &table->line, table->err);
    buf_clear(&table->line);
    return 0;
}

/* What stands in one column of a line. */
typedef void (*cell_writer)(struct table *table, size_t block, size_t row, size_t element);

static void add_cells(struct table *table, cell_writer add, size_t row)
{
    for (size_t b = 0; b < table->step->block_count; b++) {
        const struct text_cut *cut = &table->layout.cuts[b];
        for (size_t slot = 0; slot < text_cut_slots(cut); slot++) {
            text_blanks(&table->line, slot ? EXPLAIN_GAP : table->layout.gap);
            if (text_cut_between(cut, slot))
                buf_text(&table->line, "…");
            else
                add(table, b, row, text_cut_place(cut, slot));
        }
    }
}

static void add_title(struct table *table, size_t b, size_t row, size_t element)
{
    const struct block *block = &table->step->blocks[b];
    struct buf number = {0};
    (void)row;
    buf_format(&number, "%zu", block->first + element);
    if (!number.out_of_memory)
        text_right(&table->line, block->is_vector ? number.bytes : block->symbol.text,
                   table->layout.cells[b]);
    table->line.out_of_memory |= number.out_of_memory;
    buf_release(&number);
}

static void add_value(struct table *table, size_t b, float value)
{
    char text[NUMERAL_BYTES] = "";
    if (!isnan(value))
        numeral_write(text, table->step->blocks[b].numeral, value);
    text_right(&table->line, text, table->layout.cells[b]);
}

static void add_number(struct table *table, size_t b, size_t row, size_t element)
{
    const struct block *block = &table->step->blocks[b];
    char bar[BAR_BYTES];
    float value = explain_cell(block, row, element);
    add_value(table, b, value);
    if (block->is_share && table->bars)
        buf_format(&table->line, "  %s", bar_draw(bar, (double)value));
}

static void add_total(struct table *table, size_t b, size_t row, size_t element)
{
    (void)row;
    add_value(table, b, explain_total(&table->step->blocks[b], element));
}

static void add_label(struct table *table, size_t row)
{
    const struct explain_layout *layout = &table->layout;
    size_t width = layout->label_width;
    buf_text(&table->line, row == table->step->own_row ? own_mark : "   ");
    if (layout->number_width) {
        buf_format(&table->line, "%*zu ", layout->number_width, row);
        width -= (size_t)layout->number_width + 1;
    }
    text_left(&table->line, table->step->rows[row].text, width);
}

static int write_gap(struct table *table)
{
    text_blanks(&table->line, INDENT);
    text_right(&table->line, "…", (size_t)table->layout.number_width);
    return text_end(table->out, &table->line, table->err);
}

static int write_rows(struct table *table)
{
    const struct explanation *explanation = table->explanation;
    size_t count = explain_row_count(explanation, table->step);
    for (size_t slot = 0; slot <= count; slot++) {
        if (explain_gap(explanation, table->step, slot) && write_gap(table))
            return -1;
        if (slot == count)
            break;
        size_t row = explain_row(explanation, table->step, slot);
        add_label(table, row);
        add_cells(table, add_number, row);
        if (text_end(table->out, &table->line, table->err))
            return -1;
    }
    return 0;
}

static int write_total(struct table *table)
{
    if (!table->step->total)
        return 0;
    text_blanks(&table->line, INDENT);
    add_rule(&table->line, table->layout.width);
    if (text_end(table->out, &table->line, table->err))
        return -1;
    text_blanks(&table->line, INDENT);
    text_left(&table->line, table->step->total, table->layout.label_width);
    add_cells(table, add_total, 0);
    return text_end(table->out, &table->line, table->err);
}

static int write_table(struct table *table)
{
    stream_char(table->out, '\n');
    if (write_headings(table))
        return -1;
    text_blanks(&table->line, INDENT);
    text_left(&table->line, table->step->corner, table->layout.label_width);
    add_cells(table, add_title, 0);
    return text_end(table->out, &table->line, table->err) || write_rows(table) || write_total(table)
               ? -1
               : 0;
}

static void write_indented(struct stream *out, const char *text, size_t columns)
{
    stream_format(out, "%*s", INDENT, "");
    text_wrap(out, text, INDENT, GO_ON, columns);
}

static int write_step(struct stream *out, const struct explanation *explanation,
                      const struct step *step, size_t columns, struct err *err)
{
    size_t room = columns > INDENT ? columns - INDENT : columns;
    struct table table = {out, explanation, step, {0}, false, {0}, err};
    int failed = 0;
    stream_format(out, "\n%zu  %s\n", (size_t)(step - explanation->steps) + 1, step->title);
    for (size_t i = 0; i < step->formula_count; i++)
        write_indented(out, step->formulas[i].text, columns);
    if (step->note)
        write_indented(out, step->note, columns);
    if (step->row_count) {
        table.layout = explain_layout(explanation, step, room);
        table.bars = columns == 0 || table.layout.width + EXPLAIN_GAP + BAR_COLUMNS <= room;
        failed = write_table(&table);
    }
    if (step->worked.text) {
        stream_char(out, '\n');
        write_indented(out, step->worked.text, columns);
    }
    buf_release(&table.line);
    return failed;
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

/* Whose walk it is, and how much of it is shown. */
static int write_titles(struct stream *out, const struct explanation *explanation, size_t columns,
                        struct err *err)
{
    const struct report *report = explanation->report;
    struct place place = {.count = 1, .columns = columns};
    struct buf line = {0};
    if (text_titles_write(out, report, &place, err))
        return -1;
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

int explain_text_write(struct stream *out, const struct explanation *explanation,
                       const struct explain_page *page, struct err *err)
{
    if (write_titles(out, explanation, page->columns, err))
        return -1;
    for (size_t i = 0; i < explanation->step_count; i++)
        if (write_step(out, explanation, &explanation->steps[i], page->columns, err))
            return -1;
    return 0;
}
