/* working.h: tables and matrices for people. A grid is one of them as lines of cells, fitted to a
 * page; a document is a report as titles, grids and formulas. A document_format has the functions
 * that write the parts of a document.
 *
 * Widths are columns of a terminal. Long vectors keep both ends; long lists of keys keep the keys
 * with the highest weights. A layout without a limit of lines shows all, at any width. */
#pragma once

#include "base/buf.h"
#include "write/text.h"

enum {
    GRID_GAP = 2,       /* spaces between two elements of a vector */
    PAGE_COLUMNS = 100, /* width of tables in Markdown, and in HTML unless it is given */
};

/* --- grids: each line has a cell for each slot, and perhaps a label before them --------------- */

enum line_kind {
    LINE_HEADINGS, /* symbols of vectors, and "4 of 64"; omitted if all are empty */
    LINE_TITLES,   /* element numbers, labels of a matrix, and titles of single columns */
    LINE_ROW,
    LINE_GAP, /* marks omitted rows */
    LINE_TOTAL,
};

struct grid_line {
    enum line_kind kind;
    size_t row;
    bool is_own;       /* row of the query itself */
    const char *label; /* of a row, total or gap ("…"); in the title line, of all rows; else "" */
};

enum slot_kind { SLOT_CELL, SLOT_DOTS, SLOT_BAR };

struct grid_slot {
    enum slot_kind kind;
    const struct column *column;
    size_t element;
    size_t gap, width;   /* terminal columns before the cell; width of the cell */
    size_t column_slots; /* in the first slot of a column: its number of slots; else 0 */
    size_t column_width; /* in the first slot of a column: its width */
    struct text_cut cut; /* displayed elements */
    struct numeral numeral;
};

struct grid {
    const struct table *table;     /* of a matrix: one column, whose vectors are the rows */
    const struct sheet *sheet;     /* the matrix; NULL: a table */
    const struct chapter *chapter; /* of a table with its working; else NULL */
    const char *language;
    bool is_brief;      /* of a long list of rows, only the first and the last are shown */
    bool has_labels;    /* lines have labels; false: columns of the table label them */
    int number_width;   /* width of key numbers; 0: none */
    size_t label_width; /* of a working: width of row labels with their numbers */
    size_t width;       /* width of the table */
    size_t gap;         /* spaces before each column */
    struct grid_line *lines;
    size_t line_count;
    struct grid_slot *slots;
    size_t slot_count;
};

/* True for a line of a key, whose number precedes its label. */
bool grid_has_number(const struct grid *grid, const struct grid_line *line);

/* How a format writes symbols, such as k_j, and texts. */
struct notation {
    void (*symbol)(struct buf *out, const char *text);            /* of a working */
    void (*text)(struct buf *out, const char *text, size_t size); /* NULL: as it is */
    const char *infinity; /* of a working: minus infinity in a table; NULL: as a number */
    bool shows;           /* cells show invisible characters; titles and facts always do */
};

/* Append the text of a cell; nothing if it is empty, or a bar. */
void grid_cell(struct buf *out, const struct grid *grid, const struct grid_line *line,
               const struct grid_slot *slot, const struct notation *notation);

/* --- formats ---------------------------------------------------------------------------------- */

/* Texts of a document outside of its grids. Tables of chapters have a working. */
enum piece {
    PIECE_DOCUMENT, /* title of a document with chapters */
    PIECE_SUBJECT,  /* first title line of a document without chapters */
    PIECE_LINE,     /* further title line */
    PIECE_CHAPTER,  /* title of a chapter in a list */
    PIECE_MATRIX,   /* title of a matrix */
    PIECE_HEADING,  /* line above a table */
    PIECE_REMARK,   /* note below a table */
    PIECE_TITLE,    /* of a working; has a number */
    PIECE_FORMULA,  /* of a working */
    PIECE_NOTE,     /* of a working, with symbols */
    PIECE_WORKED,   /* formula with the numbers of a row */
    PIECES,
};

struct document;

/* A markup language: texts between marks, and tables `| a | b |`. It needs the marks of
 * PIECE_SUBJECT and PIECE_MATRIX, `fact`, `texts`, `numbers` and notation.text. Members that are
 * "of a working" are for explain. */
struct markup {
    const char *marks[PIECES][2]; /* before and after a text on lines of its own; NULL: no mark */
    const char *fact[2];          /* before and after the name of a fact */
    const char *texts, *numbers;  /* such as `:--|`, in the line below the titles: for a column of
                                   * texts, of numbers */
    struct notation notation;
    const char *bold;                                             /* of a working */
    void (*note)(struct buf *out, const char *text);              /* of a working */
    void (*title)(struct buf *out, const struct grid_slot *slot); /* of a working: of a column */
};

/* A fact has a name, a value or a text of the input (or ""), and other words. Without `begin` and
 * `chapter`, titles and facts are passed to `piece` and `fact`. */
struct document_format {
    void (*piece)(struct document *, enum piece, const char *text);
    void (*fact)(struct document *, const char *name, const char *quoted, const char *words);
    void (*table)(struct document *, const struct grid *);
    const struct markup *markup;        /* set by markup_write; NULL in other formats */
    int (*begin)(struct document *);    /* writes the titles, or NULL */
    void (*chapter)(struct document *); /* writes the title and facts of a chapter, or NULL */
    void (*end)(struct document *);     /* NULL: nothing to write */
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
    bool begun;      /* some text was sent */
    struct err *err;
};

/* Write a report; tables with their working are at most `columns` wide if possible; 0: no limit. */
int document_write(const struct document_format *format, struct stream *out,
                   const struct report *report, const struct layout *layout, size_t columns,
                   struct err *err);

int markup_write(const struct markup *markup, struct stream *out, const struct report *report,
                 const struct layout *layout, struct err *err);

/* The title of the document; the label of a chapter's query; append ", layer 0, head 0". */
const char *document_title(const struct document *document);
const char *chapter_token(const struct chapter *chapter);
void chapter_words(struct buf *out, const struct chapter *chapter, const char *separator,
                   const char *language);

/* Write the facts about the model and its texts, or about the chapter's query and, if not all keys
 * are displayed, their number. */
void document_facts(struct document *document);
void document_chapter_facts(struct document *document);

extern report_writer text_working_write;
