/* attention_bf16.h: the two products of a strip, made of numbers rounded to bf16.
 *
 * Keys and values of a head are rounded to pages of pairs (head_pairs.h) before its first strip, or
 * were when they went into a cache; so are its queries, and the weights of a strip when they are
 * multiplied. Softmax, sums, and all that is announced, are float32.
 *
 * Used by attention_strip.h alone, where pass_attention_precision says so.
 */
#ifndef ATTN_MODEL_ATTENTION_BF16_H
#define ATTN_MODEL_ATTENTION_BF16_H

#include "model/attention_strip.h"

/* Say what a thread needs in bf16; it transposes one panel of keys at a time, and its context is as
 * wide as whole panels. False: more than can be counted. */
bool attention_bf16_measure(struct attention_size *size, const struct attention_demand *demand);

/* Change the shape of a float32 kernel to that of the same in pairs. */
void attention_bf16_score_shape(struct kernel_shape *shape, const struct layer_job *layer);
void attention_bf16_context_shape(struct kernel_shape *shape, const struct layer_job *layer);

/* Round the queries of a head, and its keys and values, unless they are in a cache. */
void attention_bf16_begin(const struct head_job *head);

/* strip_scores and strip_context, for a part of a stretch that lies in one panel. */
void attention_bf16_scores(const struct head_job *head, const struct strip *strip,
                           const struct kernel *kernel, size_t key, float *to);
void attention_bf16_context(const struct head_job *head, const struct kernel *kernel, size_t key,
                            const uint32_t *weights, float *to);

/* A strip's weights for a stretch of keys, rounded: what attention_bf16_context takes. */
const uint32_t *attention_bf16_weights(const struct head_job *head, const struct strip *strip,
                                       const float *weights, size_t keys);

#endif
