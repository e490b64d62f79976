/* explain_table.h: a table of an explanation, line by line and cell by cell, for whatever form it
 * is written in.
 *
 *     struct page { ... };
 *     static void add_number(struct page *page, const struct explain_cell *cell) { ... }
 *     static const struct explain_table_form form = {
 *         .begin = begin_table, .begin_line = begin_line, .cells = {[CELL_NUMBER] = add_number, ...
 *     explain_table_write(explanation, &step->table, &form, &page, 80);
 */
#ifndef ATTN_EXPLAIN_EXPLAIN_TABLE_H
#define ATTN_EXPLAIN_EXPLAIN_TABLE_H

#include "explain/explain_layout.h"

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
enum explain_line { LINE_HEADINGS, LINE_TITLES, LINE_ROW, LINE_GAP, LINE_TOTAL };

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

/* Write a table fitted to so many columns; 0: endless. */
void explain_table_write(const struct explanation *explanation, const struct step_table *data,
                         const struct explain_table_form *form, struct page *page, size_t columns);

/* The same with all elements of all vectors: in several tables, each with as many of them as
 * `columns` take; single numbers stand in the first. */
void explain_table_write_parts(const struct explanation *explanation, const struct step_table *data,
                               const struct explain_table_form *form, struct page *page,
                               size_t columns);

/* A table's headings and titles alone, to go on with on another page. */
void explain_table_begin(const struct explain_table *table);

#endif
