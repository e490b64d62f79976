/* logprob.h: how likely the model holds each next token: log softmax of its logits, before any
 * temperature. In double, without libm: the same numbers on every machine.
 *
 *     double total = logprob_total(logits, V);
 *     float logprob = (float)(logits[id] - total);
 */
#ifndef ATTN_MODEL_LOGPROB_H
#define ATTN_MODEL_LOGPROB_H

#include <stddef.h>
#include <stdint.h>

/* log Σ e^logit. */
double logprob_total(const float *logits, size_t count);

/* The ids of the `best_count` largest logits, the largest first, of equals the lower id. There must
 * be as many. */
void logprob_best(uint32_t *best, size_t best_count, const float *logits, size_t count);

#endif
