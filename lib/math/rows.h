/* rows.h: operations on one row after another: norm, softmax, sums, and gradients of these. Sums
 * have a fixed order, whatever the threads, the batch and the instruction set. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "math/tensor.h"

struct norm {
    const float *scale; /* [C] */
    const float *shift; /* [C] added at the end; NULL: 0 */
    float epsilon;
    bool rms;     /* the mean is not subtracted */
    float offset; /* added to the scale */
    bool plain;   /* all scales are 1, as the model has no scales */
};

/* y = (x - mean) / √(variance + ε) · (offset + scale) + shift, row by row; y may be x. */
void norm_rows(struct matrix y, struct matrix x, const struct norm *norm);

/* √(variance + ε) of a row x [count], by which its norm divides, in float64. */
double norm_divisor(const float *x, size_t count, const struct norm *norm);

/* copy_rows: y = x. average_rows: each row of y is the mean of the rows of x; y may be x. add_rows
 * and add_to_row: y += x, for all rows or one row. */
void copy_rows(struct matrix y, struct matrix x);
void average_rows(struct matrix y, struct matrix x);
void add_rows(struct matrix y, struct matrix x);
void add_to_row(float *restrict y, const float *restrict x, size_t count);

/* Limit each number to [-limit, limit]; NaN stays NaN. */
void clip_rows(struct matrix x, float limit);

/* x = max(x - mean - deviations · standard deviation, 0), of each row. */
void thin_rows(struct matrix x, float deviations);

/* y += factor · x, by fused multiply-adds; prefetches `count` floats at `later`. */
void add_scaled_row(float *restrict y, const float *restrict x, size_t count, float factor,
                    const float *later);

enum sines {
    SINES_IN_TURN, /* sine, cosine, sine, … ("Attention is all you need") */
    SINES_HALVES,  /* all sines, then all cosines (such as Marian) */
    SINES_OFFSET,  /* all sines, then all cosines, of other angles (such as M2M-100) */
};

/* x[row][2i] += sin((first + row) / 10000^(2i / C)), x[row][2i + 1] += cos(…): the position
 * encoding of "Attention is all you need". In other orders, all sines come before the cosines;
 * the angles of SINES_OFFSET are (first + row) / 10000^(i / (C/2 - 1)). */
void add_sinusoids(struct matrix x, size_t first, enum sines order);

/* multiply_rows: y = y · x; cap_row: y = cap · tanh(y / cap), element by element. */
void multiply_rows(struct matrix y, struct matrix x);
void cap_row(float *y, size_t count, float cap);

/* y = x[0..count) · factor. */
void scale_row(float *y, const float *x, size_t count, float factor);

/* The index of the first element that is not finite; `count` if there is none. */
size_t first_nonfinite(const float *x, size_t count);

/* --- softmax ---------------------------------------------------------------------------------- */

/* Σ x */
float sum_row(const float *x, size_t count);

/* In place: e^(x - max) / Σ; -infinity becomes 0. False: NaN or +infinity in x, or no finite x. */
bool softmax_row(float *x, size_t count);

/* The steps of a softmax. max_row: the largest element, ignoring NaN (-infinity if there is none).
 * exp_row: x = e^(x - max); returns the sum of the new x. divide_row: x = x / divisor. */
float max_row(const float *x, size_t count);
float exp_row(float *x, size_t count, float max);
void divide_row(float *x, size_t count, float divisor);

/* In place: x / Σ x. False if the sum is not above 0 or not finite. */
bool normalise_row(float *x, size_t count);

/* --- softmax over a part of each of a few rows ---------------------------------------------------
 *
 * Each step is done for all rows before the next one: no row waits for its own maximum or sum. The
 * bits are the same as from softmax_row. Elements outside a row's range count as -infinity. */

enum { SOFTMAX_RANGE_STEP = 16 }; /* the number of columns is a multiple of this */

/* Columns [0, low) and [first, end), at least one; low <= first. */
struct softmax_range {
    size_t low, first, end;
    float largest, sum; /* `largest`: the largest scaled element (or sink); `sum`: the divisor of
                         * the softmax */
    const float *sink;  /* the attention sink, an element without a column; NULL: none */
    float rest;         /* the softmax of the sink, if there is a sink */
};

/* x · scale in the range of each row; the rest is undefined until softmax_range_apply. */
void softmax_range_scale(struct matrix rows, struct softmax_range *ranges, float scale);

/* After softmax_range_scale: e^(x - largest) / Σ. False as for softmax_row, sink included. */
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

/* dy is the gradient of norm_rows' y. dx += the gradient of x; scale_sum [C] += the gradient of
 * scale, Σ dy · (x - mean) / deviation; shift_sum [C] += the gradient of shift, Σ dy. */
void norm_rows_backward(struct matrix dx, struct matrix dy, struct matrix x,
                        const struct norm *norm, float *scale_sum, float *shift_sum);

/* In place: dy is the gradient of thin_rows' result, then the gradient of its input, x. */
void thin_rows_backward(struct matrix dy, struct matrix x, float deviations);

/* In place, from the gradient dy of y = softmax(factor · x) to the gradient of x, which is
 * factor · y · (dy - Σ dy · y). */
void softmax_row_backward(float *dy, const float *y, size_t count, float factor);

/* Σ a · b from first to last, of floats or of doubles and floats; -Σ w ln w, with 0 for a weight
 * of 0. */
double dot_rows(const float *a, const float *b, size_t count);
double dot_double_row(const double *a, const float *b, size_t count);
double entropy_of_row(const float *weights, size_t count);

/* -log softmax(x)[target]; x becomes its gradient times `factor`. False as for softmax_row. */
bool cross_entropy_row(float *x, size_t count, uint32_t target, float factor, double *loss);

/* --- past the caches -------------------------------------------------------------------------- */

/* to = from, and to = value, on x86-64 past the caches if `count` is large: a result that is not
 * read soon would displace the inputs of the next product. `to` and `from` must not overlap. */
void nontemporal_copy(float *to, const float *from, size_t count);
void nontemporal_fill(float *to, size_t count, float value);

/* After this call, other threads see the numbers that this thread has stored. */
void nontemporal_fence(void);
