/* table_rows.h: reads the rows of a file of texts (items.h): records of CSV, lines of JSONL, or
 * lines of text. */
#pragma once

#include "format/csv_read.h"

struct items;

/* A record of CSV, a line of JSONL or a line of text, which has no cells. */
struct row {
    struct row_cell {
        const char *name;  /* in JSONL */
        size_t field;      /* where the value goes: see field_of */
        const char *value; /* NULL: none */
        bool literal;      /* JSON other than a text, which is copied as it is written */
    } * cells;             /* [count] */
    size_t count;
    const char *at; /* [size] its bytes */
    size_t size;
    size_t line; /* in the file, from 1; 0: no row is left */
    bool is_blank;
};

/* Where the value of a column goes, by its name: see field_of in items.c. */
typedef size_t row_field_of(const struct items *items, const char *name);

/* Read the next row of a file with the kind and the columns of `items`. Of an object also the
 * members after one that is refused. */
int row_read(struct row *row, const struct items *items, row_field_of *field_of,
             struct csv_reader *reader, struct arena *arena, struct err *err);
