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
    const float *panels; /* the same matrix as panels_fill wrote it; NULL: not packed */
};

/* y [T, out] = activation(x [T, in] · w + bias). y and x must not overlap. */
void linear(struct machine *machine, struct matrix y, struct matrix x, const struct weight *w,
            enum activation activation);

/* The floats that the panels of a matrix take; and write them: panel after panel of PANEL_COLUMNS
 * columns, [in][PANEL_COLUMNS] each, the last one filled up with zeros. It pays where one model
 * serves a lot of work. */
size_t panels_size(const struct weight *w);
void panels_fill(float *panels, const struct weight *w);

#endif
