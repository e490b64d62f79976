/* gather.h: products of one vector with a few rows anywhere in memory. Each is one chain of fused
 * multiply-adds in order, as in a kernel: the same bits.
 *
 *     const float *rows[] = {k + 7 * stride, k + 19 * stride};
 *     gather_dots(scores, q, rows, 2, (struct gather_form){.width = 64, .step = 1});
 */
#ifndef ATTN_MATH_GATHER_H
#define ATTN_MATH_GATHER_H

#include <stddef.h>

struct gather_form {
    size_t width; /* elements of a vector */
    size_t step;  /* floats from one element of a row to the next; the vector's are dense */
};

/* y[i] = x · rows[i]. */
void gather_dots(float *y, const float *x, const float *const *rows, size_t count,
                 struct gather_form form);

#endif
