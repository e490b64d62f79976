/* table.h: tables on a terminal, cell by cell: every column has its width, counted as a terminal
 * shows it.
 *
 *     static const struct table_column columns[] = {
 *         {"token", .width = 12, .left = true}, {"id", .gap = 2, .width = 6}};
 *     struct table table = {.out = out, .columns = columns, .count = 2};
 *     table_titles(&table);
 *     table_text(&table, "Life"), table_number(&table, id), table_end(&table);
 *     return table_close(&table, err);
 *
 * Failures to find memory stick until the table is closed. Lines end without blanks.
 */
#ifndef ATTN_WRITE_TABLE_H
#define ATTN_WRITE_TABLE_H

#include "write/text_heat.h"

struct table_column {
    const char *title; /* NULL: none */
    size_t gap;        /* blanks before it */
    size_t width;
    size_t repeat; /* so many columns like it, side by side; 0: one */
    bool left;     /* its cells begin at the left; else they end at the right */
    bool shortens; /* what is wider ends in an ellipsis; else it takes the room it needs */
    bool tight;    /* colour reaches from the blank before a number to its end, not further */
};

struct table {
    struct stream *out;
    const struct table_column *columns;
    size_t count;
    size_t page;            /* columns that a line may have, then it is shortened; 0: endless */
    struct text_heat *heat; /* of table_heated; NULL where that is not used */
    struct buf line;        /* on its way out: what follows the last cell may be added */
    struct buf cell;        /* the next one, where it is gathered: see table_put */
    size_t next, again;     /* the column of the next cell, and how many like it have been */
    size_t margin;          /* blanks that have the colours of the cell before them */
};

/* Make a column as wide as a text, if it is not. */
void table_fit(struct table_column *column, const char *text);

/* Narrow one column, down to `least`, by what all of them have more than a page of so many columns
 * (0: endless). */
void table_narrow(struct table_column *columns, size_t count, size_t narrowed, size_t least,
                  size_t page);

/* Below what was written, and an empty line, another table begins. */
void table_begin(struct table *table, const struct table_column *columns, size_t count);

/* A line of the columns' titles. */
void table_titles(struct table *table);

/* The next cell: a text; a number; what was gathered in `cell`. */
void table_text(struct table *table, const char *text);
void table_number(struct table *table, size_t number);
void table_put(struct table *table);

/* A number with the colours or shades of a level, those alone where heat has no numbers. */
void table_heated(struct table *table, const char *number, unsigned level);

/* Begin with the first column again, so many blanks further right. */
void table_beside(struct table *table, size_t gap);

/* End the line. */
void table_end(struct table *table);

/* Give back its memory; -1 when not all was written, because there was no memory for it. */
int table_close(struct table *table, struct err *err);

#endif
