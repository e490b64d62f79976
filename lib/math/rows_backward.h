/* rows_backward.h: the way back through what rows.h does: from the gradient of a result to those of
 * what it was made of.
 *
 * Every sum has one order: lanes along a row, rows from the first to the last. Who shares rows
 * between threads gives each block of rows sums of its own and adds those in the order of blocks.
 */
#ifndef ATTN_MATH_ROWS_BACKWARD_H
#define ATTN_MATH_ROWS_BACKWARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "math/rows.h"
#include "math/tensor.h"

/* From dy, the gradient of layernorm_rows' y: dx += that of x; scale_sum [C] += Σ dy · (x - mean) /
 * deviation, shift_sum [C] += Σ dy: those of scale and shift. */
void layernorm_rows_backward(struct matrix dx, struct matrix dy, struct matrix x,
                             const struct norm *norm, float *scale_sum, float *shift_sum);

/* In place, from dy, the gradient of softmax's y = softmax(factor · x), to that of x:
 * factor · y · (dy - Σ dy · y). */
void softmax_row_backward(float *dy, const float *y, size_t count, float factor);

/* -log softmax(x)[target]; x becomes its gradient times `factor`. False when x holds what is no
 * number. */
bool cross_entropy_row(float *x, size_t count, uint32_t target, float factor, double *loss);

/* sum [C] += the sum of every column, from the first row to the last. */
void add_columns(float *sum, struct matrix x);

/* y += x, element by element. */
void add_row(float *restrict y, const float *restrict x, size_t count);

#endif
