/* features.h: the features of a config that need code of their own.
 *
 * A wing, such as explain or train, declares the features that it supports. A model that has
 * another one is refused by its name, not shown wrongly:
 *
 *     const uint64_t train_features = HAS(RMS) | HAS(GATED) | ...;
 *     if (features_expect(train_features, config, "to train", err))
 *         return -1;
 */
#ifndef ATTN_MODEL_FEATURES_H
#define ATTN_MODEL_FEATURES_H

#include <stdint.h>

#include "base/err.h"
#include "model/config.h"

/* clang-format off */
/* All fields of struct config in its order, and the features that a config c has by them, under a
 * condition, in words. NONE: each value means the same to all code, or is no matter of a wing. */
#define CONFIG_FEATURES(FIELD, ARRAY, FEATURE) \
    FIELD(kind, FEATURE(ATTENTION_ALONE, c->kind == MODEL_ATTENTION, "attention layers alone") \
          FEATURE(OTHER, config_has_other(c), "another kind of attention, norm or rotation")) \
    FIELD(vocab_size, NONE) FIELD(n_positions, NONE) FIELD(n_embd, NONE) FIELD(n_layer, NONE) \
    FIELD(n_encoder_layer, FEATURE(ENCODER, c->n_encoder_layer > 0, "an encoder")) \
    FIELD(n_head, NONE) \
    FIELD(n_kv_head, FEATURE(SHARED_KEYS, c->n_kv_head != c->n_head, "keys that heads share")) \
    FIELD(d_k, NONE) \
    FIELD(d_v, FEATURE(VALUE_SIZE, c->d_v != c->d_k, "values of another size than keys")) \
    FIELD(d_out, NONE) FIELD(n_inner, NONE) FIELD(activation, NONE) \
    FIELD(embedding_scale, FEATURE(EMBEDDING_SCALE, c->embedding_scale != 1, "scaled embeddings")) \
    FIELD(sinusoids, FEATURE(SINUSOIDS, c->sinusoids, "sinusoidal positions")) \
    FIELD(epsilon, NONE) \
    FIELD(style, FEATURE(NORMS_LAST, style_norms_sums(c->style), "norms after sublayers") \
          FEATURE(STREAM_NORMED, c->style == STYLE_POST_STREAM, "a normed stream") \
          FEATURE(NORM_OUT, style_norms_outputs(c->style), \
                  "norms of sublayer outputs") \
          FEATURE(NO_NORM_IN, c->style == STYLE_AFTER, \
                  "sublayers that read the stream without a norm") \
          FEATURE(PARALLEL, style_is_parallel(c->style), "attention and MLP in parallel") \
          FEATURE(SHARED_NORM, c->style == STYLE_ONE_NORM, "a norm that sublayers share") \
          FEATURE(RESIDUAL_NORMED, c->style == STYLE_TO_NORMED, "sums with the normed stream")) \
    FIELD(final_norm, FEATURE(NO_FINAL_NORM, !c->final_norm, "a last stream without a norm")) \
    FIELD(scale, NONE) \
    FIELD(scale_by_layer, \
          FEATURE(LAYER_SCALE, c->scale_by_layer, "scores divided by the layer's number")) \
    FIELD(tied, NONE) FIELD(lacks_head, NONE) \
    FIELD(causal, FEATURE(BIDIRECTIONAL, !c->causal, "attention to later tokens")) \
    FIELD(cross, FEATURE(CROSS, c->cross, "attention to a second text")) \
    FIELD(projections, FEATURE(NO_PROJECTIONS, !c->projections, "queries that are the input")) \
    FIELD(out_proj, FEATURE(NO_OUT_PROJ, !c->out_proj, "heads without an output projection")) \
    FIELD(biases, FEATURE(LOGIT_BIAS, c->biases & BIAS_LOGITS, "a bias of the logits")) \
    FIELD(family, NONE) \
    FIELD(n_word, FEATURE(WORD_PROJECTION, c->n_word > 0, "a projection of embeddings")) \
    FIELD(position_offset, \
          FEATURE(POSITION_OFFSET, c->position_offset > 0, "positions that begin later")) \
    FIELD(embedding_norm, FEATURE(EMBEDDING_NORM, c->embedding_norm, "a norm of embeddings")) \
    FIELD(rms, FEATURE(RMS, c->rms, "RMS norms")) \
    FIELD(norm_offset, FEATURE(NORM_OFFSET, c->norm_offset, "scales of norms that are 1 + w")) \
    FIELD(norm_shift, FEATURE(NO_SHIFT, c->style != STYLE_BARE && !c->rms && !c->norm_shift, \
                              "layer norms without a shift")) \
    FIELD(gated, FEATURE(GATED, c->gated, "gated MLPs")) \
    FIELD(head_norm, FEATURE(HEAD_NORM, c->head_norm, "norms of queries and keys") \
          FEATURE(HEAD_NORM_WHOLE, c->head_norm == HEAD_NORM_WHOLE, "norms of all heads together") \
          FEATURE(HEAD_NORM_MEAN, c->head_norm && !c->rms, "layer norms of queries and keys")) \
    FIELD(alibi, FEATURE(ALIBI, c->alibi, "ALiBi") \
          FEATURE(ALIBI_SCALED, c->alibi == ALIBI_FALCON, "scaled ALiBi")) \
    FIELD(rotary, FEATURE(ROTARY, config_rotates(c), "rotary embeddings") \
          FEATURE(ROTARY_PART, config_rotates(c) && c->rotary.components < c->d_k, \
                  "channels without rotary embeddings") \
          FEATURE(ROTARY_PAIRS, c->rotary.neighbours, "rotary embeddings of neighbours") \
          FEATURE(ROTARY_LINEAR, c->rotary.scaling == ROTARY_LINEAR, "linear rotary scaling") \
          FEATURE(ROTARY_DYNAMIC, c->rotary.scaling == ROTARY_DYNAMIC, "dynamic rotary scaling") \
          FEATURE(ROTARY_LLAMA3, c->rotary.scaling == ROTARY_LLAMA3, "llama3 rotary scaling") \
          FEATURE(ROTARY_YARN, c->rotary.scaling == ROTARY_YARN, "yarn rotary scaling") \
          FEATURE(ROTARY_LONGROPE, c->rotary.scaling == ROTARY_LONGROPE, "longrope scaling")) \
    FIELD(rotary_local, \
          FEATURE(ROTARY_LOCAL, c->rotary_local.components, "two kinds of rotary embeddings")) \
    FIELD(window, FEATURE(WINDOW, c->window > 0, "sliding windows")) \
    FIELD(score_cap, FEATURE(SCORE_CAP, c->score_cap > 0, "soft caps of scores")) \
    FIELD(logit_cap, FEATURE(LOGIT_CAP, c->logit_cap > 0, "soft caps of logits")) \
    FIELD(residual_scale, \
          FEATURE(RESIDUAL_SCALE, c->residual_scale != 0, "scaled sublayer outputs")) \
    FIELD(logit_divisor, FEATURE(LOGIT_DIVISOR, c->logit_divisor > 0, "divided logits")) \
    ARRAY(layer_flags, FEATURE(UNROTATED, config_flags(c) & LAYER_UNROTATED, \
                               "layers without rotary embeddings")) \
    FIELD(bos_id, NONE) FIELD(eos_id, NONE) ARRAY(more_ends, NONE) FIELD(more_end_count, NONE) \
    FIELD(initializer_range, NONE) ARRAY(unread, NONE) FIELD(mechanism, NONE)
/* clang-format on */

#define NONE
#define FEATURES_OF(field, features) features
#define FEATURE_ID(id, condition, words) FEATURE_##id,

enum feature { CONFIG_FEATURES(FEATURES_OF, FEATURES_OF, FEATURE_ID) FEATURE_COUNT };

#define HAS(id) (UINT64_C(1) << FEATURE_##id)

/* Features of the decoders in tests/golden-families, for wings that support all of them. */
#define HAS_OF_DECODERS                                                                          \
    (HAS(SHARED_KEYS) | HAS(EMBEDDING_SCALE) | HAS(NORMS_LAST) | HAS(NO_FINAL_NORM) |            \
     HAS(LAYER_SCALE) | HAS(LOGIT_BIAS) | HAS(WORD_PROJECTION) | HAS(POSITION_OFFSET) |          \
     HAS(EMBEDDING_NORM) | HAS(RMS) | HAS(NORM_OFFSET) | HAS(NORM_OUT) | HAS(NO_NORM_IN) |       \
     HAS(PARALLEL) | HAS(SHARED_NORM) | HAS(RESIDUAL_NORMED) | HAS(STREAM_NORMED) | HAS(GATED) | \
     HAS(HEAD_NORM) | HAS(HEAD_NORM_WHOLE) | HAS(ALIBI) | HAS(ALIBI_SCALED) | HAS(ROTARY) |      \
     HAS(ROTARY_PART) | HAS(ROTARY_PAIRS) | HAS(ROTARY_LINEAR) | HAS(ROTARY_DYNAMIC) |           \
     HAS(ROTARY_LLAMA3) | HAS(ROTARY_YARN) | HAS(ROTARY_LONGROPE) | HAS(ROTARY_LOCAL) |          \
     HAS(WINDOW) | HAS(SCORE_CAP) | HAS(LOGIT_CAP) | HAS(RESIDUAL_SCALE) | HAS(LOGIT_DIVISOR) |  \
     HAS(UNROTATED))

/* The features of a config, a bit HAS(...) for each. */
uint64_t config_features(const struct config *config);

/* Refuse, as not supported, a config with another feature: 'expected a model to train without
 * ALiBi, found one of type "bloom"'. `purpose` is "to train". */
int features_expect(uint64_t supported, const struct config *config, const char *purpose,
                    struct err *err);

#endif
