/* scattered.h: a few rows that lie anywhere: their products with one vector, and their sum.
 *
 * Each number is one chain of fused multiply-adds, of the elements or of the rows in their order,
 * as a kernel's are: the same bits, whichever way it is computed.
 *
 *     const float *rows[] = {k + 7 * stride, k + 19 * stride};
 *     scattered_dots(scores, q, rows, 2, (struct scattered_form){.width = 64, .step = 1});
 *     ... weights of the scores ...
 *     scattered_sum(context, values, weights, 2, 64);
 */
#ifndef ATTN_MATH_SCATTERED_H
#define ATTN_MATH_SCATTERED_H

#include <stddef.h>

struct scattered_form {
    size_t width; /* elements of a vector */
    size_t step;  /* floats from one element of a row to the next; the vector's are dense */
};

/* y[i] = x · rows[i]. */
void scattered_dots(float *y, const float *x, const float *const *rows, size_t count,
                    struct scattered_form form);

/* y[0..width) += Σ factors[i] · rows[i]. */
void scattered_sum(float *restrict y, const float *const *rows, const float *factors, size_t count,
                   size_t width);

#endif
