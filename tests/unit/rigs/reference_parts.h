/* reference_parts.h: what the plain forward pass of reference_model.h is made of: products, norms,
 * attention, each as its formula has it. What is returned lives as long as the reference.
 */
#ifndef ATTN_TESTS_REFERENCE_PARTS_H
#define ATTN_TESTS_REFERENCE_PARTS_H

#include "reference_model.h"

/* Zeros; and a copy of what a site of a layer holds, to be judged by. */
double *reference_taken(struct reference *r, size_t count);
void reference_keep(struct reference *r, enum site site, size_t layer, const double *values,
                    size_t count);

/* A tensor of a layer, whose prefix is "h" or "enc"; one outside the layers. */
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

/* A projection that is a tensor of its own: "attn.q_proj", "mlp.c_fc". */
double *reference_projected(struct reference *r, const char *prefix, size_t layer, const char *name,
                            bool bias, const double *x, size_t rows);

double *reference_norm(struct reference *r, const double *x, size_t rows, const float *scale,
                       const float *shift);

/* q [T, H·dk], k [S, Hkv·dk], v [S, Hkv·dv]; returns the heads side by side, [T, H·dv]. */
struct inputs {
    const double *q, *k, *v;
    size_t queries, keys;
    bool causal;
    enum site_part part;
};

double *reference_attend_heads(struct reference *r, size_t layer, struct inputs in);

#endif
