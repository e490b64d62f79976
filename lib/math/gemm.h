/* gemm.h: y = x · W + b, the one product everything else is made of.
 *
 * Row-major and without transposes: X [T, in] times W [in, out] gives Y [T, out], in panels of
 * output columns (`choose_plan` in gemm.c). Whatever the plan, every element is one chain of fused
 * multiply-adds in the order of k; of a weight rounded to bf16, over pairs (kernel.h): x is rounded
 * for every product, into memory that the machine holds.
 *
 *     struct weight w = {.data = data, .bias = bias, .in = 768, .out = 3072, .stride = 3072};
 *     linear(machine, hidden, normed, &w, ACTIVATION_GELU_NEW);
 */
#ifndef ATTN_MATH_GEMM_H
#define ATTN_MATH_GEMM_H

#include "math/activation.h"
#include "math/machine.h"
#include "math/tensor.h"
#include "math/weight.h"

/* y [T, out] = activation(x [T, in] · w + bias). y and x must not overlap. */
void linear(struct machine *machine, struct matrix y, struct matrix x, const struct weight *w,
            enum activation activation);

/* The same without an activation, and total [T, out] += x · w + bias. y without data: the total is
 * all that is wanted. */
void linear_add(struct machine *machine, struct matrix total, struct matrix y, struct matrix x,
                const struct weight *w);

/* The pairs that the machine must hold for products of x [rows, columns] with a rounded weight. */
size_t pairs_of_input(size_t rows, size_t columns);

/* y[i] = row i of `rows` · x: the logits of one token. The matrix [V, C] stays as it is in the file
 * and is read once, in order; the bits are those of `linear`. */
void gemv(struct machine *machine, float *y, struct matrix rows, const float *x);

#endif
