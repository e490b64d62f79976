/* gather.h: a few rows that lie anywhere: their products with one vector, and their sum. Each
 * number is one chain of fused multiply-adds in order, as a kernel's: the same bits.
 *
 *     const float *rows[] = {k + 7 * stride, k + 19 * stride};
 *     gather_dots(scores, q, rows, 2, (struct gather_form){.width = 64, .step = 1});
 *     gather_sum(context, values, weights, 2, 64);
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

/* y[0..width) += Σ factors[i] · rows[i]. */
void gather_sum(float *restrict y, const float *const *rows, const float *factors, size_t count,
                size_t width);

#endif
