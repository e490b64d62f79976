/* rows.h: operations on the rows of matrices: norm, softmax, sums, and their gradients. Sums have a
 * fixed order, which does not depend on threads, the batch or the instruction set. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "math/tensor.h"

struct norm {
    const float *scale; /* [C] factors of the columns */
    const float *shift; /* [C] biases, added at the end; NULL: nothing is added */
    float epsilon;
    bool rms;     /* an RMS norm: the mean is not subtracted, and counts as 0 */
    float offset; /* added to each scale */
    bool plain;   /* the model has no scales, and all scales are 1 */
};

/* y = (x - mean) / √(variance + ε) · (offset + scale) + shift, row by row; y may be x. */
void norm_rows(struct matrix y, struct matrix x, const struct norm *norm);

/* Return √(variance + ε) of a row x [count], by which a norm divides, computed in float64. */
double norm_divisor(const float *x, size_t count, const struct norm *norm);

/* copy_rows: y = x. average_rows: each row of y is the mean of the rows of x; y may be x. add_rows
 * and add_to_row: y += x, for all rows or one row. */
void copy_rows(struct matrix y, struct matrix x);
void average_rows(struct matrix y, struct matrix x);
void add_rows(struct matrix y, struct matrix x);
void add_to_row(float *restrict y, const float *restrict x, size_t count);

/* Limit each number to the range from -limit to limit; NaN stays NaN. */
void clip_rows(struct matrix x, float limit);

/* x = max(x - mean - deviations · standard deviation, 0), with the mean and deviation of each
 * row. */
void thin_rows(struct matrix x, float deviations);

/* y += factor · x, by fused multiply-adds; prefetches about `count` floats at `later`. */
void add_scaled_row(float *restrict y, const float *restrict x, size_t count, float factor,
                    const float *later);

enum sines {
    SINES_IN_TURN, /* sine, cosine, sine, … ("Attention is all you need") */
    SINES_HALVES,  /* all sines, then all cosines (as in Marian) */
    SINES_OFFSET,  /* all sines, then all cosines, with i / (C/2 - 1) as the exponent of 10000 (as
                    * in M2M-100) */
};

/* x[row][2i] += sin((first + row) / 10000^(2i / C)), x[row][2i + 1] += cos(…): the position
 * encoding of "Attention is all you need". In the other orders, all sines come before the cosines;
 * with SINES_OFFSET, the angles are (first + row) / 10000^(i / (C/2 - 1)). */
void add_sinusoids(struct matrix x, size_t first, enum sines order);

/* multiply_rows: y = y · x; cap_row: y = cap · tanh(y / cap), element by element. */
void multiply_rows(struct matrix y, struct matrix x);
void cap_row(float *y, size_t count, float cap);

/* y = x · factor, for `count` numbers; y may be x. */
void scale_row(float *y, const float *x, size_t count, float factor);

/* Return the index of the first element that is infinite or NaN; `count` if there is none. */
size_t first_nonfinite(const float *x, size_t count);

/* --- softmax ---------------------------------------------------------------------------------- */

/* Return the sum of `count` floats, added in LANES chains (isa.h). */
float sum_row(const float *x, size_t count);

/* Replace x by its softmax; -infinity becomes 0. Returns false if x has NaN or +infinity, or no
 * finite number. */
bool softmax_row(float *x, size_t count);

/* The steps of a softmax. max_row: the largest element, ignoring NaN (-infinity if there is none).
 * exp_row: x = e^(x - max); returns the sum of the new elements. divide_row: x = x / divisor. */
float max_row(const float *x, size_t count);
float exp_row(float *x, size_t count, float max);
void divide_row(float *x, size_t count, float divisor);

/* x = x / Σ x. Returns false if the sum is not finite or not above 0. */
bool normalise_row(float *x, size_t count);

/* --- softmax over a part of each of a few rows ---------------------------------------------------
 *
 * Each step is done for all rows before the next step: no row waits for its own maximum or sum. The
 * bits are the same as from softmax_row. Elements outside a row's range count as -infinity. */

enum { SOFTMAX_RANGE_STEP = 16 }; /* the number of columns of the rows must be a multiple of it */

/* The columns of a row that a softmax covers: [0, low) and [first, end), at least one column; low
 * <= first. */
struct softmax_range {
    size_t low, first, end;
    float largest, sum; /* `largest`: the largest scaled element (or sink); `sum`: the divisor of
                         * the softmax */
    const float *sink;  /* score of the attention sink, an element without a column; NULL: there is
                         * no sink */
    float rest;         /* the sink's share of the softmax, if there is a sink */
};

/* Multiply the elements in the range of each row by `scale` and set `largest` to the largest
 * product. Elements outside the range are undefined until softmax_range_apply makes them 0. */
void softmax_range_scale(struct matrix rows, struct softmax_range *ranges, float scale);

/* After softmax_range_scale: replace each row by the softmax over its range and its sink. Returns
 * false if the range or the sink of a row has NaN or +infinity, or no finite number. */
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

/* y [columns] = x [rows] · matrix; each sum is one chain of fused multiply-adds. */
void row_times_matrix(float *restrict y, const float *restrict x, struct matrix matrix);

/* Add a key, given as φ(k) [dk], and its value [dv] to the running sums. */
void running_sum_add(const struct running_sum *sum, const float *phi_k, const float *v);

/* y [dv] = φ(q) · Σ φ(k) vᵀ; returns the divisor of y, φ(q) · Σ φ(k). */
float running_sum_query(const struct running_sum *sum, float *y, const float *phi_q);

/* --- backward --------------------------------------------------------------------------------- */

/* dy is the gradient of norm_rows' y. dx += the gradient of x; scale_sum [C] += the gradient of
 * scale, Σ dy · (x - mean) / deviation; shift_sum [C] += the gradient of shift, Σ dy. */
void norm_rows_backward(struct matrix dx, struct matrix dy, struct matrix x,
                        const struct norm *norm, float *scale_sum, float *shift_sum);

/* Turn dy in place from the gradient of thin_rows' result into the gradient of its input x. */
void thin_rows_backward(struct matrix dy, struct matrix x, float deviations);

/* Turn dy in place from the gradient of y = softmax(factor · x) into the gradient of x, which is
 * factor · y · (dy - Σ dy · y). */
void softmax_row_backward(float *dy, const float *y, size_t count, float factor);

/* dot_rows and dot_double_row: Σ a · b, added from first to last in float64. entropy_of_row: -Σ w
 * ln w, where a weight of 0 adds 0. */
double dot_rows(const float *a, const float *b, size_t count);
double dot_double_row(const double *a, const float *b, size_t count);
double entropy_of_row(const float *weights, size_t count);

/* *loss = -log softmax(x)[target]; x becomes the gradient of the loss with respect to x, times
 * `factor`. Returns false in the same cases as softmax_row. */
bool cross_entropy_row(float *x, size_t count, uint32_t target, float factor, double *loss);

/* --- past the caches -------------------------------------------------------------------------- */

/* nontemporal_copy: to = from; nontemporal_fill: to = value. On x86-64, a large `count` is written
 * past the caches: a result that is not read soon would displace the inputs of the next product.
 * `to` and `from` must not overlap. */
void nontemporal_copy(float *to, const float *from, size_t count);
void nontemporal_fill(float *to, size_t count, float value);

/* After this call, other threads see the numbers that this thread has written past the caches. */
void nontemporal_fence(void);
