/* rows.h: what is done to one row after another: norm, softmax, sums.
 *
 * Each row is one sum in a fixed order, so results do not depend on threads, on neighbours in a
 * batch or on the instruction set.
 */
#ifndef ATTN_MATH_ROWS_H
#define ATTN_MATH_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "math/tensor.h"

struct norm {
    const float *scale; /* [C] */
    const float *shift; /* [C] */
    float epsilon;
};

/* y = (x - mean) / √(variance + ε) · scale + shift, row by row; y may be x. */
void layernorm_rows(struct matrix y, struct matrix x, const struct norm *norm);

/* y = x. */
void copy_rows(struct matrix y, struct matrix x);

/* y += x. */
void add_rows(struct matrix y, struct matrix x);

/* y += factor · x, fused. What comes at `later`, `count` floats, is fetched meanwhile. */
void add_scaled_row(float *restrict y, const float *restrict x, size_t count, float factor,
                    const float *later);

/* y = x[0..count) · factor. */
void scale_row(float *y, const float *x, size_t count, float factor);

/* Σ x */
float sum_row(const float *x, size_t count);

/* In place: e^(x - max) / Σ. -infinity becomes 0. False when there is no such row: an element is
 * NaN or +infinity, or all are -infinity. */
bool softmax_row(float *x, size_t count);

/* The same, and log Σ e^x of what was there before. */
bool softmax_row_logsumexp(float *x, size_t count, double *log_sum);

/* The steps of a softmax that comes in parts: the largest element that is a number (-infinity:
 * there is none); x = e^(x - max), and their sum; x = x / divisor. */
float max_row(const float *x, size_t count);
float exp_row(float *x, size_t count, float max);
void divide_row(float *x, size_t count, float divisor);

/* In place: x / Σ. False when there is no such row: the sum is not above 0, or not finite. */
bool normalise_row(float *x, size_t count);

/* The index of the first element that is not finite; `count` when there is none. */
size_t first_nonfinite(const float *x, size_t count);

#endif
