/* explain_walk.h: explanations, piece by piece in the order of their pages, for whatever form they
 * are written in: the facts above them, their titles and texts, their tables line by line and cell
 * by cell. What stands above and below them all the form writes itself.
 *
 *     struct page { struct buf text; ... };
 *     static void add_number(struct page *page, const struct explain_cell *cell) { ... }
 *     static const struct explain_form form = {
 *         .begin_query = begin_query, .begin_step = begin_step, .add_text = add_text, ...
 *     struct page page = {0};
 *     explain_walk(explanations, &form, &page, &(struct explain_page){.columns = 100});
 *
 * A page is counted in columns of a terminal; where there is none, so are the characters that a
 * line of paper holds. Long vectors keep their ends, long lists of keys those with the most weight.
 */
#ifndef ATTN_EXPLAIN_EXPLAIN_WALK_H
#define ATTN_EXPLAIN_EXPLAIN_WALK_H

#include "base/buf.h"
#include "explain/explanation.h"
#include "write/text_line.h"

/* --- facts: the model and its texts, which query it is, how much of it is shown --------------- */

struct explain_fact {
    const char *name;   /* "sentence" */
    const char *quoted; /* [size] what was given, to be escaped; NULL: nothing */
    size_t size;
    const char *words; /* after it, our own; may be "" */
    bool is_query;     /* its token is marked in tables, too */
};

/* What the query's token is called. */
const char *explain_token(const struct explanation *explanation);

/* Writes one fact, which it may keep nothing of. */
typedef void (*explain_fact_writer)(struct buf *out, const struct explain_fact *fact,
                                    const void *how);

/* Have the facts written, in their order: those of the model and its texts; of a query. Failures of
 * memory stick to `out`. */
void explain_facts_add(struct buf *out, const struct report *report, explain_fact_writer add,
                       const void *how);
void explain_facts_add_query(struct buf *out, const struct explanation *explanation,
                             explain_fact_writer add, const void *how);

/* --- tables, fitted to a page ----------------------------------------------------------------- */

enum {
    EXPLAIN_GAP = 2,      /* blanks between the elements of a vector */
    EXPLAIN_BLOCK_GAP = 4 /* before the first of them, and before a number, where there is room */
};

struct explain_layout {
    int number_width;                      /* of the keys' numbers; 0: rows have none */
    size_t label_width;                    /* of what rows are called, their numbers included */
    size_t cells[STEP_BLOCKS_MAX];         /* of one element of each block */
    struct text_cut cuts[STEP_BLOCKS_MAX]; /* its elements that are shown */
    size_t gap;                            /* before every block */
    size_t width;                          /* of it all */
};

/* `columns` 0: endless, nothing is left out. */
struct explain_layout explain_layout(const struct explanation *explanation,
                                     const struct step_table *table, size_t columns);

/* The columns of a block, gaps between its elements included. */
size_t explain_block_width(const struct explain_layout *layout, size_t block);

/* What stands above the elements of a vector: its symbol, in whatever notation, and "6 of 64" where
 * some are left out; may be nothing. */
void explain_heading(struct buf *heading, const char *symbol, const struct text_cut *cut);

/* Append a sentence in which W_q is a formula: $W_{q}$, for Markdown and LaTeX. */
void explain_prose(struct buf *out, const char *sentence);

/* Is it on a page, by itself? `full`: nothing is left out. */
bool explain_shows(const struct given *given, bool full);

/* The rows that are shown; and whether some are left out before a slot or, at the last one's
 * successor, after all. */
size_t explain_row_count(const struct explanation *explanation, const struct step_table *table);
size_t explain_row(const struct explanation *explanation, const struct step_table *table,
                   size_t slot);
bool explain_gap(const struct explanation *explanation, const struct step_table *table,
                 size_t slot);

/* An element of a row, or of the total; NAN: there is nothing. */
float explain_cell(const struct block *block, size_t row, size_t element);
float explain_total(const struct block *block, size_t element);

/* What a form keeps while it writes: each defines its own, in its file. */
struct page;

struct explain_table {
    const struct explanation *explanation;
    const struct step_table *data;
    struct explain_layout layout;
    const struct explain_table_form *form;
    struct page *page;
};

/* Above the numbers: what the vectors are, and what each column is; the numbers; where rows are
 * left out; what stands below them. */
enum explain_line { LINE_HEADINGS, LINE_TITLES, LINE_ROW, LINE_GAP, LINE_TOTAL, EXPLAIN_LINES };

/* CELL_HEADING: of all columns of a block, and the only kind in its line. */
enum explain_cell_kind { CELL_HEADING, CELL_TITLE, CELL_NUMBER, CELL_DOTS, CELL_BAR, CELL_KINDS };

struct explain_cell {
    enum explain_cell_kind kind;
    enum explain_line line;
    size_t place; /* of the block in its table */
    const struct block *block;
    const struct text_cut *cut; /* the block's elements that are shown */
    size_t number;              /* of the element in its vector */
    float value;                /* of a number, NAN: there is nothing; and of a bar in a row */
    const char *digits;         /* of a number, as they are written; "": there is nothing */
    bool first;                 /* of its block */
};

/* Failures stick to the page. */
struct explain_table_form {
    void (*begin)(struct page *page, const struct explain_table *table);
    void (*begin_line)(struct page *page, enum explain_line line, size_t row); /* with its name */
    void (*begin_cell)(struct page *page, const struct explain_cell *cell);    /* may be NULL */
    /* Of each kind; without CELL_HEADING there are no lines of headings. */
    void (*cells[CELL_KINDS])(struct page *page, const struct explain_cell *cell);
    void (*end_line)(struct page *page, enum explain_line line);
    void (*end)(struct page *page); /* may be NULL */
};

/* A table's headings and titles alone, to go on with on another page. */
void explain_table_begin(const struct explain_table *table);

/* --- the walk --------------------------------------------------------------------------------- */

/* The texts of a step: formulas, the sentence to read with them, and below its tables a formula
 * with numbers. */
enum explain_text { EXPLAIN_FORMULA, EXPLAIN_NOTE, EXPLAIN_WORKED, EXPLAIN_TEXTS };

/* Failures stick to the page. */
struct explain_form {
    bool latex; /* formulas are in LaTeX's notation, not the terminal's */
    /* The `place`th of the queries, with its title if there are several. */
    void (*begin_query)(struct page *page, const struct explanation *explanation, size_t place);
    void (*begin_step)(struct page *page, size_t number, const char *title);
    void (*add_text)(struct page *page, enum explain_text kind, const char *text);
    struct explain_table_form table;
    void (*end_step)(struct page *page);  /* may be NULL */
    void (*end_query)(struct page *page); /* may be NULL */
};

/* `how`: the columns that a table has; and in full tables are in several parts where one is too
 * wide. */
void explain_walk(const struct explanations *explanations, const struct explain_form *form,
                  struct page *page, const struct explain_page *how);

#endif
