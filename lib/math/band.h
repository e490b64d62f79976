/* band.h: softmax over a part of each of a few rows: what some queries see of a stretch of keys.
 *
 * All rows take one step, then all the next, so that none waits for its own maximum or sum. What is
 * not in a row's band counts as -infinity, and becomes 0: the weights have the bits of softmax_row
 * over such a row, however wide it is.
 *
 *     struct band bands[] = {{.first = 3, .end = 9}, {.low = 2, .first = 4, .end = 10}};
 *     band_scale(rows, bands, 0.125f);
 *     if (!band_softmax(rows, bands)) ...
 */
#ifndef ATTN_MATH_BAND_H
#define ATTN_MATH_BAND_H

#include <stdbool.h>
#include <stddef.h>

#include "math/tensor.h"

enum { BAND_STEP = 16 }; /* rows are a multiple of so many columns wide */

/* Columns 0 … low - 1, and first … end - 1, which are not below low; one at least. */
struct band {
    size_t low, first, end;
    float largest, sum; /* of the scaled elements, and of what softmax divides by */
};

/* x · scale in the band of each row; what is not in it is for band_softmax alone. */
void band_scale(struct matrix rows, struct band *bands, float scale);

/* Then e^(x - largest) / Σ. False when some row has none, as with softmax_row. */
bool band_softmax(struct matrix rows, struct band *bands);

#endif
