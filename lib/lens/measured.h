/* measured.h: what was found of heads, ready to be written: in one text, over thousands, or in
 * repeated random tokens.
 *
 *     struct measured measured = {.title = "tiny · 2 texts", .model = "tiny", .texts = 2};
 *     if (reduction_measure(&measured, &reduction, &arena, err)) ...
 *     struct measured_list list = {"tiny · 2 texts", &measured, 1};
 *     if (measured_page_write(&out, &list, &place, err)) ...
 */
#ifndef ATTN_LENS_MEASURED_H
#define ATTN_LENS_MEASURED_H

#include <stdint.h>

#include "lens/sheet.h"

/* One measure: a sheet of layers × heads, or for measures of cells one of queries × keys for every
 * head. */
struct measurement {
    const char *name, *about;
    const char *basis; /* what its numbers come from: "mean over up to 5 queries" */
    uint64_t most;     /* the largest count of a cell */
    bool of_cells;     /* a sheet a head; else there is one, or none where nothing was counted */
    const struct sheet *sheets;    /* [count]; NaN: nothing was counted there */
    const uint64_t *const *counts; /* [count][rows, columns] how many numbers a cell stands for */
    size_t count;
};

/* A column of data files, beside the numbers. */
struct measured_column {
    const char *name, *value; /* NULL: nothing to say here */
};

/* All measures of one thing; of several a list goes to one place. All of it is borrowed. */
struct measured {
    const char *title; /* for people */
    const char *name;  /* what tells it from the others of its list */
    const char *model;
    const char *hash; /* of its weights, for JSON; NULL: not told */
    uint64_t texts;
    const struct measured_column *columns; /* [column_count], of a list all the same names */
    size_t column_count;
    const struct measurement *items; /* [count] */
    size_t count;
};

struct measured_list {
    const char *title; /* of all */
    const struct measured *items;
    size_t count;
};

#endif
