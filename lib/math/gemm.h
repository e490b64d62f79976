/* gemm.h: y = x · W + b, the one product everything else is made of; and its weights.
 *
 * Row-major, X [T, in] times W [in, out] in panels of output columns (plan.h).
 * Whatever the plan, an element is the sum of segments of SUM_SEGMENT products, added in order, and
 * a segment one chain of fused multiply-adds in the order of k: a chain of thousands loses digits
 * where large numbers cancel. Where W is rounded to bf16, so is x, into memory that the machine
 * holds: as pairs, which kernels multiply in their own order (kernel.h), or as floats.
 *
 *     struct weight w = {.data = data, .bias = bias, .in = 768, .out = 3072, .stride = 3072};
 *     linear(machine, hidden, normed, &w, ACTIVATION_GELU_NEW);
 */
#ifndef ATTN_MATH_GEMM_H
#define ATTN_MATH_GEMM_H

#include "math/activation.h"
#include "math/weight.h"

struct machine;

/* y [T, out] = activation(x [T, in] · w + bias). y and x must not overlap. */
void linear(struct machine *machine, struct matrix y, struct matrix x, const struct weight *w,
            enum activation activation);

/* The same without an activation, and total [T, out] += x · w + bias. y without data: the total is
 * all that is wanted. */
void linear_add(struct machine *machine, struct matrix total, struct matrix y, struct matrix x,
                const struct weight *w);

#endif
