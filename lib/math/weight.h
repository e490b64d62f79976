/* weight.h: a matrix of a model that activations are multiplied with. */
#ifndef ATTN_MATH_WEIGHT_H
#define ATTN_MATH_WEIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A borrowed weight matrix [in, out], its bias [out] or NULL. Columns of a wider matrix are a
 * weight of their own with that matrix's stride. */
struct weight {
    const float *data;
    const float *bias;
    size_t in, out;
    size_t stride;
    const float *panels;   /* the same matrix as panels_fill wrote it; NULL: not packed; it may be
                              all that there is (panels_fill_transposed) */
    const uint32_t *pairs; /* the same rounded to bf16 (gemm_bf16.h): nothing else is read then */
};

/* Does the model have it? */
static inline bool weight_exists(const struct weight *w)
{
    return w->data || w->panels || w->pairs;
}

/* Some columns; where they do not begin with a panel they are taken from where they lie. What is
 * rounded to bf16 lies nowhere else: there they must begin with one (weight_can_slice). */
struct weight weight_columns(const struct weight *whole, size_t first, size_t count);

/* Can columns from `first` on be taken? */
bool weight_can_slice(const struct weight *whole, size_t first);

#endif
