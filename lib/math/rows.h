/* rows.h: what is done to one row after another: norm, softmax, sums; and backward, from the
 * gradient of a result to those of what it was made of. Sums have a fixed order: results do not
 * depend on threads, on neighbours in a batch or on the instruction set. */
#ifndef ATTN_MATH_ROWS_H
#define ATTN_MATH_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "math/tensor.h"

struct norm {
    const float *scale; /* [C] */
    const float *shift; /* [C]; NULL: 0 */
    float epsilon;
    bool rms;     /* 0 in place of the mean */
    float offset; /* added to the scale */
};

/* y = (x - mean) / √(variance + ε) · (offset + scale) + shift, row by row; y may be x. */
void norm_rows(struct matrix y, struct matrix x, const struct norm *norm);

/* y = x, and y += x. */
void copy_rows(struct matrix y, struct matrix x);
void add_rows(struct matrix y, struct matrix x);
void add_to_row(float *restrict y, const float *restrict x, size_t count);

/* sum [C] += the sum of every column. */
void sum_columns(float *sum, struct matrix x);

/* y += factor · x, fused. What comes at `later`, `count` floats, is prefetched meanwhile. */
void add_scaled_row(float *restrict y, const float *restrict x, size_t count, float factor,
                    const float *later);

/* x[row][2i] += sin((first + row) / 10000^(2i / C)), x[row][2i + 1] += cos(…): the positions of
 * "Attention is all you need", without the C library's sine. */
void add_sinusoids(struct matrix x, size_t first);

/* y = y · x, and y = c · tanh(y / c), element by element. */
void multiply_rows(struct matrix y, struct matrix x);
void cap_row(float *y, size_t count, float cap);

/* y = x[0..count) · factor. */
void scale_row(float *y, const float *x, size_t count, float factor);

/* The index of the first element that is not finite; `count` when there is none. */
size_t first_nonfinite(const float *x, size_t count);

/* --- softmax ---------------------------------------------------------------------------------- */

/* Σ x */
float sum_row(const float *x, size_t count);

/* In place: e^(x - max) / Σ, where -infinity becomes 0; the second gives log Σ e^x, too. False when
 * there is no such row: an element is NaN or +infinity, or all are -infinity. */
bool softmax_row(float *x, size_t count);
bool softmax_row_logsumexp(float *x, size_t count, double *log_sum);

/* The steps of a softmax that comes in parts: the largest element that is a number (-infinity:
 * there is none); x = e^(x - max), and their sum; x = x / divisor. */
float max_row(const float *x, size_t count);
float exp_row(float *x, size_t count, float max);
void divide_row(float *x, size_t count, float divisor);

/* In place: x / Σ. False when there is no such row: the sum is not above 0, or not finite. */
bool normalise_row(float *x, size_t count);

/* --- softmax over a part of each of a few rows ---------------------------------------------------
 *
 * All rows take one step, then all the next, so that none waits for its own maximum or sum; the
 * bits are those of softmax_row. What is not in a row's range counts as -infinity and becomes 0. */

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

/* --- linear attention ------------------------------------------------------------------------- */

/* Sums over keys: Σ φ(k) vᵀ and Σ φ(k), with φ(x) = elu(x) + 1, added in the order of the keys.
 *
 *     struct running_sum sum = {.values = zeroed, .dk = 64, .dv = 64};
 *     running_sum_add(&sum, phi_k, v);
 *     float total = running_sum_query(&sum, context, phi_q);        (context / total)
 */
struct running_sum {
    float *values; /* [dk, dv] Σ φ(k) vᵀ, then [dk] Σ φ(k) */
    size_t dk, dv;
};

/* The number of floats of `values`. */
size_t running_sum_size(size_t dk, size_t dv);

/* y = φ(x): x + 1 above 0, else e^x. */
void phi_rows(struct matrix y, struct matrix x);

/* y [columns] = x [rows] · matrix: each sum is one chain. */
void row_times_matrix(float *restrict y, const float *restrict x, struct matrix matrix);

/* Add a key, as φ(k) [dk], and its value [dv]. */
void running_sum_add(const struct running_sum *sum, const float *phi_k, const float *v);

/* y [dv] = φ(q) · Σ φ(k) vᵀ; returns the divisor of y, φ(q) · Σ φ(k). */
float running_sum_query(const struct running_sum *sum, float *y, const float *phi_q);

/* --- backward --------------------------------------------------------------------------------- */

/* From dy, the gradient of norm_rows' y: dx += that of x; scale_sum [C] += Σ dy · (x - mean) /
 * deviation, shift_sum [C] += Σ dy: those of scale and shift. (An RMS norm has no mean.) */
void norm_rows_backward(struct matrix dx, struct matrix dy, struct matrix x,
                        const struct norm *norm, float *scale_sum, float *shift_sum);

/* In place, from dy, the gradient of softmax's y = softmax(factor · x), to that of x:
 * factor · y · (dy - Σ dy · y). */
void softmax_row_backward(float *dy, const float *y, size_t count, float factor);

/* -log softmax(x)[target]; x becomes its gradient times `factor`. False when x holds what is no
 * number. */
bool cross_entropy_row(float *x, size_t count, uint32_t target, float factor, double *loss);

/* --- past the caches -------------------------------------------------------------------------- */

/* to = from, and to = value, with non-temporal stores: a large result that is not read soon would
 * displace what the next product needs from the caches. `to` and `from` must not overlap. */
void nontemporal_copy(float *to, const float *from, size_t count);
void nontemporal_fill(float *to, size_t count, float value);

/* Other threads see what this one stored before. */
void nontemporal_fence(void);

#endif
