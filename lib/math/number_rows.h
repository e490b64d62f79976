/* number_rows.h: a few rows of floats, bf16 or quantised numbers, wherever they lie: of a matrix in
 * a file. Quantised ones are made floats, some at a time, and then read.
 *
 *     struct number_rows rows = weight_number_rows(w, 0, column);
 *     float last = number_at(&rows, 0, w->in - 1);
 */
#ifndef ATTN_MATH_NUMBER_ROWS_H
#define ATTN_MATH_NUMBER_ROWS_H

#include <stddef.h>
#include <string.h>

#include "format/dtype.h"
#include "math/precision.h"
#include "math/isa.h"

enum {
    FLOAT_BYTES = 4, /* of a number */
    BF16_BYTES = 2,
    LANE_BYTES = 4, /* blocks are of words: a float, or two bf16 numbers side by side */
};

/* Up to LANES rows, of any alignment. */
struct number_rows {
    const char *at[LANES];
    size_t count;
    size_t bytes;         /* of a number; 0: they are quantised, */
    enum dtype quantised; /* in this way */
    size_t jump;          /* bytes from a row to that which is read after it */
};

/* Some numbers of quantised rows, as rows of floats. */
struct widened_rows {
    float room[LANES][DTYPE_BLOCK_MAX];
    struct number_rows rows;
    size_t count; /* numbers of a row */
};

/* Numbers from `first` on: up to `end`, or fewer. (weight.c) */
void number_rows_widen(struct widened_rows *some, const struct number_rows *quantised, size_t first,
                       size_t end);

static inline float number_at(const struct number_rows *rows, size_t row, size_t i)
{
    const char *from = rows->at[row] + i * rows->bytes;
    float value = 0;
    uint16_t half = 0;
    if (rows->bytes == BF16_BYTES) {
        memcpy(&half, from, sizeof half);
        return bf16_value(half);
    }
    memcpy(&value, from, sizeof value);
    return value;
}

/* What the rows that are read next have at byte `at`, into the second-level cache: rows follow each
 * other so far apart that a processor does not see it. */
static inline void prefetch_rows(const struct number_rows *rows, size_t at)
{
    for (size_t row = 0; row < LANES; row++)
        __builtin_prefetch(rows->at[row] + at + rows->jump, 0, 2);
}

#endif
