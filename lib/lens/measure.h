/* measure.h: what one row of attention weights says in a number: one row of a table a measure.
 *
 * A row is a query's: how it looks at each key. A measure of rows is a number for each query; its
 * mean over many is what a head does. A measure of cells keeps its place: it is a number for every
 * query and key.
 *
 *     enum measure measure;
 *     if (measure_find("entropy", 7, &measure)) ...
 *     struct attention_row row = {.weights = weights, .keys = 6, .query = 2};
 *     double nats = measure_rows[measure].of_row(&row);
 *
 * The arithmetic has one order and no library's functions: the same bits on every machine.
 */
#ifndef ATTN_LENS_MEASURE_H
#define ATTN_LENS_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lens/sheet.h"

enum measure {
    MEASURE_MEAN,
    MEASURE_MAX,
    MEASURE_ENTROPY,
    MEASURE_FIRST_TOKEN,
    MEASURE_PREVIOUS_TOKEN,
    MEASURE_DISTANCE,
    MEASURE_COUNT, /* those that --reduce takes; what follows needs the ids of the text */
    MEASURE_SELF = MEASURE_COUNT,
    MEASURE_DUPLICATE_TOKEN,
    MEASURE_INDUCTION,
    MEASURE_ALL,
};

struct attention_row {
    const float *weights; /* [keys] those that the query may see; the others are 0 */
    size_t keys;
    size_t query;        /* its place in the text */
    const uint32_t *ids; /* [keys] of the text; NULL where no measure needs them */
};

struct measure_row {
    const char *name;
    const char *about;                              /* a line for help */
    double (*of_row)(const struct attention_row *); /* NaN: nothing; NULL: a measure of cells */
    size_t first_query;                             /* that it can be said of */
    bool one_text; /* keys are places in the query's own text: not in cross-attention */
};

extern const struct measure_row measure_rows[MEASURE_ALL];

/* The measure of that name, of those that --reduce takes; false when there is none. */
bool measure_find(const char *name, size_t size, enum measure *measure);

/* --- what measures found of heads, ready to be written -----------------------------------------
 *
 * Wherever it was found: in one text, over thousands, or in repeated random tokens. A measurement
 * is one measure: a sheet of layers × heads, or for measures of cells a sheet of queries × keys for
 * every head. `measured` are all measures of one thing, a list of them what goes to one place. All
 * of it is borrowed.
 *
 *     struct measured measured = {.title = "tiny · 2 texts", .model = "tiny", .texts = 2};
 *     if (reduction_measure(&measured, &reduction, &arena, err)) ...
 *     struct measured_list list = {"tiny · 2 texts", &measured, 1};
 *     if (measured_page_write(&out, &list, &place, err)) ...
 */

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

struct measured {
    const char *title; /* for people */
    const char *name;  /* what tells it from the others of its list */
    const char *model;
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
