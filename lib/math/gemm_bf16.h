/* gemm_bf16.h: the product y = x · W + b of numbers rounded to bf16, with sums in float32.
 *
 * Where the processor has instructions for it (kernels_have_bf16) twice as many multiply-adds a
 * second as float32, and half the bytes to read. W is rounded once, into panels of pairs; x for
 * every product, into memory that the machine holds.
 *
 * The promise: every element is one chain of fused multiply-adds over the pairs in the order of k,
 * of each pair the second product first (kernel.h says more). Rows, threads and tiling change no
 * bit of it. Against float32 it is off by the roundings of x and W, by one part in 256 of each at
 * most, and by nothing else.
 *
 *     uint32_t *pairs = arena_alloc(&arena, pairs_size(&w), sizeof *pairs, err);
 *     for (size_t row = 0; row < w.in; row += 2)
 *         pairs_fill_rows(pairs, &w, row, rows[row], rows[row + 1]);
 *     w.pairs = pairs;
 *     if (machine_hold_pairs(machine, pairs_of_input(rows, w.in), err)) ...
 *     linear(machine, y, x, &w, ACTIVATION_NONE);
 */
#ifndef ATTN_MATH_GEMM_BF16_H
#define ATTN_MATH_GEMM_BF16_H

#include <stddef.h>
#include <stdint.h>

#include "math/epilogue.h"
#include "math/machine.h"
#include "math/tensor.h"
#include "math/weight.h"

enum { PAIR_COLUMNS = 64 }; /* of a panel */

/* What the panels of a matrix take: [in / 2][PAIR_COLUMNS] pairs each, filled up with zeros. */
size_t pairs_size(const struct weight *w);

/* Write rows `row` and `row` + 1 [out] of the matrix into panels that are all zeros; the second one
 * is NULL where there is none. */
void pairs_fill_rows(uint32_t *pairs, const struct weight *w, size_t row, const float *first,
                     const float *second);

/* The same for a column, rounded to pairs already. */
void pairs_fill_column(uint32_t *pairs, const struct weight *w, size_t column,
                       const uint32_t *rounded);

/* What the machine must hold for products of x [rows, columns]. */
size_t pairs_of_input(size_t rows, size_t columns);

/* What linear() and linear_add() do with a weight that has pairs. */
void multiply_bf16(struct machine *machine, struct matrix x, const struct weight *w,
                   const struct epilogue *epilogue);

#endif
