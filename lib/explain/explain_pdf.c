/* explain_pdf.c: explanations as a document of A4 pages, drawn by cairo, its texts and formulas set
 * by pango.
 *
 * What is written goes down the page. A step's title, its formulas and its table wait until it is
 * known how long the table is, and begin a page if that has room for all of them, this one has not,
 * and it is half full. A longer table goes on on the next page below its titles, and whole vectors
 * come in several, as in LaTeX. Columns are counted in characters, as explain_layout counts them,
 * of one width each.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "draw/canvas.h"
#include "explain/explain_walk.h"
#include "explain/markup_text.h"
#include "explain/paper.h"

/* Points. */
#define TEXT_SIZE 9.5
#define TABLE_SIZE 7.5
#define CHARACTER 4.5 /* of a table */
#define LINE 10.5     /* of a table, from one base line to the next */
#define LETTERS 7.5   /* of that above the base line */
#define BAR 60.0      /* for a weight of 1 */
#define PAGE_HEIGHT (PAPER_BOTTOM - PAPER_MARGIN)
#define WORKED 24.0 /* for a formula with numbers below a table */

enum {
    PAGE_COLUMNS = 106, /* characters of a table */
    NUMBER_BYTES = 32,
    FACT_BYTES = 1500,              /* of a text, in one paragraph: less than a page */
    ROWS_AHEAD = 3,                 /* that stand on the page of their titles, at least */
    PIECES = 3 + STEP_FORMULAS_MAX, /* a title, a note and numbers, too */
};

/* A paragraph that waits for the table below it. */
struct piece {
    size_t begin; /* in the page's waiting texts */
    struct lettering how;
    double above, indent, gap;
};

enum { OWN = 0xfff0cc, BARS = 0x3b6fb6 };

struct page {
    struct paper paper;
    const struct explain_table *table; /* that is being drawn */
    bool several;                      /* explanations */
    struct buf waiting;                /* markup, each with its NUL */
    struct piece pieces[PIECES];
    size_t piece_count;
    double x;  /* where the next cell begins; y of the paper is the base line of its line */
    bool bold; /* this line */
};

/* --- what stands above a table ---------------------------------------------------------------- */

static void add_piece(struct page *page, const struct piece *piece)
{
    page->pieces[page->piece_count] = *piece;
    page->pieces[page->piece_count++].begin = page->waiting.size;
    if (paper_has_text(&page->paper))
        buf_text(&page->waiting, page->paper.text.bytes);
    buf_char(&page->waiting, '\0');
    page->paper.text.out_of_memory |= page->waiting.out_of_memory;
    paper_used(&page->paper);
}

static double height_of(struct page *page, const struct piece *piece)
{
    double width = PAPER_WIDTH - 2 * PAPER_MARGIN - piece->indent;
    const char *text = page->waiting.bytes + piece->begin;
    return *text ? piece->above + piece->gap +
                       drawing_height(&page->paper.drawing, text, width, &piece->how)
                 : 0;
}

/* Write what waits, on a page that has room for so much below it, too; or for the least, where no
 * page has so much, or the next one would leave more than half of this one blank. */
static void place_pieces(struct page *page, double below, double least)
{
    double height = 0;
    if (page->waiting.out_of_memory)
        page->piece_count = 0;
    for (size_t i = 0; i < page->piece_count; i++)
        height += height_of(page, &page->pieces[i]);
    bool whole = height + below <= PAGE_HEIGHT && page->paper.y > PAPER_BOTTOM - PAGE_HEIGHT / 2;
    paper_need(&page->paper, height + (whole ? below : least));
    for (size_t i = 0; i < page->piece_count; i++) {
        const struct piece *piece = &page->pieces[i];
        page->paper.y += page->paper.y > PAPER_MARGIN ? piece->above : 0;
        buf_text(&page->paper.text, page->waiting.bytes + piece->begin);
        paper_paragraph(&page->paper, &piece->how, piece->indent, piece->gap);
    }
    page->piece_count = 0;
    page->waiting.size = 0;
}

/* --- a table ---------------------------------------------------------------------------------- */

static double width_of(const struct page *page, const struct explain_cell *cell)
{
    return (double)page->table->layout.cells[cell->place] * CHARACTER;
}

static struct lettering of_line(const struct page *page, unsigned colour)
{
    struct lettering how = paper_letters(TABLE_SIZE, colour);
    how.bold = page->bold;
    return how;
}

static void add_heading(struct page *page, const struct explain_cell *cell)
{
    double width = (double)explain_block_width(&page->table->layout, cell->place) * CHARACTER;
    struct lettering how = of_line(page, PAPER_FAINT);
    struct buf symbol = {0};
    html_markup(&symbol, cell->block->symbol.text);
    if (cell->block->is_vector)
        explain_heading(&page->paper.text, symbol.size ? symbol.bytes : "", cell->cut);
    page->paper.text.out_of_memory |= symbol.out_of_memory;
    how.anchor = ANCHOR_MIDDLE;
    if (paper_has_text(&page->paper)) {
        drawing_markup(&page->paper.drawing, (struct point){page->x + width / 2, page->paper.y},
                       page->paper.text.bytes, &how);
        paper_rule(&page->paper, page->x, page->x + width, page->paper.y + LINE - LETTERS);
        paper_used(&page->paper);
    }
    buf_release(&symbol);
    page->x += width;
}

static void add_title(struct page *page, const struct explain_cell *cell)
{
    struct lettering how = of_line(page, PAPER_FAINT);
    how.anchor = ANCHOR_END;
    if (cell->block->is_vector)
        buf_format(&page->paper.text, "%zu", cell->number);
    else
        html_markup(&page->paper.text, cell->block->symbol.text);
    page->x += width_of(page, cell);
    if (paper_has_text(&page->paper))
        drawing_markup(&page->paper.drawing, (struct point){page->x, page->paper.y},
                       page->paper.text.bytes, &how);
    paper_used(&page->paper);
}

static void add_number(struct page *page, const struct explain_cell *cell)
{
    struct lettering how = of_line(page, PAPER_INK);
    how.anchor = ANCHOR_END;
    page->x += width_of(page, cell);
    canvas_text(&page->paper.drawing.canvas, (struct point){page->x, page->paper.y},
                isinf(cell->value) ? "−∞" : cell->digits, &how);
}

static void add_dots(struct page *page, const struct explain_cell *cell)
{
    (void)cell;
    struct lettering how = of_line(page, PAPER_FAINT);
    canvas_text(&page->paper.drawing.canvas, (struct point){page->x, page->paper.y}, "…", &how);
    page->x += CHARACTER;
}

static void add_bar(struct page *page, const struct explain_cell *cell)
{
    const struct box bar = {page->x + 2 * CHARACTER, page->paper.y - 5, BAR * (double)cell->value,
                            5};
    if (cell->line == LINE_ROW && bar.x + BAR <= PAPER_WIDTH - PAPER_MARGIN / 2)
        canvas_rect(&page->paper.drawing.canvas, bar, colour_of_hex(BARS));
}

/* A bar stands in the room that follows. */
static void leave_gap(struct page *page, const struct explain_cell *cell)
{
    if (cell->kind != CELL_BAR)
        page->x += CHARACTER * (double)(cell->first ? page->table->layout.gap : EXPLAIN_GAP);
}

static double table_width(const struct page *page)
{
    return (double)page->table->layout.width * CHARACTER;
}

/* What a row is called, its end lost where it is longer than explain_layout allows. */
static void add_label(struct page *page, const char *text, unsigned colour)
{
    struct lettering how = of_line(page, colour);
    double width = (double)page->table->layout.label_width * CHARACTER;
    letters_fit(&page->paper.text, text, width + 2 * CHARACTER, TABLE_SIZE);
    if (paper_has_text(&page->paper))
        canvas_text(&page->paper.drawing.canvas, (struct point){PAPER_MARGIN, page->paper.y},
                    page->paper.text.bytes, &how);
    paper_used(&page->paper);
}

static void add_row_label(struct page *page, size_t row)
{
    const struct step_table *table = page->table->data;
    struct buf label = {0};
    if (table->of_keys)
        buf_format(&label, "%zu ", row);
    buf_text(&label, table->rows[row].text);
    page->paper.text.out_of_memory |= label.out_of_memory;
    add_label(page, label.out_of_memory ? "" : label.bytes, PAPER_INK);
    buf_release(&label);
}

static void mark_own(struct page *page)
{
    const struct box row = {PAPER_MARGIN - 3, page->paper.y - LETTERS - 0.5, table_width(page) + 6,
                            LINE};
    canvas_rect(&page->paper.drawing.canvas, row, colour_of_hex(OWN));
    page->bold = true;
}

static void go_on(struct page *page)
{
    paper_turn(&page->paper);
    page->paper.y += LETTERS;
    explain_table_begin(page->table);
}

static void begin_line(struct page *page, enum explain_line line, size_t row)
{
    bool is_title = line == LINE_HEADINGS || line == LINE_TITLES;
    if (!is_title && page->paper.y + LINE > PAPER_BOTTOM)
        go_on(page);
    page->x = PAPER_MARGIN + (double)page->table->layout.label_width * CHARACTER;
    page->bold = line == LINE_TOTAL;
    if (line == LINE_ROW && row == page->table->data->own_row)
        mark_own(page);
    if (line == LINE_TOTAL)
        paper_rule(&page->paper, PAPER_MARGIN, PAPER_MARGIN + table_width(page),
                   page->paper.y - LETTERS);
    if (line == LINE_ROW)
        add_row_label(page, row);
    else if (line != LINE_HEADINGS)
        add_label(page,
                  line == LINE_TITLES  ? page->table->data->corner
                  : line == LINE_TOTAL ? page->table->data->total
                                       : "…",
                  is_title ? PAPER_FAINT : PAPER_INK);
}

static void end_line(struct page *page, enum explain_line line)
{
    if (line == LINE_TITLES)
        paper_rule(&page->paper, PAPER_MARGIN, PAPER_MARGIN + table_width(page),
                   page->paper.y + LINE - LETTERS);
    page->paper.y += line == LINE_TITLES || line == LINE_HEADINGS ? LINE + 1 : LINE;
}

/* Of the lines below the titles, with those that say that some are left out. */
static size_t count_lines(const struct explain_table *table)
{
    size_t rows = explain_row_count(table->explanation, table->data);
    size_t lines = rows + (table->data->total != NULL);
    for (size_t slot = 0; slot <= rows; slot++)
        lines += explain_gap(table->explanation, table->data, slot);
    return lines;
}

static double table_height(size_t lines)
{
    return LETTERS + 2 + 2 * (LINE + 1) + LINE * (double)lines;
}

static void begin_table(struct page *page, const struct explain_table *table)
{
    size_t lines = count_lines(table);
    page->table = table;
    place_pieces(page, table_height(lines) + WORKED,
                 table_height(lines < ROWS_AHEAD ? lines : ROWS_AHEAD));
    page->paper.y += LETTERS + 2;
}

/* From the base line of what would follow to what stands below the table. */
static void end_table(struct page *page)
{
    page->paper.y += LINE - LETTERS;
}

/* --- the document ----------------------------------------------------------------------------- */

static void add_section(struct page *page, double size, const char *title)
{
    struct piece piece = {.how = paper_letters(size, PAPER_INK), .above = size, .gap = size / 2};
    piece.how.bold = true;
    html_text(&page->paper.text, title, strlen(title));
    add_piece(page, &piece);
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
    (kind == EXPLAIN_NOTE ? html_prose : html_markup)(&page->paper.text, text);
    add_piece(page,
              &(struct piece){.how = paper_letters(size, PAPER_INK), .indent = indent, .gap = 3});
}

/* Where no table came. */
static void end_step(struct page *page)
{
    place_pieces(page, 0, 0);
}

/* A paragraph a line: of a text that fills pages several. */
static void add_fact(struct buf *out, const struct explain_fact *fact, const void *how)
{
    (void)how;
    buf_format(out, "<b>%s</b>  ", fact->name);
    for (size_t at = 0; at < fact->size;) {
        size_t size = 0;
        while (at + size < fact->size && size < FACT_BYTES)
            size += utf8_grapheme(fact->quoted + at + size, fact->size - at - size);
        html_text(out, fact->quoted + at, size);
        at += size;
        buf_text(out, at < fact->size ? "\n" : "");
    }
    html_text(out, fact->words, strlen(fact->words));
    buf_char(out, '\n');
}

static void add_facts(struct page *page, const struct buf *facts)
{
    struct lettering how = paper_letters(TEXT_SIZE, PAPER_INK);
    place_pieces(page, 0, 0);
    page->paper.text.out_of_memory |= facts->out_of_memory;
    for (const char *line = facts->bytes; line && *line; line += strcspn(line, "\n") + 1) {
        buf_bytes(&page->paper.text, line, strcspn(line, "\n"));
        paper_paragraph(&page->paper, &how, 0, 2);
    }
}

/* On a page of its own. */
static void begin_query(struct page *page, const struct explanation *explanation, size_t place)
{
    struct buf facts = {0};
    if (place > 0)
        paper_turn(&page->paper);
    if (page->several)
        add_section(page, 14, explain_token(explanation));
    explain_facts_add_query(&facts, explanation, add_fact, NULL);
    add_facts(page, &facts);
    buf_release(&facts);
}

static void begin_document(struct page *page, const struct report *report)
{
    struct buf facts = {0};
    add_section(page, 16, page->several ? "Every query, step by step" : "One query, step by step");
    explain_facts_add(&facts, report, add_fact, NULL);
    add_facts(page, &facts);
    buf_release(&facts);
}

int explain_pdf_write(struct stream *out, const struct explanations *explanations,
                      const struct explain_page *how, struct err *err)
{
    static const struct explain_form form = {
        .begin_query = begin_query,
        .begin_step = begin_step,
        .add_text = add_paragraph,
        .table = {begin_table,
                  begin_line,
                  leave_gap,
                  {add_heading, add_title, add_number, add_dots, add_bar},
                  end_line,
                  end_table},
        .end_step = end_step,
    };
    const struct report *report = explanations->items->report;
    struct buf title = {0};
    struct page page = {.several = explanations->several};
    tokenized_visible(&title, &report->sentence);
    int failed = buf_check(&title, err) ||
                 paper_begin(&page.paper, out, title.bytes ? title.bytes : "", err);
    buf_release(&title);
    if (failed)
        return -1;
    begin_document(&page, report);
    explain_walk(explanations, &form, &page, &(struct explain_page){PAGE_COLUMNS, how->full});
    buf_release(&page.waiting);
    return paper_end(&page.paper, err);
}
