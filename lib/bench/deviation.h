/* deviation.h: how far a pass in bf16 is from the same in float32.
 *
 *     struct deviation deviation;
 *     if (deviation_measure(&deviation, &subject, err)) ...
 */
#ifndef ATTN_BENCH_DEVIATION_H
#define ATTN_BENCH_DEVIATION_H

#include <stddef.h>

#include "base/err.h"
#include "bench/task.h"

enum { DEVIATION_TOKENS = 256 }; /* of the text, or as many as the model takes */

/* The largest differences over all layers, heads and tokens. */
struct deviation {
    size_t tokens;
    double weights;       /* of attention, from 0 to 1 */
    double logits;        /* 0 where the model has none */
    double largest_logit; /* what they are to be held against */
};

/* Run a text with both precisions, the first pass kept whole. */
int deviation_measure(struct deviation *deviation, struct bench_subject *subject, struct err *err);

#endif
