/* gemm.h: y = x · W + b, the one product everything else is made of.
 *
 * Row-major and without transposes: X [T, in] times W [in, out] gives Y [T, out]. The work is cut
 * into panels of output columns and tiles of rows; each is one chain of kernel calls (kernel.h)
 * and, while it is in cache, the bias and the activation.
 *
 *     struct weight w = {.data = data, .bias = bias, .in = 768, .out = 3072, .stride = 3072};
 *     linear(machine, hidden, normed, &w, ACTIVATION_GELU_NEW);
 */
#ifndef ATTN_MATH_GEMM_H
#define ATTN_MATH_GEMM_H

#include <stddef.h>

#include "math/activation.h"
#include "math/machine.h"
#include "math/tensor.h"

/* A borrowed weight matrix [in, out], its bias [out] or NULL. Columns of a wider matrix are a
 * weight of their own with that matrix's stride. */
struct weight {
    const float *data;
    const float *bias;
    size_t in, out;
    size_t stride;
};

/* y [T, out] = activation(x [T, in] · w + bias). y and x must not overlap. */
void linear(struct machine *machine, struct matrix y, struct matrix x, const struct weight *w,
            enum activation activation);

#endif
