/* attention.h: softmax(q · kᵀ · scale) · v, head by head, strip by strip.
 *
 * A strip is 64 queries of one head against all keys they may see: small enough to stay in cache,
 * large enough for the kernels. Keys are turned into panels of 64 once a head, or are in a cache as
 * such; the strip of scores is scaled, masked, turned into weights where it lies, and multiplied
 * with the values. What is watched is copied out of the strip on the way; nothing else of the
 * [T, S] square is ever stored.
 */
#ifndef ATTN_MODEL_ATTENTION_H
#define ATTN_MODEL_ATTENTION_H

#include "model/pass.h"

/* Put the layer's keys and values of sequences with a cache behind what is in it. */
void attention_store(struct pass *pass, size_t layer);

/* context [T, H·dv] from q, k and v in the pass's scratch (context is left out when nothing after
 * the weights is watched). Announces scores, masked, weights and context; true: the pass is over.
 */
bool attention(struct pass *pass, size_t layer);

#endif
