/* explain_table.h: the tables of a step, fitted to a page, line by line and cell by cell, and what
 * else the text, Markdown and HTML writers share.
 *
 *     struct explain_table table = {.explanation = explanation, .step = step, .page = page};
 *     while (explain_table_next(&table)) {
 *         struct explain_line line = {0};
 *         while (explain_line_next(&line, &table)) {
 *             struct explain_cell cell = {0};
 *             while (explain_cell_next(&cell, &line, &table)) ...
 *         }
 *     }
 *
 * Widths are columns of a terminal. Long vectors keep their ends; long lists of keys keep the keys
 * with the most weight. A full page shows all of them, and divides wide vectors into tables.
 */
#ifndef ATTN_EXPLAIN_EXPLAIN_TABLE_H
#define ATTN_EXPLAIN_EXPLAIN_TABLE_H

#include "base/buf.h"
#include "explain/explanation.h"
#include "write/text_line.h"

enum { EXPLAIN_GAP = 2 }; /* blanks between two elements of a vector */

struct explain_table {
    const struct explanation *explanation;
    const struct step *step;
    struct explain_page page;

    struct step_table data;                /* what is shown here: a table, or some of its columns */
    int number_width;                      /* of the keys' numbers; 0: rows have none */
    size_t label_width;                    /* of the rows' labels with their numbers */
    size_t cells[STEP_BLOCKS_MAX];         /* of one element of each block */
    struct text_cut cuts[STEP_BLOCKS_MAX]; /* the elements that are shown */
    size_t gap;                            /* before each block */
    size_t width;                          /* of the whole table */

    size_t next;              /* among the step's tables */
    size_t first, longest;    /* elements: of the next part, of the longest vector */
    size_t elements_in_parts; /* of the table that is divided; 0: none is */
};

/* The next table of the step, or the next part of one; false: there are no more. */
bool explain_table_next(struct explain_table *table);

enum explain_line_kind {
    LINE_NONE,
    LINE_HEADINGS, /* the symbols of vectors, if there are any */
    LINE_TITLES,   /* the numbers of elements, and symbols of single columns */
    LINE_ROW,
    LINE_GAP, /* rows are left out */
    LINE_TOTAL,
};

struct explain_line {
    enum explain_line_kind kind;
    size_t row, next_row;
    bool is_own;       /* the query's own row */
    const char *label; /* of a row or of the total; of the titles: what rows are; else "" */
};

bool explain_line_next(struct explain_line *line, const struct explain_table *table);

/* Headings have only CELL_HEADING; a gap has no cells. */
enum explain_cell_kind { CELL_HEADING, CELL_TITLE, CELL_NUMBER, CELL_DOTS, CELL_BAR };

struct explain_cell {
    enum explain_cell_kind kind;
    const struct block *block;
    const struct text_cut *cut;
    size_t gap, width; /* columns before the cell, and its own */
    size_t number;     /* of the element in its vector */
    float value;       /* of a number or a bar; NAN: empty */
    size_t place, next_slot;
};

bool explain_cell_next(struct explain_cell *cell, const struct explain_line *line,
                       const struct explain_table *table);

/* Append a symbol in a notation, or a heading: the symbol of a vector, and "6 of 64" where
 * elements are left out. */
typedef void explain_notation(struct buf *out, const char *formula);
void explain_heading(struct buf *out, const struct explain_cell *cell, explain_notation *notation);

/* Append a number; nothing for NAN. `infinity`: how minus infinity is written, NULL: as a number.
 */
void explain_number(struct buf *out, const struct explain_cell *cell, const char *infinity);

/* The label of the query's token. */
const char *explain_token(const struct explanation *explanation);

/* Is this on a page by itself? `full`: nothing is left out. */
bool explain_shows(const struct given *given, bool full);

/* --- lists of facts above the steps, for Markdown and HTML ------------------------------------ */

/* A name, a quoted text from the input or "", and words. */
typedef void explain_fact(struct buf *out, const char *name, const struct buf *quoted,
                          const char *words);

/* The model and its texts; the query, and how many of its keys are shown. */
void explain_report_facts(struct buf *out, const struct report *report, explain_fact *fact);
void explain_query_facts(struct buf *out, const struct explanation *explanation,
                         explain_fact *fact);

/* --- formulas in the terminal's notation, k_j, as HTML and LaTeX (notation.c) ----------------- */

void html_text(struct buf *out, const char *text, size_t size); /* nothing in it is markup */
void html_symbol(struct buf *out, const char *symbol, size_t size);
void html_formula(struct buf *out, const char *formula);
void latex_math(struct buf *out, const char *formula);

#endif
