/* running_sum.h: what linear attention keeps of the keys it has seen: Σ φ(k) vᵀ and Σ φ(k), with
 * φ(x) = elu(x) + 1, each one chain in the order of the keys: a sum can be gone on with.
 *
 *     struct running_sum sum = {.values = room, .dk = 64, .dv = 64};      (zeroed room)
 *     running_sum_scan(&sum, context, totals, phi_q, phi_k, v);         (context / totals)
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

/* Take in keys [T, dk], as φ(k), and their values [T, dv]. */
void running_sum_add(const struct running_sum *sum, struct matrix phi_k, struct matrix v);

/* y [T, dv] = φ(q) · Σ φ(k) vᵀ, and totals [T] = φ(q) · Σ φ(k), which it is to be divided by. */
void running_sum_query(const struct running_sum *sum, struct matrix y, float *totals,
                       struct matrix phi_q);

/* The two in turn: each key is taken in, then its own query comes. */
void running_sum_scan(const struct running_sum *sum, struct matrix y, float *totals,
                      struct matrix phi_q, struct matrix phi_k, struct matrix v);

#endif
