/* reference_parts.h: products, norms and attention of reference_model.h, each by its formula.
 * Results live as long as the reference. */
#pragma once

#include "reference_model.h"

/* Allocate zeros; store a copy of the values of a site. */
double *reference_taken(struct reference *r, size_t count);
void reference_keep(struct reference *r, enum site site, size_t layer, const double *values,
                    size_t count);

/* A tensor of a layer with the prefix "h" or "enc"; a tensor outside of layers. */
const float *reference_of_layer(struct reference *r, const char *prefix, size_t layer,
                                const char *name);
const float *reference_of_model(struct reference *r, const char *name);

/* y [rows, out] = x [rows, in] · w [in, out …] + bias, of columns first … first + out - 1 of w. */
struct columns {
    const float *w, *bias;
    size_t stride, first, in, out;
};

double *reference_product(struct reference *r, const double *x, size_t rows, struct columns c);

struct columns reference_whole(const float *w, const float *bias, size_t in, size_t out);

/* A projection with its own tensor: "attn.q_proj", "mlp.c_fc". */
double *reference_projected(struct reference *r, const char *prefix, size_t layer, const char *name,
                            bool bias, const double *x, size_t rows);

double *reference_norm(struct reference *r, const double *x, size_t rows, const float *scale,
                       const float *shift);

/* q [T, H·dk], k [S, Hkv·dk], v [S, Hkv·dv]; returns the concatenated heads, [T, H·dv]. */
struct inputs {
    const double *q, *k, *v;
    size_t queries, keys;
    bool causal;
    enum site_branch branch;
};

double *reference_attend_heads(struct reference *r, size_t layer, struct inputs in);
