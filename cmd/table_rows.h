/* table_rows.h: reads the rows of a file of texts (items.h): records of CSV, lines of JSONL, or
 * lines of text. */
#pragma once

#include "format/csv_read.h"

struct items;

/* A record of CSV, a line of JSONL or a line of text, which has no cells. */
struct row {
    struct row_cell {
        const char *name;  /* name of the member, in JSONL */
        size_t field;      /* field in which the value is stored; see field_of in items.c */
        const char *value; /* text of the cell; NULL: no value, as for null */
        bool literal;      /* the value is JSON but not a string, and is copied as it is written */
    } * cells;             /* [count] cells of the row */
    size_t count;
    const char *at; /* [size] bytes of the row */
    size_t size;
    size_t line; /* number of the row's line in the file, from 1; 0: no row is left */
    bool is_blank;
};

/* A function that gives the field in which values of a column are stored, by the column's name; see
 * field_of in items.c. */
typedef size_t row_field_of(const struct items *items, const char *name);

/* Read the next row of the file of `items`. If a member of an object is refused, still read the
 * later members. */
int row_read(struct row *row, const struct items *items, row_field_of *field_of,
             struct csv_reader *reader, struct arena *arena, struct err *err);
