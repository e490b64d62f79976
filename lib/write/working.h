/* working.h: tables with their working, as a document for people. The code shared by its formats is
 * here: the order of the parts, and tables fitted to a page. A format is a struct of functions that
 * write the parts.
 *
 * Widths are columns of a terminal. Long vectors keep both ends; long lists of keys keep the keys
 * with the highest weights. A layout without a limit of lines shows all, at any width. */
#pragma once

#include "base/buf.h"
#include "write/text.h"

enum {
    GRID_GAP = 2,       /* spaces between two elements of a vector */
    PAGE_COLUMNS = 100, /* usual width of tables in a browser, in characters */
};

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
    const struct column *column;
    size_t element;
    size_t gap, width;   /* columns before the cell, and of the cell */
    size_t column_slots; /* in the first slot of a column: its number of slots; else 0 */
    size_t column_width; /* in the first slot of a column: its width */
    struct text_cut cut; /* displayed elements */
    struct numeral numeral;
    const char *language;
};

struct grid {
    const struct table *table;
    const struct chapter *chapter;
    const char *language;
    int number_width;   /* width of key numbers; 0: none */
    size_t label_width; /* width of row labels with their numbers */
    size_t width;       /* width of the table */
    size_t gap;         /* columns before each column */
    struct grid_line *lines;
    size_t line_count;
    struct grid_slot *slots;
    size_t slot_count;
};

/* True for a line of a key, whose number precedes its label. */
bool grid_has_number(const struct grid *grid, const struct grid_line *line);

/* Append the text of a cell, with symbols in a notation; nothing if it is empty. `infinity` is the
 * text for minus infinity; NULL: written as a number. */
typedef void formula_notation(struct buf *out, const char *formula);
void grid_cell(struct buf *out, const struct grid_line *line, const struct grid_slot *slot,
               formula_notation *notation, const char *infinity);

/* --- formats ---------------------------------------------------------------------------------- */

enum piece { PIECE_TITLE, PIECE_FORMULA, PIECE_NOTE, PIECE_WORKED };

struct document;

struct document_format {
    int (*begin)(struct document *); /* writes everything above the first chapter */
    void (*chapter)(struct document *);
    void (*piece)(struct document *, enum piece, const char *text); /* part of a table's working */
    void (*table)(struct document *, const struct grid *);
    void (*end)(struct document *); /* NULL: nothing to write */
};

struct document {
    const struct document_format *format;
    const struct report *report;
    const struct layout *layout;
    struct stream *out;
    const struct chapter *chapter; /* the current one */
    size_t number;                 /* of the current table in its chapter, from 1 */
    const char *language;
    size_t columns;  /* width limit of tables; 0: none */
    struct buf text; /* sent to the stream after each part */
    struct err *err;
};

/* Write a report of tables with their working, each at most `columns` wide; 0: no limit. */
int document_write(const struct document_format *format, struct stream *out,
                   const struct report *report, const struct layout *layout, size_t columns,
                   struct err *err);

/* The title of the document; the label of a chapter's query; append ", layer 0, head 0". */
const char *document_title(const struct document *document);
const char *chapter_token(const struct chapter *chapter);
void chapter_words(struct buf *out, const struct chapter *chapter, const char *separator,
                   const char *language);

/* Pass facts to `fact`: about the model and its texts, or about the chapter's query and its number
 * of displayed keys. A fact has a name, text quoted from the input (or ""), and words. */
typedef void write_fact(struct buf *out, const char *name, const char *quoted, const char *words);
void document_facts(struct document *document, write_fact *fact);
void document_chapter_facts(struct document *document, write_fact *fact);

extern report_writer text_working_write;
