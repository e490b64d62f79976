/* weight.h: a matrix of a model that activations are multiplied with. */
#ifndef ATTN_MATH_WEIGHT_H
#define ATTN_MATH_WEIGHT_H

#include <stddef.h>

/* A borrowed weight matrix [in, out], its bias [out] or NULL. Columns of a wider matrix are a
 * weight of their own with that matrix's stride. */
struct weight {
    const float *data;
    const float *bias;
    size_t in, out;
    size_t stride;
    const float *panels; /* the same matrix as panels_fill wrote it; NULL: not packed */
};

/* Some columns; where they do not begin with a panel they are taken from where they lie. */
struct weight weight_columns(const struct weight *whole, size_t first, size_t count);

#endif
