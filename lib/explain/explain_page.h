/* explain_page.h: explanations as a document for people. What all of its formats do is here: the
 * order of the parts, and tables fitted to a page; a format is a row of functions that write them.
 *
 * Widths are columns of a terminal. Long vectors keep their ends; long lists of keys keep the keys
 * with the most weight. A full document shows all of them, however wide.
 */
#ifndef ATTN_EXPLAIN_EXPLAIN_PAGE_H
#define ATTN_EXPLAIN_EXPLAIN_PAGE_H

#include "base/buf.h"
#include "explain/explanation.h"
#include "write/text.h"

enum { EXPLAIN_GAP = 2 }; /* blanks between two elements of a vector */

/* --- tables: each line has a label and a cell for each slot ----------------------------------- */

enum line_kind {
    LINE_HEADINGS, /* symbols of vectors; the line is omitted if all are empty */
    LINE_TITLES,   /* the numbers of elements, and symbols of single columns */
    LINE_ROW,
    LINE_GAP, /* rows are left out */
    LINE_TOTAL,
};

struct grid_line {
    enum line_kind kind;
    size_t row;
    bool is_own;       /* the query's own row */
    const char *label; /* of a row or of the total; of the titles: what rows are; else "" */
};

enum slot_kind { SLOT_NUMBER, SLOT_DOTS, SLOT_BAR };

struct grid_slot {
    enum slot_kind kind;
    const struct block *block;
    size_t element;
    size_t gap, width;   /* columns before the cell, and its own */
    size_t block_slots;  /* of the first slot of a block: the slots of the block; else 0 */
    size_t block_width;  /* and its width */
    struct text_cut cut; /* the elements that are shown */
};

struct grid {
    const struct explanation *explanation;
    const struct step_table *data;
    int number_width;   /* of the keys' numbers; 0: rows have none */
    size_t label_width; /* of the rows' labels with their numbers */
    size_t width;       /* of the whole table */
    size_t gap;         /* before each block */
    struct grid_line *lines;
    size_t line_count;
    struct grid_slot *slots;
    size_t slot_count;
};

/* --- formats ---------------------------------------------------------------------------------- */

enum piece { PIECE_TITLE, PIECE_FORMULA, PIECE_NOTE, PIECE_WORKED };

struct document;

struct document_format {
    int (*begin)(struct document *); /* what is above the first query */
    void (*query)(struct document *, const struct explanation *);
    void (*piece)(struct document *, enum piece, const char *text); /* of a step */
    void (*table)(struct document *, const struct grid *);
    void (*end)(struct document *); /* or NULL */
};

struct document {
    const struct document_format *format;
    const struct explanations *all;
    struct stream *out;
    struct buf text; /* is sent to the stream after each part */
    size_t columns;  /* of a table; 0: endless */
    size_t step;     /* its number, from 1 */
    struct err *err;
};

/* `columns`: the most of a table, 0: endless. */
int document_write(const struct document_format *format, struct stream *out,
                   const struct explanations *all, size_t columns, struct err *err);

/* Append the text of a cell, with symbols in a notation; nothing for an empty one. `infinity`: how
 * minus infinity is written, NULL: as a number. */
typedef void explain_notation(struct buf *out, const char *formula);
void grid_cell(struct buf *out, const struct grid_line *line, const struct grid_slot *slot,
               explain_notation *notation, const char *infinity);

/* The label of the query's token; and ", layer 0, head 0". */
const char *explain_token(const struct explanation *explanation);
void explain_query_words(struct buf *out, const struct explanation *explanation,
                         const char *separator);

/* Facts about the model and its texts; about a query, and how many of its keys are shown: a name, a
 * quoted text from the input or "", and words. */
typedef void explain_fact(struct buf *out, const char *name, const char *quoted, const char *words);
void explain_report_facts(struct buf *out, const struct report *report, explain_fact *fact);
void explain_query_facts(struct buf *out, const struct explanation *explanation,
                         explain_fact *fact);

/* --- formulas in the terminal's notation, k_j, as HTML and LaTeX (notation.c) ----------------- */

void html_text(struct buf *out, const char *text, size_t size); /* nothing in it is markup */
void html_symbol(struct buf *out, const char *symbol, size_t size);
void html_formula(struct buf *out, const char *formula);
void latex_math(struct buf *out, const char *formula);

#endif
