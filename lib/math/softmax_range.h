/* softmax_range.h: softmax over a part of each of a few rows: what some queries see of some keys.
 *
 * All rows take one step, then all the next, so that none waits for its own maximum or sum. What is
 * not in a row's range counts as -infinity and becomes 0; the bits are those of softmax_row.
 *
 *     struct softmax_range ranges[] = {{.first = 3, .end = 9}, {.low = 2, .first = 4, .end = 10}};
 *     softmax_range_scale(rows, ranges, 0.125f);
 *     if (!softmax_range_apply(rows, ranges)) ...
 */
#ifndef ATTN_MATH_SOFTMAX_RANGE_H
#define ATTN_MATH_SOFTMAX_RANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "math/tensor.h"

enum { SOFTMAX_RANGE_STEP = 16 }; /* rows are a multiple of so many columns wide */

/* Columns 0 … low - 1, and first … end - 1, which are not below low; one at least. */
struct softmax_range {
    size_t low, first, end;
    float largest, sum; /* of the scaled elements, and of what softmax divides by */
};

/* x · scale in the range of each row; what is not in it is for softmax_range_apply alone. */
void softmax_range_scale(struct matrix rows, struct softmax_range *ranges, float scale);

/* Then e^(x - largest) / Σ. False when some row has none, as with softmax_row. */
bool softmax_range_apply(struct matrix rows, struct softmax_range *ranges);

#endif
