/* explain_page.h: explanations as a document. The code shared by its formats is here: the order of
 * the parts, and tables fitted to a page. A format is a struct of functions that write the parts.
 *
 * Widths are columns of a terminal. Long vectors keep both ends; long lists of keys keep the keys
 * with the highest weights. A full document shows all, at any width. */
#pragma once

#include "base/buf.h"
#include "explain/explanation.h"
#include "write/text.h"

enum { EXPLAIN_GAP = 2 }; /* spaces between two elements of a vector */

/* --- tables: each line has a label, and a cell for each slot ---------------------------------- */

enum line_kind {
    LINE_HEADINGS, /* symbols of vectors; omitted if all are empty */
    LINE_TITLES,   /* element numbers, and symbols of single columns */
    LINE_ROW,
    LINE_GAP, /* marks omitted rows */
    LINE_TOTAL,
};

struct grid_line {
    enum line_kind kind;
    size_t row;
    bool is_own;       /* row of the query itself */
    const char *label; /* of a row, of the total, or of the rows in the title line; else "" */
};

enum slot_kind { SLOT_NUMBER, SLOT_DOTS, SLOT_BAR };

struct grid_slot {
    enum slot_kind kind;
    const struct block *block;
    size_t element;
    size_t gap, width;   /* columns before the cell, and of the cell */
    size_t block_slots;  /* in the first slot of a block: its number of slots; else 0 */
    size_t block_width;  /* in the first slot of a block: its width */
    struct text_cut cut; /* displayed elements */
    const char *language;
};

struct grid {
    const struct explanation *explanation;
    const struct step_table *data;
    int number_width;   /* width of key numbers; 0: none */
    size_t label_width; /* width of row labels with their numbers */
    size_t width;       /* width of the table */
    size_t gap;         /* columns before each block */
    struct grid_line *lines;
    size_t line_count;
    struct grid_slot *slots;
    size_t slot_count;
};

/* --- formats ---------------------------------------------------------------------------------- */

enum piece { PIECE_TITLE, PIECE_FORMULA, PIECE_NOTE, PIECE_WORKED };

struct document;

struct document_format {
    int (*begin)(struct document *); /* writes everything above the first query */
    void (*query)(struct document *, const struct explanation *);
    void (*piece)(struct document *, enum piece, const char *text); /* part of a step */
    void (*table)(struct document *, const struct grid *);
    void (*end)(struct document *); /* NULL: nothing to write */
};

struct document {
    const struct document_format *format;
    const struct explanations *all;
    struct stream *out;
    struct buf text; /* sent to the stream after each part */
    size_t columns;  /* width limit of tables; 0: none */
    size_t step;     /* number of the current step, from 1 */
    struct err *err;
};

/* Write explanations with tables of at most `columns` columns; 0: no limit. */
int document_write(const struct document_format *format, struct stream *out,
                   const struct explanations *all, size_t columns, struct err *err);

/* Append the text of a cell, with symbols in a notation; nothing if it is empty. `infinity` is the
 * text for minus infinity; NULL: written as a number. */
typedef void explain_notation(struct buf *out, const char *formula);
void grid_cell(struct buf *out, const struct grid_line *line, const struct grid_slot *slot,
               explain_notation *notation, const char *infinity);

/* Label of the query's token; append ", layer 0, head 0". */
const char *explain_token(const struct explanation *explanation);
void explain_query_words(struct buf *out, const struct explanation *explanation,
                         const char *separator);

/* Pass facts to `fact`: about the model and its texts, or about a query and its number of displayed
 * keys. A fact has a name, text quoted from the input (or ""), and words. */
typedef void explain_fact(struct buf *out, const char *name, const char *quoted, const char *words);
void explain_report_facts(struct buf *out, const struct explanation *first, explain_fact *fact);
void explain_query_facts(struct buf *out, const struct explanation *explanation,
                         explain_fact *fact);

/* --- formulas in terminal notation (k_j) as HTML and LaTeX ------------------------------------ */

void html_text(struct buf *out, const char *text, size_t size); /* escapes markup */
void html_symbol(struct buf *out, const char *symbol, size_t size);
void html_formula(struct buf *out, const char *formula);
void latex_math(struct buf *out, const char *formula);
