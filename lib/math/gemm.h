/* gemm.h: y = factor · x · W + b, the product in which a pass spends most of its time.
 *
 * Each element is a sum of segments, added in order; a segment is one chain of at most SUM_SEGMENT
 * fused multiply-adds in the order of k. (One chain of thousands would lose digits if large numbers
 * cancel; for training, machine.whole_sums makes kernels use one chain.) If W is rounded to bf16,
 * so is x, into memory of the machine: to pairs, which kernels multiply in their own order
 * (kernel.h), or to floats.
 *
 *     struct weight w = {.data = data, .bias = bias, .in = 768, .out = 3072, .stride = 3072};
 *     linear(machine, hidden, normed, &w, ACTIVATION_GELU_NEW);
 */
#pragma once

#include "math/activation.h"
#include "math/weight.h"

struct machine;

/* y [T, out] = activation(factor · x [T, in] · w + bias), with the factor and bias of w. y and x
 * must not overlap. */
void linear(struct machine *machine, struct matrix y, struct matrix x, const struct weight *w,
            enum activation activation);

/* y [T, out] = factor · x [T, in] · w + bias, with the factor and bias of w, and total [T, out] +=
 * y. If y.data is NULL, only the total is computed. */
void linear_add(struct machine *machine, struct matrix total, struct matrix y, struct matrix x,
                const struct weight *w);
