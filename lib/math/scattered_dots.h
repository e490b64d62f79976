/* scattered_dots.h: products of one vector with a few that lie anywhere.
 *
 * Each is one chain of fused multiply-adds in the order of the elements, as a kernel's are: the
 * same bits, whichever way a number is computed. Several chains go side by side.
 *
 *     const float *rows[] = {k + 7 * stride, k + 19 * stride};
 *     scattered_dots(scores, q, rows, 2, (struct scattered_form){.width = 64, .step = 1});
 */
#ifndef ATTN_MATH_SCATTERED_DOTS_H
#define ATTN_MATH_SCATTERED_DOTS_H

#include <stddef.h>

struct scattered_form {
    size_t width; /* elements of a vector */
    size_t step;  /* floats from one element of a row to the next; the vector's are dense */
};

/* y[i] = x · rows[i]. */
void scattered_dots(float *y, const float *x, const float *const *rows, size_t count,
                    struct scattered_form form);

#endif
