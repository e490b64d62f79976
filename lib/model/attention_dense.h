/* attention_dense.h: every query against every key that it may see, strip by strip.
 *
 * A strip is 64 queries of one head against all keys they may see: small enough to stay in cache,
 * large enough for the kernels. Keys are turned into panels of 64 once a head, or are in a cache as
 * such; the strip of scores is scaled, masked, turned into weights where it lies, and multiplied
 * with the values. What is watched is copied out of the strip on the way; nothing else of the
 * [T, S] square is ever stored.
 */
#ifndef ATTN_MODEL_ATTENTION_DENSE_H
#define ATTN_MODEL_ATTENTION_DENSE_H

#include "model/attention_job.h"

/* Every thread's working memory, for the longest sequence of the batch; one layer uses it after the
 * other. */
int attention_dense_take(struct pass *pass);

/* The bytes of it that a thread takes for a text of so many queries and keys. */
size_t attention_dense_bytes(const struct config *config, size_t queries, size_t keys);

/* Fetch the kernels of a layer. */
void attention_dense_prepare(struct layer_job *layer);

/* One head of one sequence, all its strips. False: a score is no number. */
bool attention_dense_head(const struct head_job *head);

#endif
