/* attention_dense.h: every query against every key that the mask allows, strip by strip.
 *
 * A strip is 64 queries of one head against all keys they may see: small enough to stay in cache,
 * large enough for the kernels. The strip of scores is scaled, masked, turned into weights where it
 * lies, and multiplied with the values. What is watched is copied out of the strip on the way;
 * nothing else of the [T, S] square is ever stored.
 */
#ifndef ATTN_MODEL_ATTENTION_DENSE_H
#define ATTN_MODEL_ATTENTION_DENSE_H

#include "model/attention_job.h"

extern const struct attention_way attention_dense;

#endif
