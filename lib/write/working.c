#include "write/working.h"

#include <math.h>
#include <string.h>

#include "base/language.h"
#include "base/num.h"
#include "base/utf8.h"

enum {
    LABEL_MAX = 16,
    WIDE_GAP = 4, /* columns before a column if the page is wide enough; else GRID_GAP */
    ELEMENTS_MIN = 2,
};

/* --- rows ------------------------------------------------------------------------------------- */

static size_t row_count(const struct grid *grid)
{
    const struct chapter *chapter = grid->chapter;
    size_t rows = grid->table->rows.size; /* of keys: with a sink, if there is one */
    return grid->table->working.of_keys ? rows - chapter->key_count + chapter->shown_count : rows;
}

static size_t row_at(const struct grid *grid, size_t index)
{
    const struct chapter *chapter = grid->chapter;
    if (grid->table->working.of_keys && index == chapter->shown_count)
        return chapter->key_count; /* the sink, after the keys */
    return grid->table->working.of_keys ? chapter->shown[index] : index;
}

static int make_lines(struct grid *grid, struct arena *arena, struct err *err)
{
    const struct table *table = grid->table;
    size_t count = row_count(grid);
    size_t next = 0; /* next row to show */
    bool has_headings = false;
    struct grid_line *line = arena_alloc(arena, 2 * count + 4, sizeof *line, err);
    grid->lines = line;
    if (!line)
        return -1;
    for (const struct grid_slot *slot = grid->slots; slot < grid->slots + grid->slot_count; slot++)
        has_headings |= slot->column->width && (*slot->column->title || text_is_cut(&slot->cut));
    if (has_headings)
        *line++ = (struct grid_line){LINE_HEADINGS, .label = ""};
    *line++ = (struct grid_line){LINE_TITLES, .label = say(grid->language, table->rows.name)};
    for (size_t i = 0; i < count; i++) {
        size_t row = row_at(grid, i);
        if (row > next)
            *line++ = (struct grid_line){LINE_GAP, .label = "…"};
        *line++ = (struct grid_line){LINE_ROW, row, row == table->working.own_row,
                                     table->rows.labels[row].text};
        next = row + 1;
    }
    if (next < table->rows.size)
        *line++ = (struct grid_line){LINE_GAP, .label = "…"};
    if (table->working.total)
        *line++ =
            (struct grid_line){LINE_TOTAL, .label = say(grid->language, table->working.total)};
    grid->line_count = (size_t)(line - grid->lines);
    return 0;
}

/* --- widths ----------------------------------------------------------------------------------- */

static size_t width_of(const char *text)
{
    return utf8_width(text, strlen(text));
}

static size_t elements_of(const struct column *column)
{
    return column->width ? column->width : 1;
}

/* A number of a row, or of the total; NAN: none. */
static float number_of(const struct column *column, bool of_total, size_t row, size_t element)
{
    if (of_total)
        return column->total ? column->total[element] : NAN;
    return column_vector(column, row)[element];
}

static size_t number_width(struct numeral numeral, float value)
{
    char text[NUMERAL_BYTES];
    return isnan(value) ? 0 : numeral_write(text, numeral, value);
}

/* What a column's cells have at any page width: their format and the widest number. */
struct cells {
    struct numeral numeral;
    size_t width;
};

static struct cells fit_cells(const struct grid *grid, const struct column *column)
{
    size_t count = grid->table->rows.size * elements_of(column);
    struct cells cells = {numeral_of(column->values, count, column->digits),
                          column->width ? 1 : width_of(column->title)};
    for (size_t element = 0; element < elements_of(column); element++) {
        float total = number_of(column, true, 0, element);
        cells.width = num_max(cells.width, number_width(cells.numeral, total));
        for (size_t i = 0; i < row_count(grid); i++) {
            float value = number_of(column, false, row_at(grid, i), element);
            cells.width = num_max(cells.width, number_width(cells.numeral, value));
        }
    }
    return cells;
}

static void fit_labels(struct grid *grid)
{
    const struct table *table = grid->table;
    char number[NUM_COUNT_BYTES];
    size_t widest = table->working.total ? width_of(say(grid->language, table->working.total)) : 0;
    size_t count = row_count(grid);
    for (size_t i = 0; i < count; i++)
        widest = num_max(widest, width_of(table->rows.labels[row_at(grid, i)].text));
    grid->label_width = num_min(widest, LABEL_MAX);
    if (table->working.of_keys) {
        size_t last = grid->chapter->shown[grid->chapter->shown_count - 1];
        grid->number_width = (int)num_count(number, last);
        grid->label_width += (size_t)grid->number_width + 1;
    }
    grid->label_width = num_max(grid->label_width, width_of(say(grid->language, table->rows.name)));
}

static void write_heading(struct buf *out, const struct grid_slot *slot, formula_notation *notation)
{
    const struct text_cut *cut = &slot->cut;
    notation(out, slot->column->title);
    if (text_is_cut(cut))
        buf_format(out, say(slot->language, *slot->column->title ? " (%zu of %zu)" : "%zu of %zu"),
                   cut->front + cut->back, cut->size);
}

/* --- slots ------------------------------------------------------------------------------------ */

/* Append the slots of a column, widening its cells until the heading fits. */
static void add_column(struct grid *grid, const struct column *column, size_t shown,
                       struct cells cells)
{
    struct grid_slot *first = &grid->slots[grid->slot_count];
    const struct text_cut cut = text_cut_to(elements_of(column), shown);
    size_t count = text_cut_slots(&cut);
    size_t rest = (count - 1) * GRID_GAP + text_is_cut(&cut);
    size_t numbers = cut.front + cut.back;
    const struct grid_slot all = {
        .column = column, .numeral = cells.numeral, .cut = cut, .language = grid->language};
    struct buf heading = {0};
    write_heading(&heading, &all, buf_text);
    while (heading.size && numbers * cells.width + rest < width_of(heading.bytes))
        cells.width++;
    buf_release(&heading);
    for (size_t i = 0; i < count; i++) {
        bool dots = text_cut_between(&cut, i);
        first[i] = all;
        first[i].kind = dots ? SLOT_DOTS : SLOT_NUMBER;
        first[i].element = text_cut_place(&cut, i);
        first[i].gap = i ? GRID_GAP : grid->gap;
        first[i].width = dots ? 1 : cells.width;
    }
    if (column->fraction) {
        first[count] = all;
        first[count].kind = SLOT_BAR;
    }
    first->column_slots = count + column->fraction;
    first->column_width = numbers * cells.width + rest;
    grid->slot_count += first->column_slots;
    grid->width += grid->gap + first->column_width;
}

/* Show at most `shown` elements of each vector and omit the others. */
static void lay_out(struct grid *grid, size_t shown, const struct cells *cells)
{
    grid->width = grid->label_width;
    grid->slot_count = 0;
    for (size_t i = 0; i < grid->table->count; i++)
        add_column(grid, &grid->table->columns[i], shown, cells[i]);
}

/* Make a grid of at most `columns` if possible; 0: omit nothing. */
static int make_grid(struct grid *grid, size_t columns, struct arena *arena, struct err *err)
{
    const struct table *table = grid->table;
    struct cells *cells = arena_alloc(arena, table->count, sizeof *cells, err);
    size_t shown = ELEMENTS_MIN;
    for (size_t i = 0; cells && i < table->count; i++) {
        cells[i] = fit_cells(grid, &table->columns[i]);
        shown = num_max(shown, table->columns[i].width);
    }
    if (columns > 0)
        shown = num_max(num_min(shown, columns), ELEMENTS_MIN);
    grid->slots = arena_alloc(arena, table->count * (shown + 2), sizeof *grid->slots, err);
    if (!cells || !grid->slots)
        return -1;
    fit_labels(grid);
    grid->gap = WIDE_GAP;
    lay_out(grid, shown, cells);
    while (columns > 0 && grid->width > columns && shown > ELEMENTS_MIN)
        lay_out(grid, --shown, cells);
    if (columns > 0 && grid->width > columns) {
        grid->gap = GRID_GAP;
        lay_out(grid, shown, cells);
    }
    return make_lines(grid, arena, err);
}

bool grid_has_number(const struct grid *grid, const struct grid_line *line)
{
    return line->kind == LINE_ROW && grid->table->working.of_keys &&
           line->row < grid->chapter->key_count;
}

void grid_cell(struct buf *out, const struct grid_line *line, const struct grid_slot *slot,
               formula_notation *notation, const char *infinity)
{
    const struct column *column = slot->column;
    char digits[NUMERAL_BYTES];
    float value = NAN;
    if (line->kind == LINE_HEADINGS) {
        if (column->width)
            write_heading(out, slot, notation);
    } else if (slot->kind == SLOT_DOTS) {
        buf_text(out, "…");
    } else if (line->kind == LINE_TITLES && slot->kind == SLOT_NUMBER) {
        if (column->width)
            buf_format(out, "%zu", slot->element);
        else
            notation(out, column->title);
    } else if (slot->kind == SLOT_NUMBER) {
        value = number_of(column, line->kind == LINE_TOTAL, line->row, slot->element);
    }
    if (isnan(value))
        return;
    numeral_write(digits, slot->numeral, value);
    buf_text(out, isinf(value) && infinity ? infinity : digits);
}

/* --- the document ----------------------------------------------------------------------------- */

static int send(struct document *document)
{
    int failed = text_send(document->out, &document->text, document->err);
    buf_clear(&document->text);
    return failed;
}

static int write_table(struct document *document, const struct table *table)
{
    struct arena arena = {0};
    struct grid grid = {
        .table = table, .chapter = document->chapter, .language = document->language};
    int failed = make_grid(&grid, document->columns, &arena, document->err);
    if (!failed) {
        document->format->table(document, &grid);
        failed = send(document);
    }
    arena_release(&arena);
    return failed;
}

/* Write a table below its heading, formulas, note and operands, and above its worked formula. */
static int write_working(struct document *document, const struct table *table)
{
    const struct working *working = &table->working;
    bool shows_all = !document->layout->lines;
    void (*piece)(struct document *, enum piece, const char *) = document->format->piece;
    piece(document, PIECE_TITLE, table->heading);
    for (size_t i = 0; i < working->formula_count; i++)
        piece(document, PIECE_FORMULA, working->formulas[i]);
    if (table->note)
        piece(document, PIECE_NOTE, table->note);
    if (send(document))
        return -1;
    for (size_t i = 0; i < working->operand_count; i++) {
        const struct table *operand = &working->operands[i];
        if (!operand->working.is_shown && (shows_all || operand->working.is_small) &&
            write_table(document, operand))
            return -1;
    }
    if (table->rows.size && write_table(document, table))
        return -1;
    if (working->worked)
        piece(document, PIECE_WORKED, working->worked);
    return send(document);
}

int document_write(const struct document_format *format, struct stream *out,
                   const struct report *report, const struct layout *layout, size_t columns,
                   struct err *err)
{
    struct document document = {.format = format,
                                .report = report,
                                .layout = layout,
                                .out = out,
                                .language = layout->style ? layout->style->language : NULL,
                                .columns = layout->lines ? columns : 0,
                                .err = err};
    int failed = format->begin(&document) || send(&document);
    for (size_t i = 0; i < report->table_count && !failed; i++) {
        const struct table *table = &report->tables[i];
        if (table->working.chapter != document.chapter) {
            document.chapter = table->working.chapter;
            document.number = 0;
            format->chapter(&document);
            failed = send(&document);
        }
        document.number++;
        failed = failed || write_working(&document, table);
    }
    if (!failed && format->end) {
        format->end(&document);
        failed = send(&document);
    }
    buf_release(&document.text);
    return err_if(failed);
}

const char *document_title(const struct document *document)
{
    return say(document->language, report_chapter(document->report)->is_listed
                                       ? "Every query, step by step"
                                       : "One query, step by step");
}

const char *chapter_token(const struct chapter *chapter)
{
    return chapter->text->labels[chapter->query].exact;
}

void chapter_words(struct buf *out, const struct chapter *chapter, const char *separator,
                   const char *language)
{
    if (chapter->part)
        buf_format(out, "%s%s", separator, say(language, chapter->part->words));
    buf_format(out, say(language, "%slayer %zu%shead %zu"), separator, chapter->layer, separator,
               chapter->head);
}

/* --- facts ------------------------------------------------------------------------------------ */

static void add_text_fact(struct document *document, const char *name, const struct tokenized *text,
                          write_fact *fact)
{
    struct buf visible = {0};
    tokenized_visible(&visible, text);
    fact(&document->text, say(document->language, name), visible.size ? visible.bytes : "", "");
    buf_fail_with(&document->text, &visible);
    buf_release(&visible);
}

void document_facts(struct document *document, write_fact *fact)
{
    const struct report *report = document->report;
    const struct tokenized model = {.text = report->model, .size = strlen(report->model)};
    add_text_fact(document, "model", &model, fact);
    if (report->mechanism)
        fact(&document->text, say(document->language, "mechanism"), "", report->mechanism);
    add_text_fact(document, "sentence", &report->sentence, fact);
    if (report->source.count)
        add_text_fact(document, "source", &report->source, fact);
}

void document_chapter_facts(struct document *document, write_fact *fact)
{
    struct buf words = {0};
    struct buf *out = &document->text;
    const char *language = document->language;
    const struct chapter *chapter = document->chapter;
    chapter_words(&words, chapter, ", ", language);
    fact(out, say(language, "query"), chapter_token(chapter), words.size ? words.bytes : "");
    buf_clear(&words);
    buf_format(&words, say(language, "%zu of %zu, with %.2f of the weight"), chapter->shown_count,
               chapter->key_count, (double)chapter->shown_weight);
    if (chapter->shown_count < chapter->key_count)
        fact(out, say(language, "keys shown"), "", words.size ? words.bytes : "");
    buf_fail_with(out, &words);
    buf_release(&words);
}
