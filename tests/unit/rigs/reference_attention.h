/* reference_attention.h: one row of attention as its definition has it, in double, whatever the
 * mechanism: a sum over all keys with a question for each.
 *
 *     struct reference_row row = {config, layer, query, keys, causal, false, q, k, scores,
 *                                 softmax, masked, weights, head};
 *     reference_attend(&row);
 */
#ifndef ATTN_TESTS_REFERENCE_ATTENTION_H
#define ATTN_TESTS_REFERENCE_ATTENTION_H

#include <stdbool.h>
#include <stddef.h>

#include "model/config.h"

struct reference_row {
    const struct config *config;
    size_t layer;
    size_t query, keys; /* which row of a square, and how wide it is */
    bool causal;
    bool across;                                 /* to the source of an encoder: no pattern */
    const double *q;                             /* [dk] */
    const double *k;                             /* [keys, dk] */
    double *scores, *softmax, *masked, *weights; /* [keys] filled in; softmax only where it is */
    size_t head;
};

/* No dropout: that is drawn. */
void reference_attend(const struct reference_row *row);

#endif
