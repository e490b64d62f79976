/* explain_walk.h: explanations, piece by piece in the order of their pages, for whatever form they
 * are written in: the facts above them, their titles and texts, their tables line by line and cell
 * by cell. What stands above and below them all the form writes itself.
 *
 *     struct page { struct buf text; ... };
 *     static const struct explain_form form = {.step = add_step, .cell = add_cell, ...};
 *     struct page page = {0};
 *     if (explain_walk(explanations, &form, &page, &(struct explain_page){.columns = 100}, err))
 * ...
 *
 * A page is counted in columns of a terminal. Long vectors keep their ends, long lists of keys
 * those with the most weight.
 */
#ifndef ATTN_EXPLAIN_EXPLAIN_WALK_H
#define ATTN_EXPLAIN_EXPLAIN_WALK_H

#include "base/buf.h"
#include "explain/explanation.h"
#include "write/text_line.h"

/* What stands before something and after it; NULL: nothing. */
struct marks {
    const char *before, *after;
};

/* What the query's token is called. */
const char *explain_token(const struct explanation *explanation);

/* --- tables, fitted to a page ----------------------------------------------------------------- */

enum {
    EXPLAIN_GAP = 2,      /* blanks between the elements of a vector */
    EXPLAIN_BLOCK_GAP = 4 /* before the first of them, and before a number, where there is room */
};

/* What a form keeps while it writes: each defines its own, in its file. */
struct page;

struct explain_table {
    const struct step_table *data;
    int number_width;                      /* of the keys' numbers; 0: rows have none */
    size_t label_width;                    /* of what rows are called, their numbers included */
    size_t cells[STEP_BLOCKS_MAX];         /* of one element of each block */
    struct text_cut cuts[STEP_BLOCKS_MAX]; /* its elements that are shown */
    size_t gap;                            /* before every block */
    size_t width;                          /* of it all */

    const struct explanation *explanation;
    const struct explain_form *form;
    struct page *page;
    struct buf *text; /* of a cell */
};

/* Above the numbers: what the vectors are, and what each column is; the numbers; where rows are
 * left out; what stands below them. */
enum explain_line_kind {
    LINE_HEADINGS,
    LINE_TITLES,
    LINE_ROW,
    LINE_GAP,
    LINE_TOTAL,
    EXPLAIN_LINES
};

struct explain_line {
    enum explain_line_kind kind;
    size_t row;
    bool is_own;       /* the query's own row */
    const char *label; /* of a row, of the total; of titles: what rows are; else "" */
};

/* CELL_HEADING: of all columns of a block, and the only kind in its line. */
enum explain_cell_kind { CELL_HEADING, CELL_TITLE, CELL_NUMBER, CELL_DOTS, CELL_BAR, CELL_KINDS };

struct explain_cell {
    enum explain_cell_kind kind;
    enum explain_line_kind line;
    size_t place; /* of the block in its table */
    const struct block *block;
    const struct text_cut *cut; /* the block's elements that are shown */
    size_t gap, width;          /* columns before it, and its own */
    size_t number;              /* of the element in its vector */
    float value;                /* of a number, NAN: there is nothing; and of a bar in a row */
    const char *text;           /* of a heading, a title, a number; "": there is nothing */
};

/* The texts of a step: formulas, the sentence to read with them, and below its tables a formula
 * with numbers. */
enum explain_text { EXPLAIN_FORMULA, EXPLAIN_NOTE, EXPLAIN_WORKED, EXPLAIN_TEXTS };

/* Failures stick to the page. */
struct explain_form {
    bool lacks_headings; /* there is no line above the titles */
    bool titles_say_all; /* `symbol` writes the numbers of elements, too */
    void (*formula)(struct buf *out, const char *formula);
    /* The symbol of a block, above its vectors or as a column's title; NULL: as a formula. */
    void (*symbol)(struct buf *out, const struct explain_cell *cell);
    const char *infinity; /* minus infinity; NULL: as a number */

    /* The `place`th of the queries, with its title if there are several. */
    void (*begin_query)(struct page *page, const struct explanation *explanation, size_t place);
    void (*begin_step)(struct page *page, size_t number, const char *title);
    void (*add_text)(struct page *page, enum explain_text kind, const char *text);
    void (*begin_table)(struct page *page, const struct explain_table *table);
    void (*begin_line)(struct page *page, const struct explain_line *line); /* with its label */
    void (*add_cell)(struct page *page, const struct explain_cell *cell);
    void (*end_line)(struct page *page, enum explain_line_kind line);
    void (*end_table)(struct page *page); /* this and those below may be NULL */
    void (*end_step)(struct page *page);
    void (*end_query)(struct page *page);
};

/* `how`: the columns that a table has; and in full tables are in several parts where one is too
 * wide. */
int explain_walk(const struct explanations *explanations, const struct explain_form *form,
                 struct page *page, const struct explain_page *how, struct err *err);

/* Write a table of the template's explanation, in parts where the page asks for it. */
void explain_table_write(const struct explain_table *template, const struct explain_page *how);

/* Is it on a page, by itself? `full`: nothing is left out. */
bool explain_shows(const struct given *given, bool full);

/* --- markups that are text: a table of marks, and functions for what no mark can say ---------- */

struct markup {
    struct explain_form form; /* its first fields alone */
    void (*prose)(struct buf *out, const char *sentence);
    void (*text)(struct buf *out, const char *text, size_t size); /* nothing in it is markup */

    /* The document: what is above its title; links to queries, or NULL; its end. */
    void (*begin)(struct buf *out, const struct report *report);
    struct marks title;
    void (*links)(struct buf *out, const struct explanations *explanations);
    const char *end;

    struct marks facts; /* of a list of facts */
    struct {
        const char *before, *after; /* of its name */
        const char *end;
    } fact;
    struct marks quote, query_quote; /* of a fact's text, and of the query's token */
    bool escapes_words;              /* `text` is for the words of a fact, too */

    struct marks anchor; /* of the number of any query */
    struct marks query;  /* of the token of one of several */
    const char *query_end;
    struct {
        const char *before, *number, *after;
    } step[2]; /* of one query, of several */
    const char *step_end;
    struct marks paragraphs[EXPLAIN_TEXTS];

    /* A table: its beginning, what its columns are, each of its lines, the name of a row. */
    const char *table_begin;
    struct {
        const char *label, *number, *share, *end;
    } columns; /* below the titles; NULL: none */
    struct {
        const char *before, *after; /* of its label */
        const char *end;
    } lines[EXPLAIN_LINES];
    struct marks own_row; /* in place of those of other rows */
    struct marks name;
    struct marks cells[CELL_KINDS], titles[CELL_KINDS]; /* those in the line of titles, if others */
    const char *table_end[2];                           /* without a total, and with one */
    bool says_parts; /* below: how many elements are shown of how many */

    void (*bar_cell)(struct buf *out, double share); /* of a row, with its marks */
    void (*heading_cell)(struct buf *out, const struct explain_cell *cell); /* NULL: none */
};

/* `page`: the columns that a table may take. */
int explain_markup_write(struct stream *out, const struct explanations *explanations,
                         const struct explain_page *page, const struct markup *markup,
                         struct err *err);

/* --- texts and formulas: nothing in a token becomes markup ------------------------------------ */

/* Append a text, in an element or in the quotes of an attribute; the `size` bytes of a formula in
 * the notation of the terminal: <i>k</i><sub>j</sub>; a sentence with names of formulas: W_q. */
void html_text(struct buf *out, const char *text, size_t size);
void html_formula(struct buf *out, const char *formula);
void html_symbol(struct buf *out, const char *symbol, size_t size);
void html_prose(struct buf *out, const char *sentence);

/* A formula in the terminal's notation, in LaTeX's. */
void latex_math(struct buf *out, const char *formula);

/* Append a text of one line to Markdown; a cell of a table will do, too. Backslashes stand before
 * whatever CommonMark, or the tables and formulas of GitHub and pandoc, would read otherwise. */
void markdown_text(struct buf *out, const char *text, size_t size);

#endif
