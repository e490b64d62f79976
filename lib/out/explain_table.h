/* explain_table.h: a table of an explanation, line by line and cell by cell, for whatever form it
 * is written in.
 *
 *     static void add_cell(void *page, const struct explain_cell *cell) { ... }
 *     static const struct explain_form form = {begin, begin_line, add_cell, end_line, end};
 *     struct explain_table table = explain_table(explanation, &step->table, 80);
 *     explain_table_write(&table, &form, &page);
 */
#ifndef ATTN_OUT_EXPLAIN_TABLE_H
#define ATTN_OUT_EXPLAIN_TABLE_H

#include "out/explain_layout.h"

struct explain_table {
    const struct explanation *explanation;
    const struct step_table *data;
    struct explain_layout layout;
};

/* Above the numbers: what the vectors are, and what each column is; the numbers; where rows are
 * left out; what stands below them. */
enum explain_line { LINE_HEADINGS, LINE_TITLES, LINE_ROW, LINE_GAP, LINE_TOTAL };

/* CELL_HEADING: of all columns of a block, and the only kind in its line. */
enum explain_cell_kind { CELL_HEADING, CELL_TITLE, CELL_NUMBER, CELL_DOTS, CELL_BAR };

struct explain_cell {
    enum explain_cell_kind kind;
    enum explain_line line;
    size_t place; /* of the block in its table */
    const struct block *block;
    const struct text_cut *cut; /* the block's elements that are shown */
    size_t element;
    float value; /* of a number, NAN: there is nothing; and of a bar in a row */
    bool first;  /* of its block */
};

/* Failures stick to the page. */
struct explain_form {
    void (*begin)(void *page, const struct explain_table *table);
    void (*begin_line)(void *page, enum explain_line line, size_t row); /* and what it is called */
    void (*cell)(void *page, const struct explain_cell *cell);
    void (*end_line)(void *page, enum explain_line line);
    void (*end)(void *page);
};

/* Fitted to so many columns; 0: endless. */
struct explain_table explain_table(const struct explanation *explanation,
                                   const struct step_table *data, size_t columns);

/* All of it; and its headings and titles alone, to go on with on another page. */
void explain_table_write(const struct explain_table *table, const struct explain_form *form,
                         void *page);
void explain_table_begin(const struct explain_table *table, const struct explain_form *form,
                         void *page);

/* All elements of all vectors: in several tables, each with as many of them as `columns` take;
 * single numbers stand in the first. */
void explain_table_write_parts(const struct explain_table *table, const struct explain_form *form,
                               void *page);

#endif
