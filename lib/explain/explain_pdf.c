/* explain_pdf.c: explanations as a document of A4 pages, drawn by cairo, its texts and formulas set
 * by pango.
 *
 * What is written goes down the page, and what finds no room turns it. A step's title, its formulas
 * and its table wait until it is known how long the table is, and begin a page if that has room for
 * all of them, this one has not, and it is half full. A longer table goes on on the next page below
 * its titles, and whole vectors come in several, as in LaTeX. Columns are counted in characters, as
 * explain_table.c counts them, of one width each.
 */
#include <stdio.h>
#include <string.h>

#include "draw/drawing.h"
#include "draw/canvas.h"
#include "explain/explain_walk.h"

/* Points. */
#define PAGE_WIDTH 595.0
#define MARGIN 56.0
#define BOTTOM (842.0 - MARGIN)
#define PAGE_HEIGHT (BOTTOM - MARGIN)
#define TEXT_WIDTH (PAGE_WIDTH - 2 * MARGIN)
#define TEXT_SIZE 9.5
#define TABLE_SIZE 7.5 /* of page numbers, too */
#define CHARACTER 4.5  /* of a table */
#define LINE 10.5      /* of a table, from one base line to the next */
#define LETTERS 7.5    /* of that above the base line */
#define BAR 60.0       /* for a weight of 1 */
#define WORKED 24.0    /* for a formula with numbers below a table */

enum {
    PAGE_COLUMNS = 106, /* characters of a table */
    NUMBER_BYTES = 32,
    FACT_BYTES = 1500,              /* of a text, in one paragraph: less than a page */
    ROWS_AHEAD = 3,                 /* that stand on the page of their titles, at least */
    PIECES = 3 + STEP_FORMULAS_MAX, /* a title, a note and numbers, too */
};

enum { INK = 0x1b1f24, FAINT = 0x5c6570, RULE = 0xb5bcc4, OWN = 0xfff0cc, BARS = 0x3b6fb6 };

/* A paragraph that waits for the table below it. */
struct piece {
    size_t begin; /* in the page's waiting texts */
    struct lettering how;
    double above, indent, gap;
};

struct page {
    struct drawing drawing;
    size_t number;
    double x;           /* where the next cell begins … */
    double y;           /* … on this base line; or where the next paragraph does */
    bool bold;          /* this line of a table */
    struct buf text;    /* to be added: markup, or memory for it was not there */
    struct buf waiting; /* markup, each with its NUL */
    struct piece pieces[PIECES];
    size_t piece_count;
    const struct explain_table *table;
    bool several; /* explanations */
};

/* --- pages ------------------------------------------------------------------------------------ */

static struct lettering letters(double size, unsigned colour)
{
    return (struct lettering){.size = size, .colour = colour_of_hex(colour)};
}

static void add_page_number(struct page *page)
{
    char number[NUMBER_BYTES];
    struct lettering how = letters(TABLE_SIZE, FAINT);
    how.anchor = ANCHOR_MIDDLE;
    snprintf(number, sizeof number, "%zu", page->number++);
    canvas_text(&page->drawing.canvas, (struct point){PAGE_WIDTH / 2, BOTTOM + MARGIN / 2}, number,
                &how);
}

static void turn(struct page *page)
{
    add_page_number(page);
    drawing_turn_page(&page->drawing);
    page->y = MARGIN;
}

/* Turn the page unless there is room for so much. */
static void need(struct page *page, double height)
{
    if (page->y + height > BOTTOM && page->y > MARGIN)
        turn(page);
}

/* Add the text, and leave a gap below it. */
static void add_lines(struct page *page, const struct lettering *how, double indent, double gap)
{
    if (!page->text.size)
        return;
    double width = TEXT_WIDTH - indent;
    double height = drawing_height(&page->drawing, page->text.bytes, width, how);
    need(page, height);
    drawing_paragraph(&page->drawing, (struct point){MARGIN + indent, page->y}, page->text.bytes,
                      width, how);
    page->y += height + gap;
    buf_clear(&page->text);
}

static void add_rule(struct page *page, double from, double to, double y)
{
    const struct pen pen = {colour_of_hex(RULE), 0.5, 1};
    canvas_path(&page->drawing.canvas, (struct point[]){{from, y}, {to, y}}, 2, &pen);
}

static void add_piece(struct page *page, struct piece piece)
{
    piece.begin = page->waiting.size;
    page->pieces[page->piece_count++] = piece;
    if (page->text.size)
        buf_text(&page->waiting, page->text.bytes);
    buf_char(&page->waiting, '\0');
    page->text.out_of_memory |= page->waiting.out_of_memory;
    buf_clear(&page->text);
}

/* Write what waits, on a page that has room for so much below it, too; or for the least, where no
 * page has so much, or the next one would leave more than half of this one blank. */
static void place_pieces(struct page *page, double below, double least)
{
    double height = 0;
    if (page->waiting.out_of_memory)
        page->piece_count = 0;
    for (size_t i = 0; i < page->piece_count; i++) {
        const struct piece *piece = &page->pieces[i];
        const char *text = page->waiting.bytes + piece->begin;
        double room = TEXT_WIDTH - piece->indent;
        if (*text)
            height +=
                piece->above + piece->gap + drawing_height(&page->drawing, text, room, &piece->how);
    }
    bool whole = height + below <= PAGE_HEIGHT && page->y > BOTTOM - PAGE_HEIGHT / 2;
    need(page, height + (whole ? below : least));
    for (size_t i = 0; i < page->piece_count; i++) {
        const struct piece *piece = &page->pieces[i];
        page->y += page->y > MARGIN ? piece->above : 0;
        buf_text(&page->text, page->waiting.bytes + piece->begin);
        add_lines(page, &piece->how, piece->indent, piece->gap);
    }
    page->piece_count = 0;
    page->waiting.size = 0;
}

/* --- a table ---------------------------------------------------------------------------------- */

static struct lettering of_line(const struct page *page, unsigned colour)
{
    struct lettering how = letters(TABLE_SIZE, colour);
    how.bold = page->bold;
    return how;
}

static void add_heading(struct page *page, const struct explain_cell *cell, double width)
{
    struct lettering how = of_line(page, FAINT);
    how.anchor = ANCHOR_MIDDLE;
    if (!*cell->text)
        return;
    drawing_markup(&page->drawing, (struct point){page->x + width / 2, page->y}, cell->text, &how);
    add_rule(page, page->x, page->x + width, page->y + LINE - LETTERS);
}

static void add_cell(struct page *page, const struct explain_cell *cell)
{
    double width = (double)cell->width * CHARACTER;
    struct lettering how = of_line(page, cell->kind == CELL_NUMBER ? INK : FAINT);
    page->x += CHARACTER * (double)cell->gap;
    const struct point end = {page->x + width, page->y};
    how.anchor = cell->kind == CELL_DOTS ? ANCHOR_START : ANCHOR_END;
    if (cell->kind == CELL_BAR) {
        const struct box bar = {page->x + 2 * CHARACTER, page->y - 5, BAR * (double)cell->value, 5};
        if (cell->line == LINE_ROW && bar.x + BAR <= PAGE_WIDTH - MARGIN / 2)
            canvas_rect(&page->drawing.canvas, bar, colour_of_hex(BARS));
    } else if (cell->kind == CELL_HEADING) {
        add_heading(page, cell, width);
    } else if (cell->kind == CELL_TITLE && *cell->text) {
        drawing_markup(&page->drawing, end, cell->text, &how);
    } else if (cell->kind == CELL_NUMBER) {
        canvas_text(&page->drawing.canvas, end, cell->text, &how);
    } else if (cell->kind == CELL_DOTS) {
        canvas_text(&page->drawing.canvas, (struct point){page->x, page->y}, "…", &how);
    }
    page->x = end.x;
}

/* What a line is called, its end lost where it is longer than the table allows. */
static void add_label(struct page *page, const struct explain_line *line)
{
    struct lettering how = of_line(page, line->kind == LINE_TITLES ? FAINT : INK);
    double width = (double)page->table->label_width * CHARACTER;
    struct buf label = {0};
    if (line->kind == LINE_ROW && page->table->data->of_keys)
        buf_format(&label, "%zu ", line->row);
    buf_text(&label, line->kind == LINE_GAP ? "…" : line->label);
    page->text.out_of_memory |= label.out_of_memory;
    letters_fit(&page->text, label.out_of_memory ? "" : label.bytes, width + 2 * CHARACTER,
                TABLE_SIZE);
    if (page->text.size)
        canvas_text(&page->drawing.canvas, (struct point){MARGIN, page->y}, page->text.bytes, &how);
    buf_clear(&page->text);
    buf_release(&label);
}

static void begin_line(struct page *page, const struct explain_line *line)
{
    double width = (double)page->table->width * CHARACTER;
    if (line->kind != LINE_HEADINGS && line->kind != LINE_TITLES && page->y + LINE > BOTTOM) {
        turn(page);
        page->y += LETTERS;
        explain_table_begin(page->table);
    }
    page->x = MARGIN + (double)page->table->label_width * CHARACTER;
    page->bold = line->kind == LINE_TOTAL || line->is_own;
    if (line->is_own)
        canvas_rect(&page->drawing.canvas,
                    (struct box){MARGIN - 3, page->y - LETTERS - 0.5, width + 6, LINE},
                    colour_of_hex(OWN));
    if (line->kind == LINE_TOTAL)
        add_rule(page, MARGIN, MARGIN + width, page->y - LETTERS);
    if (line->kind != LINE_HEADINGS)
        add_label(page, line);
}

static void end_line(struct page *page, enum explain_line_kind line)
{
    double end = MARGIN + (double)page->table->width * CHARACTER;
    if (line == LINE_TITLES)
        add_rule(page, MARGIN, end, page->y + LINE - LETTERS);
    page->y += line == LINE_TITLES || line == LINE_HEADINGS ? LINE + 1 : LINE;
}

static double table_height(size_t lines)
{
    return LETTERS + 2 + 2 * (LINE + 1) + LINE * (double)lines;
}

static void begin_table(struct page *page, const struct explain_table *table)
{
    page->table = table;
    place_pieces(page, table_height(table->lines) + WORKED,
                 table_height(table->lines < ROWS_AHEAD ? table->lines : ROWS_AHEAD));
    page->y += LETTERS + 2;
}

/* From the base line of what would follow to what stands below the table. */
static void end_table(struct page *page)
{
    page->y += LINE - LETTERS;
}

/* --- the document ----------------------------------------------------------------------------- */

static void add_section(struct page *page, double size, const char *title)
{
    struct piece piece = {.how = letters(size, INK), .above = size, .gap = size / 2};
    piece.how.bold = true;
    html_text(&page->text, title, strlen(title));
    add_piece(page, piece);
}

static void begin_step(struct page *page, size_t number, const char *title)
{
    char numbered[NUMBER_BYTES + 64];
    snprintf(numbered, sizeof numbered, "%zu. %s", number, title);
    add_section(page, 12, numbered);
}

static void add_paragraph(struct page *page, enum explain_text kind, const char *text)
{
    double size = kind == EXPLAIN_WORKED ? TEXT_SIZE - 1 : TEXT_SIZE;
    double indent = kind == EXPLAIN_FORMULA ? 2 * TEXT_SIZE : 0;
    (kind == EXPLAIN_NOTE ? html_prose : html_markup)(&page->text, text);
    add_piece(page, (struct piece){.how = letters(size, INK), .indent = indent, .gap = 3});
}

/* Where no table came. */
static void end_step(struct page *page)
{
    place_pieces(page, 0, 0);
}

/* A paragraph a line: of a text that fills pages several. */
static const struct fact_marks fact_marks = {.text = html_text,
                                             .escapes_words = true,
                                             .name = {"<b>", "</b>  "},
                                             .end = "\n",
                                             .line_bytes = FACT_BYTES};

static void add_facts(struct page *page, struct buf *facts)
{
    struct lettering how = letters(TEXT_SIZE, INK);
    place_pieces(page, 0, 0);
    page->text.out_of_memory |= facts->out_of_memory;
    for (const char *line = facts->bytes; line && *line; line += strcspn(line, "\n") + 1) {
        buf_bytes(&page->text, line, strcspn(line, "\n"));
        add_lines(page, &how, 0, 2);
    }
    buf_release(facts);
}

/* On a page of its own. */
static void begin_query(struct page *page, const struct explanation *explanation, size_t place)
{
    struct buf facts = {0};
    if (place > 0)
        turn(page);
    if (page->several)
        add_section(page, 14, explain_token(explanation));
    explain_facts_add_query(&facts, explanation, &fact_marks);
    add_facts(page, &facts);
}

static int begin_document(struct page *page, struct stream *out, const struct report *report,
                          struct err *err)
{
    struct buf facts = {0};
    struct buf title = {0};
    tokenized_visible(&title, &report->sentence);
    const struct drawing_page a4 = {
        .width = PAGE_WIDTH, .height = BOTTOM + MARGIN, .title = title.size ? title.bytes : ""};
    int failed =
        buf_check(&title, err) || drawing_begin(&page->drawing, DRAWING_PDF, out, &a4, err);
    buf_release(&title);
    if (failed)
        return -1;
    add_section(page, 16, page->several ? "Every query, step by step" : "One query, step by step");
    explain_facts_add(&facts, report, &fact_marks);
    add_facts(page, &facts);
    return 0;
}

int explain_pdf_write(struct stream *out, const struct explanations *explanations,
                      const struct explain_page *how, struct err *err)
{
    static const struct explain_form form = {
        .formula = html_markup,
        .infinity = "−∞",
        .begin_query = begin_query,
        .begin_step = begin_step,
        .add_text = add_paragraph,
        .begin_table = begin_table,
        .begin_line = begin_line,
        .add_cell = add_cell,
        .end_line = end_line,
        .end_table = end_table,
        .end_step = end_step,
    };
    struct page page = {.number = 1, .y = MARGIN, .several = explanations->several};
    const struct explain_page a4 = {PAGE_COLUMNS, how->full};
    if (begin_document(&page, out, explanations->items->report, err))
        return -1;
    int failed = explain_walk(explanations, &form, &page, &a4, err);
    add_page_number(&page);
    failed = failed || buf_check(&page.text, err);
    buf_release(&page.waiting);
    buf_release(&page.text);
    return drawing_end(&page.drawing, failed ? NULL : err) || failed ? -1 : 0;
}
