/* working.h: tables and matrices for people. A grid is a table or matrix as lines of cells, fitted
 * to a page. A document is a report as titles, grids and formulas. A document_format contains the
 * functions that write the parts of a document. Widths are columns of a terminal. Long vectors keep
 * both ends; long lists of keys keep the keys with the highest weights. A layout without a limit of
 * lines shows everything, at any width. */
#pragma once

#include "base/buf.h"
#include "write/text.h"

enum {
    GRID_GAP = 2,       /* number of spaces between two elements of a vector */
    PAGE_COLUMNS = 100, /* width of tables in Markdown, and in HTML unless it is given */
};

/* --- grids: each line has a cell for each slot, and perhaps a label before them --------------- */

enum line_kind {
    LINE_HEADINGS, /* line above the titles: a vector's symbol, and "4 of 64" if elements are
                    * omitted; no line if all are empty */
    LINE_TITLES,   /* line of element numbers, column labels of a matrix, or titles of columns */
    LINE_ROW,
    LINE_GAP, /* line that stands for omitted rows */
    LINE_TOTAL,
};

struct grid_line {
    enum line_kind kind;
    size_t row;
    bool is_own; /* the row belongs to the chapter's query or head, and is marked */
    /* label of a row, total or gap ("…"); in LINE_TITLES, the title above the labels; else "" */
    const char *label;
};

enum slot_kind { SLOT_CELL, SLOT_DOTS, SLOT_BAR };

struct grid_slot {
    enum slot_kind kind;
    const struct column *column;
    size_t element;
    size_t gap, width;   /* `gap`: terminal columns before the cell; `width`: columns of the cell */
    size_t column_slots; /* in the first slot of a column: number of slots of the column; else 0 */
    size_t column_width; /* in the first slot of a column: width of the whole column */
    struct text_cut cut; /* the elements of a vector that are displayed */
    struct numeral numeral;
};

struct grid {
    /* the table; for a matrix, a table of one column, whose vectors are the rows */
    const struct table *table;
    const struct sheet *sheet;     /* the matrix; NULL: the grid is a table */
    const struct chapter *chapter; /* chapter of a table with its working; NULL: no working */
    const char *language;
    bool is_brief;      /* only the first and the last rows of a long list are shown */
    bool has_labels;    /* lines have labels; false: the table has columns of labels */
    int number_width;   /* width of the key numbers before labels; 0: keys have no numbers */
    size_t label_width; /* width of row labels with their numbers, in a table with its working */
    size_t width;       /* width of the table in columns of a terminal */
    size_t gap;         /* number of spaces before each column */
    struct grid_line *lines;
    size_t line_count;
    struct grid_slot *slots;
    size_t slot_count;
};

/* True if a line belongs to a key, whose number is written before its label. */
bool grid_has_number(const struct grid *grid, const struct grid_line *line);

/* How a format writes symbols, such as k_j, and texts. */
struct notation {
    /* writes a symbol, for tables with their working */
    void (*symbol)(struct buf *out, const char *text);
    /* writes a text; NULL: texts are written as they are */
    void (*text)(struct buf *out, const char *text, size_t size);
    /* text for minus infinity in a table with its working; NULL: write it as a number */
    const char *infinity;
    bool shows; /* cells show invisible characters as signs */
};

/* Append the text of a cell. If the cell is empty or a bar, append nothing. */
void grid_cell(struct buf *out, const struct grid *grid, const struct grid_line *line,
               const struct grid_slot *slot, const struct notation *notation);

/* --- formats ---------------------------------------------------------------------------------- */

/* Kinds of texts of a document outside of its grids. The tables of a chapter have their working. */
enum piece {
    PIECE_DOCUMENT, /* title of a document with chapters */
    PIECE_SUBJECT,  /* first title line of a document without chapters */
    PIECE_LINE,     /* title line after the first one */
    PIECE_CHAPTER,  /* title of one of several chapters */
    PIECE_MATRIX,   /* title of a matrix */
    PIECE_HEADING,  /* line above a table */
    PIECE_REMARK,   /* note below a table */
    PIECE_TITLE,    /* title of a table with its working; has a number */
    PIECE_FORMULA,  /* formula of a table with its working */
    PIECE_NOTE,     /* note of a table with its working; contains symbols */
    PIECE_WORKED,   /* formula with the numbers of one row, below a table with its working */
    PIECES,
};

struct document;

/* A markup language: texts between marks, and tables `| a | b |`. Every language must set the
 * marks of PIECE_SUBJECT and PIECE_MATRIX, `fact`, `texts`, `numbers` and notation.text. Only
 * explain needs the members for "a table with its working". */
struct markup {
    /* marks before and after a text, which has a line of its own; NULL: no mark */
    const char *marks[PIECES][2];
    const char *fact[2]; /* marks before and after the name of a fact */
    /* marks such as `:--|` in the line below the titles: `texts` for a column of texts, `numbers`
     * for a column of numbers */
    const char *texts, *numbers;
    struct notation notation;
    const char *bold; /* mark before and after bold text, in a table with its working; NULL: no
                       * mark */
    /* writes a note, in a table with its working */
    void (*note)(struct buf *out, const char *text);
    /* writes the title of a column, in a table with its working */
    void (*title)(struct buf *out, const struct grid_slot *slot);
};

/* The functions of a format for people. `fact` writes the name of a fact, then `quoted`, a value or
 * a text of the input ("": none), then further `words`. If `begin` or `chapter` is NULL, titles and
 * facts are passed to `piece` and `fact`. */
struct document_format {
    void (*piece)(struct document *, enum piece, const char *text);
    void (*fact)(struct document *, const char *name, const char *quoted, const char *words);
    void (*table)(struct document *, const struct grid *);
    const struct markup *markup;     /* set by markup_write; NULL in other formats */
    int (*begin)(struct document *); /* writes the titles; NULL: `piece` does */
    /* writes the title and facts of a chapter; NULL: `piece` and `fact` do */
    void (*chapter)(struct document *);
    void (*end)(struct document *); /* ends the document; NULL: nothing to write */
};

struct document {
    const struct document_format *format;
    const struct report *report;
    const struct layout *layout;
    struct stream *out;
    const struct chapter *chapter; /* the current chapter */
    size_t number;                 /* number of the current table in its chapter, from 1 */
    const char *language;
    size_t columns;  /* largest width of tables; 0: no limit */
    struct buf text; /* text not yet sent to the stream: the current title, table or formula */
    bool begun;      /* some text was already sent */
    struct err *err;
};

/* Write a report; tables with their working are at most `columns` wide if possible; 0: no limit. */
int document_write(const struct document_format *format, struct stream *out,
                   const struct report *report, const struct layout *layout, size_t columns,
                   struct err *err);

int markup_write(const struct markup *markup, struct stream *out, const struct report *report,
                 const struct layout *layout, struct err *err);

/* document_title: the title of the document. chapter_token: the label of a chapter's query.
 * chapter_words appends ", L0H0". */
const char *document_title(const struct document *document);
const char *chapter_token(const struct chapter *chapter);
void chapter_words(struct buf *out, const struct chapter *chapter, const char *separator,
                   const char *language);

/* document_facts writes the facts about the model and its texts. document_chapter_facts writes the
 * facts about the chapter's query and, if some keys are omitted, how many keys are shown. */
void document_facts(struct document *document);
void document_chapter_facts(struct document *document);

extern report_writer text_working_write;
