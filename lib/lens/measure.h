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

enum measure {
    MEASURE_MEAN,
    MEASURE_MAX,
    MEASURE_ENTROPY,
    MEASURE_FIRST_TOKEN,
    MEASURE_PREVIOUS_TOKEN,
    MEASURE_DISTANCE,
    MEASURE_COUNT,
};

struct attention_row {
    const float *weights; /* [keys] those that the query may see; the others are 0 */
    size_t keys;
    size_t query; /* its place in the text */
};

struct measure_row {
    const char *name;
    const char *about;                              /* a line for help */
    double (*of_row)(const struct attention_row *); /* NULL: a measure of cells */
    size_t first_query;                             /* that it can be said of */
    bool one_text; /* keys are places in the query's own text: not in cross-attention */
};

extern const struct measure_row measure_rows[MEASURE_COUNT];

/* The measure of that name; false when there is none. */
bool measure_find(const char *name, size_t size, enum measure *measure);

#endif
