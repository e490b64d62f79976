#include "write/working.h"

#include <math.h>
#include <string.h>

#include "base/language.h"
#include "base/num.h"
#include "base/utf8.h"
#include "model/head_name.h"
#include "text/label.h"

enum {
    LABEL_MAX = 16,
    WIDE_GAP = 4, /* number of spaces before a column if the page is wide enough; else GRID_GAP */
    ELEMENTS_MIN = 2,
    BRIEF_ROWS = 8, /* number of rows shown of a large matrix, unless it is shown whole */
};

/* --- lines ------------------------------------------------------------------------------------ */

/* Make all lines of a grid, including LINE_HEADINGS. A table of keys has a line for each key in
 * chapter->shown, and for the sink if there is one; a brief matrix has only its first and last
 * rows. */
static int make_lines(struct grid *grid, struct arena *arena, struct err *err)
{
    const struct table *table = grid->table;
    const struct chapter *keys = table->working.of_keys ? grid->chapter : NULL;
    size_t rows = table->rows.size;
    const struct text_cut cut = text_cut_to(rows, grid->is_brief ? BRIEF_ROWS : rows);
    size_t count = keys ? keys->shown_count + rows - keys->key_count : cut.front + cut.back;
    size_t next = 0; /* index of the next row to show */
    struct grid_line *line = arena_alloc(arena, 2 * count + 4, sizeof *line, err);
    grid->lines = line;
    if (!line)
        return -1;
    *line++ = (struct grid_line){LINE_HEADINGS, .label = ""};
    *line++ = (struct grid_line){
        LINE_TITLES, .label = grid->has_labels ? say(grid->language, table->rows.name) : ""};
    for (size_t i = 0; i < count; i++) {
        size_t row = !keys                   ? (i < cut.front ? i : rows + i - count)
                     : i < keys->shown_count ? keys->shown[i]
                                             : keys->key_count;
        if (row > next)
            *line++ = (struct grid_line){LINE_GAP, .label = "…"};
        *line++ = (struct grid_line){LINE_ROW, row, grid->chapter && row == table->working.own_row,
                                     grid->has_labels ? table->rows.labels[row].text : ""};
        next = row + 1;
    }
    if (next < rows)
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

/* An element of a column's vector in a row or in the total; NAN: the line has no numbers. */
static float number_of(const struct column *column, const struct grid_line *line, size_t element)
{
    if (line->kind == LINE_ROW)
        return column_vector(column, line->row)[element];
    return line->kind == LINE_TOTAL && column->total ? column->total[element] : NAN;
}

/* The layout of a column's cells, which does not depend on the width of the page: the number format
 * and the width of the widest number. */
struct cell_format {
    struct numeral numeral;
    size_t width;
};

static struct cell_format fit_cells(const struct grid *grid, const struct column *column)
{
    char text[NUMERAL_BYTES];
    struct cell_format cells = {{0}, column->width ? 1 : width_of(column->title)};
    if (!grid->sheet || !grid->sheet->display.whole)
        cells.numeral = numeral_of(column->values, grid->table->rows.size * elements_of(column),
                                   column->digits);
    for (size_t i = 0; grid->chapter && i < grid->line_count; i++)
        for (size_t element = 0; element < elements_of(column); element++) {
            float value = number_of(column, &grid->lines[i], element);
            size_t width = isnan(value) ? 0 : numeral_write(text, cells.numeral, value);
            cells.width = num_max(cells.width, width);
        }
    return cells;
}

static void fit_labels(struct grid *grid)
{
    char number[NUM_COUNT_BYTES];
    size_t title = width_of(say(grid->language, grid->table->rows.name));
    for (const struct grid_line *line = grid->lines; line < grid->lines + grid->line_count; line++)
        if (line->kind == LINE_ROW || line->kind == LINE_TOTAL)
            grid->label_width = num_max(grid->label_width, width_of(line->label));
    grid->label_width = num_min(grid->label_width, LABEL_MAX);
    if (grid->table->working.of_keys) {
        size_t last = grid->chapter->shown[grid->chapter->shown_count - 1];
        grid->number_width = (int)num_count(number, last);
        grid->label_width += (size_t)grid->number_width + 1;
    }
    grid->label_width = num_max(grid->label_width, title);
}

/* Append a heading such as "k_j (4 of 64)". */
static void write_heading(struct buf *out, const struct grid *grid, const struct grid_slot *slot,
                          void (*symbol)(struct buf *, const char *))
{
    const struct text_cut *cut = &slot->cut;
    symbol(out, slot->column->title);
    if (text_is_cut(cut))
        buf_format(out, say(grid->language, *slot->column->title ? " (%zu of %zu)" : "%zu of %zu"),
                   cut->front + cut->back, cut->size);
}

/* --- slots ------------------------------------------------------------------------------------ */

/* Append the slots of a column, and make its cells wider until the heading fits. */
static void add_column(struct grid *grid, const struct column *column, size_t shown,
                       struct cell_format cells)
{
    struct grid_slot *first = &grid->slots[grid->slot_count];
    const struct text_cut cut = text_cut_to(elements_of(column), shown);
    size_t count = text_cut_slots(&cut);
    size_t rest = (count - 1) * GRID_GAP + text_is_cut(&cut);
    size_t numbers = cut.front + cut.back;
    const struct grid_slot all = {.column = column, .numeral = cells.numeral, .cut = cut};
    struct buf heading = {0};
    if (grid->chapter)
        write_heading(&heading, grid, &all, buf_text);
    while (heading.size && numbers * cells.width + rest < width_of(heading.bytes))
        cells.width++;
    buf_release(&heading);
    for (size_t i = 0; i < count; i++) {
        bool dots = text_cut_between(&cut, i);
        first[i] = all;
        first[i].kind = dots ? SLOT_DOTS : SLOT_CELL;
        first[i].element = text_cut_place(&cut, i);
        first[i].gap = i ? GRID_GAP : grid->gap;
        first[i].width = dots ? 1 : cells.width;
    }
    bool has_bar = grid->chapter && column->fraction;
    if (has_bar) {
        first[count] = all;
        first[count].kind = SLOT_BAR;
    }
    first->column_slots = count + has_bar;
    first->column_width = numbers * cells.width + rest;
    grid->slot_count += first->column_slots;
    grid->width += grid->gap + first->column_width;
}

/* Lay out all columns. Vectors show at most `shown` elements, and the others are omitted. */
static void lay_out(struct grid *grid, size_t shown, const struct cell_format *cells)
{
    grid->width = grid->label_width;
    grid->slot_count = 0;
    for (size_t i = 0; i < grid->table->count; i++)
        if (!(grid->table->columns[i].flags & COLUMN_DATA_ONLY))
            add_column(grid, &grid->table->columns[i], shown, cells[i]);
}

/* Make a grid of at most `columns` columns, if possible, by omitting elements of vectors; 0: omit
 * nothing. */
static int make_grid(struct grid *grid, size_t columns, struct arena *arena, struct err *err)
{
    const struct table *table = grid->table;
    struct cell_format *cells = arena_alloc(arena, table->count, sizeof *cells, err);
    size_t shown = ELEMENTS_MIN;
    bool has_headings = false;
    if (!cells || make_lines(grid, arena, err))
        return -1;
    for (size_t i = 0; i < table->count; i++) {
        if (table->columns[i].kind == COLUMN_VECTOR)
            cells[i] = fit_cells(grid, &table->columns[i]);
        shown = num_max(shown, table->columns[i].width);
    }
    if (columns > 0)
        shown = num_max(num_min(shown, columns), ELEMENTS_MIN);
    grid->slots = arena_alloc(arena, table->count * (shown + 2), sizeof *grid->slots, err);
    if (!grid->slots)
        return -1;
    if (grid->chapter)
        fit_labels(grid);
    grid->gap = WIDE_GAP;
    lay_out(grid, shown, cells);
    while (columns > 0 && grid->width > columns && shown > ELEMENTS_MIN)
        lay_out(grid, --shown, cells);
    if (columns > 0 && grid->width > columns) {
        grid->gap = GRID_GAP;
        lay_out(grid, shown, cells);
    }
    for (const struct grid_slot *slot = grid->slots; slot < grid->slots + grid->slot_count; slot++)
        has_headings |= slot->column->width && (*slot->column->title || text_is_cut(&slot->cut));
    grid->lines += !has_headings;
    grid->line_count -= !has_headings;
    return 0;
}

bool grid_has_number(const struct grid *grid, const struct grid_line *line)
{
    return line->kind == LINE_ROW && grid->table->working.of_keys &&
           line->row < grid->chapter->key_count;
}

static void write_text(struct buf *out, const char *text, const struct notation *notation)
{
    struct buf visible = {0};
    if (notation->shows)
        label_line(&visible, text, strlen(text));
    if (notation->text)
        notation->text(out, notation->shows ? visible.bytes : text,
                       notation->shows ? visible.size : strlen(text));
    else
        buf_text(out, text);
    buf_fail_with(out, &visible);
    buf_release(&visible);
}

void grid_cell(struct buf *out, const struct grid *grid, const struct grid_line *line,
               const struct grid_slot *slot, const struct notation *notation)
{
    const struct column *column = slot->column;
    const struct sheet *sheet = grid->sheet;
    char digits[NUMERAL_BYTES], text[TEXT_CELL_BYTES];
    const char *shown = NULL; /* text of the cell; NULL: the cell has a number or is empty */
    float value = NAN;
    if (slot->kind == SLOT_BAR)
        return;
    if (line->kind == LINE_HEADINGS) {
        if (column->width)
            write_heading(out, grid, slot, notation->symbol);
    } else if (slot->kind == SLOT_DOTS) {
        buf_text(out, "…");
    } else if (line->kind == LINE_TITLES) {
        if (sheet)
            shown = sheet->columns.labels[slot->element].text;
        else if (column->kind != COLUMN_VECTOR)
            shown = column->title ? column->title : column->name;
        else if (column->width)
            buf_format(out, "%zu", slot->element);
        else
            notation->symbol(out, column->title);
    } else if (column->kind != COLUMN_VECTOR) {
        shown = text_of_cell(text, column, line->row, false);
    } else if (!sheet || !sheet_hides(sheet, line->row, slot->element)) {
        value = number_of(column, line, slot->element);
        shown = sheet && !isnan(value) ? sheet_text(sheet, line->row, slot->element) : NULL;
    }
    if (shown)
        write_text(out, shown, notation);
    if (shown || isnan(value))
        return;
    numeral_write(digits, slot->numeral, value);
    buf_text(out,
             isinf(value) && grid->chapter && notation->infinity ? notation->infinity : digits);
}

/* --- the document ----------------------------------------------------------------------------- */

static int send(struct document *document)
{
    int failed = text_send(document->out, &document->text, document->err);
    document->begun |= document->text.size > 0;
    buf_clear(&document->text);
    return failed;
}

/* Write the titles of a report; if it is untitled, write the facts that are above its tables. */
static void write_titles(struct document *document)
{
    char number[NUM_SIZE_BYTES];
    struct buf lines = {0};
    const struct report *report = document->report;
    const struct document_format *format = document->format;
    const struct table *facts = report->untitled ? report->facts : NULL;
    if (report_chapter(report)) {
        format->piece(document, PIECE_DOCUMENT, document_title(document));
        document_facts(document);
        return;
    }
    if (report->identity.index)
        stream_char(document->out, '\n');
    text_titles(&lines, report, document->layout);
    for (size_t at = 0, size; at < lines.size && !report->untitled; at += size + 1) {
        size = strcspn(lines.bytes + at, "\n");
        lines.bytes[at + size] = '\0';
        format->piece(document, at ? PIECE_LINE : PIECE_SUBJECT, lines.bytes + at);
    }
    if (report->about && !report->untitled)
        format->piece(document, PIECE_LINE, report->about);
    for (size_t i = 0; facts && i < facts->count; i++) {
        const char *value = text_of_fact(number, &facts->columns[i]);
        if (value)
            format->fact(document, facts->columns[i].title, value, "");
    }
    buf_fail_with(&document->text, &lines);
    buf_release(&lines);
}

static int write_grid(struct document *document, const struct table *table,
                      const struct sheet *sheet, bool is_brief)
{
    struct arena arena = {0};
    struct grid grid = {.table = table,
                        .sheet = sheet,
                        .chapter = document->chapter,
                        .language = document->language,
                        .is_brief = is_brief,
                        .has_labels = document->chapter || sheet};
    int failed = make_grid(&grid, document->chapter ? document->columns : 0, &arena, document->err);
    if (!failed) {
        document->format->table(document, &grid);
        failed = send(document);
    }
    arena_release(&arena);
    return failed;
}

/* Write a table with its heading above it and its note below it. A table with its working has its
 * formulas, note and operands above it, and the worked formula below it. Some tables are only a
 * heading and a note. */
static int write_table(struct document *document, const struct table *table)
{
    const struct working *working = &table->working;
    bool shows_all = !document->layout->lines;
    void (*piece)(struct document *, enum piece, const char *) = document->format->piece;
    if (table->heading)
        piece(document, working->chapter ? PIECE_TITLE : PIECE_HEADING, table->heading);
    for (size_t i = 0; i < working->formula_count; i++)
        piece(document, PIECE_FORMULA, working->formulas[i]);
    if (table->note && working->chapter)
        piece(document, PIECE_NOTE, table->note);
    if (send(document))
        return -1;
    for (size_t i = 0; i < working->operand_count; i++) {
        const struct table *operand = &working->operands[i];
        if (!operand->working.is_shown &&
            (shows_all || document->layout->matrices || operand->working.is_small) &&
            write_grid(document, operand, NULL, !shows_all))
            return -1;
    }
    bool has_grid = working->chapter ? table->rows.size : table->count || !table->heading;
    if (has_grid && write_grid(document, table, NULL, false))
        return -1;
    if (table->note && !working->chapter)
        piece(document, PIECE_REMARK, table->note);
    if (working->worked)
        piece(document, PIECE_WORKED, working->worked);
    return send(document);
}

int document_write(const struct document_format *format, struct stream *out,
                   const struct report *report, const struct layout *layout, size_t columns,
                   struct err *err)
{
    const struct style *style = layout->style;
    bool has_chapters = report_chapter(report); /* documents without chapters are in English */
    char title[SHEET_NAME_BYTES];
    struct document document = {.format = format,
                                .report = report,
                                .layout = layout,
                                .out = out,
                                .language = style && has_chapters ? style->language : NULL,
                                .columns = layout->lines ? columns : 0,
                                .err = err};
    int failed = format->begin ? format->begin(&document) : 0;
    if (!format->begin)
        write_titles(&document);
    failed = failed || send(&document);
    size_t arrays = report->shows_arrays || !report->table_count ? report->array_count : 0;
    for (size_t i = 0; i < arrays; i++)
        for (size_t k = 0; k < array_matrix_count(&report->arrays[i]) && !failed; k++) {
            struct sheet sheet = array_matrix(report, &report->arrays[i], k);
            const struct column column = {.title = "",
                                          .kind = COLUMN_VECTOR,
                                          .digits = NUMERAL_DIGITS,
                                          .values = sheet.values,
                                          .width = sheet.columns.size};
            const struct table table = {.rows = sheet.rows, .columns = &column, .count = 1};
            format->piece(&document, PIECE_MATRIX, sheet_title(title, &sheet));
            failed = send(&document) || write_grid(&document, &table, &sheet, false);
        }
    for (size_t i = 0; i < report->table_count && !failed; i++) {
        const struct table *table = &report->tables[i];
        if (table->flags & COLUMN_DATA_ONLY)
            continue;
        if (table->working.chapter != document.chapter) {
            document.chapter = table->working.chapter;
            document.number = 0;
            if (format->chapter) {
                format->chapter(&document);
            } else {
                if (document.chapter->is_listed)
                    format->piece(&document, PIECE_CHAPTER, chapter_token(document.chapter));
                document_chapter_facts(&document);
            }
            failed = send(&document);
        }
        document.number++;
        failed = failed || write_table(&document, table);
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
    char name[HEAD_NAME_BYTES];
    if (chapter->branch)
        buf_format(out, "%s%s", separator, say(language, chapter->branch->words));
    buf_format(out, "%s%s", separator, head_name(name, chapter->layer, chapter->head));
}

/* --- facts ------------------------------------------------------------------------------------ */

static void add_text_fact(struct document *document, const char *name, const struct tokenized *text)
{
    struct buf visible = {0};
    tokenized_visible(&visible, text);
    document->format->fact(document, say(document->language, name),
                           visible.size ? visible.bytes : "", "");
    buf_fail_with(&document->text, &visible);
    buf_release(&visible);
}

void document_facts(struct document *document)
{
    const struct report *report = document->report;
    const struct tokenized model = {.raw = report->model, .size = strlen(report->model)};
    add_text_fact(document, "model", &model);
    if (report->mechanism)
        document->format->fact(document, say(document->language, "mechanism"), "",
                               report->mechanism);
    add_text_fact(document, "sentence", &report->text);
    if (report->source.count)
        add_text_fact(document, "source", &report->source);
}

void document_chapter_facts(struct document *document)
{
    struct buf words = {0};
    const char *language = document->language;
    const struct chapter *chapter = document->chapter;
    chapter_words(&words, chapter, ", ", language);
    document->format->fact(document, say(language, "query"), chapter_token(chapter),
                           words.size ? words.bytes : "");
    buf_clear(&words);
    buf_format(&words, say(language, "%zu of %zu, with %.2f of the weight"), chapter->shown_count,
               chapter->key_count, (double)chapter->shown_weight);
    if (chapter->shown_count < chapter->key_count)
        document->format->fact(document, say(language, "keys shown"), "",
                               words.size ? words.bytes : "");
    buf_fail_with(&document->text, &words);
    buf_release(&words);
}

/* --- markup languages ------------------------------------------------------------------------- */

/* Write a text in a paragraph of its own. */
static void markup_piece(struct document *document, enum piece piece, const char *text)
{
    const struct markup *markup = document->format->markup;
    bool is_formula = piece == PIECE_FORMULA || piece == PIECE_WORKED;
    bool is_inner = piece == PIECE_TITLE && document->chapter->is_listed;
    const char *const *marks = markup->marks[is_inner ? PIECE_MATRIX : piece];
    struct buf *out = &document->text;
    buf_text(out, document->begun || out->size ? "\n" : "");
    buf_text(out, marks[0] ? marks[0] : "");
    if (piece == PIECE_TITLE)
        buf_format(out, "%zu. %s", document->number, text);
    else if (piece == PIECE_NOTE)
        markup->note(out, text);
    else if (is_formula)
        markup->notation.symbol(out, text);
    else
        markup->notation.text(out, text, strlen(text));
    buf_format(out, "%s\n", marks[1] ? marks[1] : "");
}

static void markup_fact(struct document *document, const char *name, const char *quoted,
                        const char *words)
{
    const struct markup *markup = document->format->markup;
    struct buf *out = &document->text;
    bool is_query = strcmp(name, "query") == 0 || strcmp(name, say("zh", "query")) == 0;
    const char *bold = is_query && markup->bold ? markup->bold : "";
    int indent = (int)strspn(name, " "); /* a name that begins with spaces belongs to the fact
                                          * above */
    buf_format(out, "%.*s%s%s%s%s", indent, name, markup->fact[0], name + indent, markup->fact[1],
               bold);
    markup->notation.text(out, quoted, strlen(quoted));
    buf_format(out, "%s%s\n", bold, words);
}

/* Append a line of cells. Below the titles, also append the line of marks that aligns the
 * columns. */
static void markup_line(struct buf *out, const struct grid *grid, const struct grid_line *line,
                        const struct markup *markup)
{
    char bar[BAR_BYTES];
    bool is_bold = markup->bold && (line->is_own || line->kind == LINE_TOTAL);
    const char *bold = is_bold ? markup->bold : "";
    struct buf sides = {0};
    buf_char(out, '|');
    if (grid->has_labels) {
        buf_format(out, " %s", bold);
        if (grid_has_number(grid, line))
            buf_format(out, "%zu ", line->row);
        write_text(out, line->label, &markup->notation);
        buf_format(out, "%s |", bold);
        buf_text(&sides, markup->texts);
    }
    for (size_t i = 0; i < grid->slot_count && line->kind != LINE_GAP; i++) {
        const struct grid_slot *slot = &grid->slots[i];
        bool is_text = column_is_text(slot->column) || slot->kind == SLOT_BAR;
        buf_char(out, ' ');
        if (line->kind == LINE_TITLES && slot->kind == SLOT_CELL && grid->chapter) {
            markup->title(out, slot);
        } else if (line->kind == LINE_ROW && slot->kind == SLOT_BAR) {
            bar_draw(bar, (double)*column_vector(slot->column, line->row));
            buf_bytes(out, bar, strcspn(bar, " "));
        } else {
            grid_cell(out, grid, line, slot, &markup->notation);
        }
        buf_text(out, " |");
        buf_text(&sides, is_text ? markup->texts : markup->numbers);
    }
    if (line->kind == LINE_TITLES && sides.size)
        buf_format(out, "\n|%s", sides.bytes);
    buf_char(out, '\n');
    buf_fail_with(out, &sides);
    buf_release(&sides);
}

static void markup_table(struct document *document, const struct grid *grid)
{
    struct buf *out = &document->text;
    buf_text(out, document->begun ? "\n" : "");
    for (size_t i = 0; i < grid->line_count && grid->table->count; i++)
        /* tables in markup have only one line of titles */
        if (grid->lines[i].kind != LINE_HEADINGS)
            markup_line(out, grid, &grid->lines[i], document->format->markup);
    for (size_t i = 0; i < grid->slot_count; i++) {
        const struct text_cut *cut = &grid->slots[i].cut;
        if (grid->slots[i].column_slots && text_is_cut(cut))
            buf_format(out, say(grid->language, "\n(%zu of %zu elements)\n"),
                       cut->front + cut->back, cut->size);
    }
}

int markup_write(const struct markup *markup, struct stream *out, const struct report *report,
                 const struct layout *layout, struct err *err)
{
    const struct document_format format = {markup_piece, markup_fact, markup_table, markup};
    return document_write(&format, out, report, layout, PAGE_COLUMNS, err);
}
