/* reference_attention.h: one row of attention by its definition, in double, for every mechanism: a
 * sum over all keys with a test of each.
 *
 *     struct reference_row row = {config, layer, query, keys, causal, false, q, k, scores,
 *                                 softmax, masked, weights, head};
 *     reference_attend(&row);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "model/config.h"

struct reference_row {
    const struct config *config;
    size_t layer;
    size_t query, keys; /* the row, and its number of keys */
    bool causal;
    bool across;                                 /* cross-attention: no pattern */
    const double *q;                             /* [dk] */
    const double *k;                             /* [keys, dk] */
    double *scores, *softmax, *masked, *weights; /* [keys], results; softmax may be NULL */
    size_t head;
};

/* Without dropout, which is random. */
void reference_attend(const struct reference_row *row);
