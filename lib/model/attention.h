/* attention.h: softmax(q · kᵀ · scale) · v, head by head; attention_dense.c says how. */
#ifndef ATTN_MODEL_ATTENTION_H
#define ATTN_MODEL_ATTENTION_H

#include "model/pass.h"

/* Put the layer's keys and values of sequences with a cache after what is in it. */
void attention_store(struct pass *pass, size_t layer);

/* context [T, H·dv] from q, k and v in the pass's scratch (context is left out when nothing after
 * the weights is watched). Announces scores, masked, weights and context. */
enum pass_state attention(struct pass *pass, size_t layer);

/* What each thread works in, for a text of so many queries and keys. */
size_t attention_bytes(const struct config *config, size_t queries, size_t keys);

/* What all threads work in together, random keys of sparse attention included. */
size_t attention_whole_bytes(const struct config *config, size_t queries, size_t keys,
                             size_t threads);

#endif
