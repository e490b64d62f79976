/* gemm.h: y = x · W + b, the one product everything else is made of.
 *
 * Row-major and without transposes: X [T, in] times W [in, out] gives Y [T, out]. W is worked
 * through in panels of output columns, each a chain of kernel calls (kernel.h) with the bias and
 * the activation while the result is in cache. Where the panels come from depends on how much work
 * there is: see `choose_plan` in gemm.c. Whatever it chooses, the bits are the same.
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

#endif
