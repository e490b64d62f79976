/* running_sum.h: what linear attention keeps of the keys it has seen: Σ φ(k) vᵀ and Σ φ(k), with
 * φ(x) = elu(x) + 1, each added in the order of the keys.
 *
 *     struct running_sum sum = {.values = zeroed, .dk = 64, .dv = 64};
 *     running_sum_add(&sum, phi_k, v);
 *     float total = running_sum_query(&sum, context, phi_q);        (context / total)
 */
#ifndef ATTN_MATH_RUNNING_SUM_H
#define ATTN_MATH_RUNNING_SUM_H

#include "math/tensor.h"

struct running_sum {
    float *values; /* [dk, dv] Σ φ(k) vᵀ, then [dk] Σ φ(k) */
    size_t dk, dv;
};

/* The floats of `values`. */
size_t running_sum_size(size_t dk, size_t dv);

/* y = φ(x): x + 1 above 0, else e^x. */
void phi_rows(struct matrix y, struct matrix x);

/* y [columns] = x [rows] · matrix, a chain for each. */
void row_times_matrix(float *restrict y, const float *restrict x, struct matrix matrix);

/* Add a key, as φ(k) [dk], and its value [dv]. */
void running_sum_add(const struct running_sum *sum, const float *phi_k, const float *v);

/* y [dv] = φ(q) · Σ φ(k) vᵀ; returns φ(q) · Σ φ(k), which y is to be divided by. */
float running_sum_query(const struct running_sum *sum, float *y, const float *phi_q);

#endif
