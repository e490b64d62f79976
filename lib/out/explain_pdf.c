/* explain_pdf.c: explanations as a document of A4 pages, drawn by cairo, its texts and formulas set
 * by pango.
 *
 * What is written goes down the page; a line that finds no room turns it. Tables go on on the next
 * page below their titles, and whole vectors come in several tables, as in LaTeX. Columns are
 * counted in characters, as explain_layout counts them, of one width each.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "draw/letters.h"
#include "out/explain_facts.h"
#include "out/explain_walk.h"
#include "out/html_text.h"
#include "out/paper.h"

/* Points. */
#define TEXT_SIZE 9.5
#define TABLE_SIZE 7.5
#define CHARACTER 4.5 /* of a table */
#define LINE 10.5     /* of a table, from one base line to the next */
#define LETTERS 7.5   /* of that above the base line */
#define BAR 60.0      /* for a weight of 1 */

enum {
    PAGE_COLUMNS = 106, /* characters of a table */
    NUMBER_BYTES = 32,
    FACT_BYTES = 1500, /* of a text, in one paragraph: less than a page */
    ROWS_AHEAD = 3,    /* that stand on the page of their titles, at least */
};

enum { OWN = 0xfff0cc, BARS = 0x3b6fb6 };

struct page {
    struct paper paper;
    const struct explain_table *table; /* that is being drawn */
    bool several;                      /* explanations */
    double x;  /* where the next cell begins; y of the paper is the base line of its line */
    bool bold; /* this line */
};

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

static void begin_table(struct page *page, const struct explain_table *table)
{
    page->table = table;
    page->paper.y += LETTERS + 2;
    if (page->paper.y + LINE * (2 + ROWS_AHEAD) > PAPER_BOTTOM) {
        paper_turn(&page->paper);
        page->paper.y += LETTERS;
    }
}

/* From the base line of what would follow to what stands below the table. */
static void end_table(struct page *page)
{
    page->paper.y += LINE - LETTERS;
}

/* --- the document ----------------------------------------------------------------------------- */

static void add_section(struct page *page, double size, const char *title)
{
    struct lettering how = paper_letters(size, PAPER_INK);
    how.bold = true;
    paper_need(&page->paper, size * 5); /* not alone at the end of a page */
    page->paper.y += page->paper.y > PAPER_MARGIN ? size : 0;
    html_text(&page->paper.text, title, strlen(title));
    paper_paragraph(&page->paper, &how, 0, size / 2);
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
    struct lettering how = paper_letters(size, PAPER_INK);
    (kind == EXPLAIN_NOTE ? html_prose : html_markup)(&page->paper.text, text);
    paper_paragraph(&page->paper, &how, kind == EXPLAIN_FORMULA ? 2 * TEXT_SIZE : 0, 3);
}

/* A paragraph a line: of a text that fills pages several. */
static void add_fact(struct buf *out, const struct explain_fact *fact)
{
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
    explain_facts_add_query(&facts, explanation, add_fact);
    add_facts(page, &facts);
    buf_release(&facts);
}

static void begin_document(struct page *page, const struct report *report)
{
    struct buf facts = {0};
    add_section(page, 16, page->several ? "Every query, step by step" : "One query, step by step");
    explain_facts_add(&facts, report, add_fact);
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
    };
    const struct report *report = explanations->items->report;
    struct buf title = {0};
    struct page page = {.several = explanations->several};
    reading_visible(&title, &report->sentence);
    int failed = buf_check(&title, err) ||
                 paper_begin(&page.paper, out, title.bytes ? title.bytes : "", err);
    buf_release(&title);
    if (failed)
        return -1;
    begin_document(&page, report);
    explain_walk(explanations, &form, &page, &(struct explain_page){PAGE_COLUMNS, how->full});
    return paper_end(&page.paper, err);
}
