/* features.h: the features of a config, and of the description that layer.h makes of it, that need
 * code of their own.
 *
 * A part of the program, such as explain or train, declares the features that it supports. A model
 * that has another one is refused by its name, not shown wrongly:
 *
 *     const uint64_t train_features = HAS(RMS) | HAS(GATED) | ...;
 *     if (features_expect(train_features, config, "to train", err))
 *         return -1;
 */
#ifndef ATTN_MODEL_FEATURES_H
#define ATTN_MODEL_FEATURES_H

#include <stdint.h>

#include "base/err.h"
#include "model/layer.h"

/* clang-format off */
/* All fields of struct config and of the rules that layer.h makes of it, in their order, and the
 * features that a config has by them, under a condition, in words. c: the config; e, u: the ends of
 * the text's stack; s: a sublayer of any layer. NONE: each value means the same to all code, or is
 * of no matter to such code, or belongs to another row. */
#define CONFIG_FEATURES(FIELD, ARRAY, FEATURE) \
    FIELD(kind, FEATURE(ATTENTION_ALONE, c->kind == MODEL_ATTENTION, "attention layers alone") \
          FEATURE(OTHER, config_has_other(c), "another kind of attention, norm or rotation")) \
    FIELD(vocab_size, NONE) FIELD(n_positions, NONE) FIELD(n_embd, NONE) FIELD(n_layer, NONE) \
    FIELD(n_encoder_layer, FEATURE(ENCODER, c->n_encoder_layer > 0, "an encoder")) \
    FIELD(n_head, NONE) FIELD(n_kv_head, NONE) FIELD(d_k, NONE) FIELD(d_v, NONE) \
    FIELD(d_out, NONE) FIELD(n_inner, NONE) FIELD(activation, NONE) FIELD(embedding_scale, NONE) \
    FIELD(sinusoids, NONE) FIELD(epsilon, NONE) FIELD(style, NONE) FIELD(final_norm, NONE) \
    FIELD(scale, NONE) \
    FIELD(scale_by_layer, \
          FEATURE(LAYER_SCALE, c->scale_by_layer, "scores divided by the layer's number")) \
    FIELD(tied, NONE) FIELD(lacks_head, NONE) \
    FIELD(causal, FEATURE(BIDIRECTIONAL, !c->causal, "attention to later tokens")) \
    FIELD(cross, NONE) FIELD(projections, NONE) FIELD(out_proj, NONE) FIELD(biases, NONE) \
    FIELD(family, NONE) FIELD(n_word, NONE) FIELD(position_offset, NONE) \
    FIELD(embedding_norm, NONE) \
    FIELD(rms, FEATURE(RMS, c->rms, "RMS norms")) \
    FIELD(norm_offset, FEATURE(NORM_OFFSET, c->norm_offset, "scales of norms that are 1 + w")) \
    FIELD(norm_shift, FEATURE(NO_SHIFT, c->style != STYLE_BARE && !c->rms && !c->norm_shift, \
                              "layer norms without a shift")) \
    FIELD(gated, NONE) FIELD(head_norm, NONE) FIELD(score_bias, NONE) FIELD(rotary, NONE) \
    FIELD(rotary_local, NONE) FIELD(window, NONE) FIELD(score_cap, NONE) FIELD(logit_cap, NONE) \
    FIELD(residual_scale, NONE) FIELD(logit_divisor, NONE) ARRAY(layer_flags, NONE) \
    FIELD(bos_id, NONE) FIELD(eos_id, NONE) ARRAY(more_ends, NONE) FIELD(more_end_count, NONE) \
    FIELD(initializer_range, NONE) ARRAY(unread, NONE) FIELD(mechanism, NONE)

#define SUBLAYER_FEATURES(FIELD, ARRAY, FEATURE) \
    FIELD(kind, FEATURE(CROSS, s->kind == SUBLAYER_ATTEND_SOURCE, "attention to a second text") \
          FEATURE(OTHER_RULE, sublayer_has_other(s), "another kind of sublayer")) \
    FIELD(part, NONE) \
    FIELD(reads, FEATURE(PARALLEL, s->reads != READS_STREAM, "attention and MLP in parallel") \
          FEATURE(SHARED_NORM, s->reads == READS_LAST_INPUT, "a norm that sublayers share")) \
    FIELD(norm, NONE) FIELD(norm_before, NONE) \
    FIELD(norm_out, FEATURE(NORM_OUT, s->norm_out, "norms of sublayer outputs") \
          FEATURE(NO_NORM_IN, s->norm_out && !s->norm_before, \
                  "sublayers that read the stream without a norm")) \
    FIELD(norm_after, FEATURE(NORMS_LAST, s->norm_after, "norms after sublayers") \
          FEATURE(STREAM_NORMED, s->norm_after && !s->at_sum[0], "a normed stream")) \
    FIELD(adds_to_normed, \
          FEATURE(RESIDUAL_NORMED, s->adds_to_normed, "sums with the normed stream")) \
    FIELD(replaces, NONE) /* of attention alone, or of --without */ \
    FIELD(factor, FEATURE(RESIDUAL_SCALE, s->factor != 1, "scaled sublayer outputs")) \
    FIELD(at_input, NONE) FIELD(at_out, NONE) FIELD(at_out_norm, NONE) ARRAY(at_sum, NONE) \
    ARRAY(at_after, NONE) FIELD(head, NONE) FIELD(score, NONE) FIELD(mlp, NONE)

#define EMBED_FEATURES(FIELD, ARRAY, FEATURE) \
    FIELD(width, NONE) FIELD(rows, NONE) \
    FIELD(scale, FEATURE(EMBEDDING_SCALE, e->scale != 1, "scaled embeddings")) \
    FIELD(positions, \
          FEATURE(SINUSOIDS, e->positions == POSITIONS_SINES, "sinusoidal positions") \
          FEATURE(OTHER_POSITIONS, e->positions > POSITIONS_SINES || e->counted, \
                  "another kind of positions")) \
    FIELD(first, FEATURE(POSITION_OFFSET, e->first > 0, "positions that begin later")) \
    FIELD(counted, NONE) FIELD(segments, FEATURE(SEGMENTS, e->segments, "segments")) \
    FIELD(norm, FEATURE(EMBEDDING_NORM, e->norm, "a norm of embeddings")) \
    FIELD(project, \
          FEATURE(WORD_PROJECTION, e->project != PROJECT_NEVER, "a projection of embeddings"))

#define UNEMBED_FEATURES(FIELD, ARRAY, FEATURE) \
    FIELD(norm, FEATURE(NO_FINAL_NORM, !u->norm, "a last stream without a norm")) \
    FIELD(project, NONE) \
    FIELD(transform, FEATURE(OTHER_END, e->project == PROJECT_LAST || u->transform || \
                             u->first_only || (u->head && u->input_factor != 1), \
                             "another kind of end")) \
    FIELD(first_only, NONE) FIELD(head, NONE) FIELD(tied, NONE) \
    FIELD(bias, FEATURE(LOGIT_BIAS, u->bias, "a bias of the logits")) \
    FIELD(rows, NONE) FIELD(input_factor, NONE) \
    FIELD(divisor, FEATURE(LOGIT_DIVISOR, u->divisor > 0, "divided logits")) \
    FIELD(cap, FEATURE(LOGIT_CAP, u->cap > 0, "soft caps of logits"))

#define HEAD_FEATURES(FIELD, ARRAY, FEATURE) \
    FIELD(by, FEATURE(NO_PROJECTIONS, s->head.by == HEADS_AS_IS, "queries that are the input") \
          FEATURE(LATENT, s->head.by == HEADS_LATENT, "latent attention")) \
    FIELD(heads, NONE) \
    FIELD(kv_heads, \
          FEATURE(SHARED_KEYS, s->head.kv_heads != s->head.heads, "keys that heads share")) \
    FIELD(d_k, NONE) \
    FIELD(d_v, \
          FEATURE(VALUE_SIZE, s->head.d_v != s->head.d_k, "values of another size than keys")) \
    FIELD(latent_q, NONE) FIELD(latent_kv, NONE) \
    FIELD(norm, FEATURE(HEAD_NORM, s->head.norm, "norms of queries and keys") \
          FEATURE(HEAD_NORM_WHOLE, s->head.norm == HEAD_NORM_WHOLE, \
                  "norms of all heads together") \
          FEATURE(HEAD_NORM_MEAN, s->head.norm && !c->rms, "layer norms of queries and keys")) \
    FIELD(norm_after_rotary, FEATURE(NORM_AFTER_ROTARY, s->head.norm_after_rotary, \
                                     "norms after rotary embeddings")) \
    FIELD(rotary, FEATURE(ROTARY, s->head.rotary, "rotary embeddings") \
          FEATURE(ROTARY_PART, s->head.rotary && s->head.rotary->components < s->head.d_k, \
                  "channels without rotary embeddings") \
          FEATURE(ROTARY_PAIRS, c->rotary.neighbours, "rotary embeddings of neighbours") \
          FEATURE(ROTARY_LINEAR, c->rotary.scaling == ROTARY_LINEAR, "linear rotary scaling") \
          FEATURE(ROTARY_DYNAMIC, c->rotary.scaling == ROTARY_DYNAMIC, "dynamic rotary scaling") \
          FEATURE(ROTARY_LLAMA3, c->rotary.scaling == ROTARY_LLAMA3, "llama3 rotary scaling") \
          FEATURE(ROTARY_YARN, c->rotary.scaling == ROTARY_YARN, "yarn rotary scaling") \
          FEATURE(ROTARY_LONGROPE, c->rotary.scaling == ROTARY_LONGROPE, "longrope scaling") \
          FEATURE(ROTARY_LOCAL, c->rotary_local.components, "two kinds of rotary embeddings") \
          FEATURE(UNROTATED, config_flags(c) & LAYER_UNROTATED, \
                  "layers without rotary embeddings")) \
    FIELD(rotary_first, FEATURE(ROTARY_FIRST, s->head.rotary_first, \
                                "rotary embeddings of the last channels")) \
    FIELD(clip, FEATURE(CLIP, s->head.clip != 0, "clipped queries, keys and values")) \
    FIELD(no_out, FEATURE(NO_OUT_PROJ, s->head.no_out, "heads without an output projection"))

#define SCORE_FEATURES(FIELD, ARRAY, FEATURE) \
    FIELD(scale, NONE) FIELD(base_scale, NONE) \
    FIELD(cap, FEATURE(SCORE_CAP, s->score.cap > 0, "soft caps of scores")) \
    FIELD(temperature, NONE) \
    FIELD(bias, FEATURE(ALIBI, s->score.bias == BIAS_ALIBI || s->score.bias == BIAS_ALIBI_ROUNDED, \
                        "ALiBi") \
          FEATURE(ALIBI_SCALED, s->score.bias == BIAS_ALIBI_ROUNDED, "scaled ALiBi") \
          FEATURE(ALIBI_FROM_END, s->score.bias == BIAS_ALIBI_FROM_END, "ALiBi from the last key") \
          FEATURE(BUCKETS, s->score.bias == BIAS_BUCKETS, "biases of distances")) \
    FIELD(heads, NONE) FIELD(bias_layer, NONE) FIELD(buckets, NONE) FIELD(reach, NONE) \
    FIELD(back, FEATURE(WINDOW, s->score.back != SIZE_MAX, "sliding windows")) \
    FIELD(ahead, FEATURE(WINDOW_AHEAD, s->score.ahead > 0 && \
                         (s->score.ahead < SIZE_MAX || s->score.back < SIZE_MAX), \
                         "windows with later tokens")) \
    FIELD(sink, FEATURE(SINK, s->score.sink, "attention sinks of the softmax")) \
    FIELD(mask_after, NONE) FIELD(kind, NONE) FIELD(pattern, NONE)

#define MLP_FEATURES(FIELD, ARRAY, FEATURE) \
    FIELD(activation, NONE) FIELD(gated, FEATURE(GATED, s->mlp.gated, "gated MLPs")) \
    FIELD(clamp, FEATURE(CLAMP, s->mlp.clamp != 0 || s->mlp.up_offset != 0, "clamped MLPs")) \
    FIELD(up_offset, NONE) FIELD(inner, NONE) \
    FIELD(experts, FEATURE(EXPERTS, s->mlp.experts, "experts")) \
    FIELD(chosen, NONE) FIELD(groups, NONE) FIELD(chosen_groups, NONE) FIELD(shared_inner, NONE) \
    FIELD(expert_factor, NONE) FIELD(router, NONE) FIELD(renormalised, NONE) \
    FIELD(corrected, NONE) FIELD(two_best, NONE) FIELD(shared_gate, NONE)

#define ALL_FEATURES(FIELD, ARRAY, FEATURE) \
    CONFIG_FEATURES(FIELD, ARRAY, FEATURE) SUBLAYER_FEATURES(FIELD, ARRAY, FEATURE) \
    EMBED_FEATURES(FIELD, ARRAY, FEATURE) UNEMBED_FEATURES(FIELD, ARRAY, FEATURE) \
    HEAD_FEATURES(FIELD, ARRAY, FEATURE) SCORE_FEATURES(FIELD, ARRAY, FEATURE) \
    MLP_FEATURES(FIELD, ARRAY, FEATURE)
/* clang-format on */

#define NONE
#define FEATURES_OF(field, features) features
#define FEATURE_ID(id, condition, words) FEATURE_##id,

enum feature { ALL_FEATURES(FEATURES_OF, FEATURES_OF, FEATURE_ID) FEATURE_COUNT };

#define HAS(id) (UINT64_C(1) << FEATURE_##id)

/* Features of the decoders in tests/golden-families, for code that supports all of them. */
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

/* Features that the pass computes, for models to run. */
extern const uint64_t pass_features;

/* The features of a config, or of a sublayer of one, a bit HAS(...) for each. */
uint64_t config_features(const struct config *config);
uint64_t sublayer_features(const struct sublayer *sublayer, const struct config *config);

/* Refuse, as not supported, a config with another feature: 'expected a model to train without
 * ALiBi, found one of type "bloom"'. `purpose` is "to train". features_refuse is
 * given the features. */
int features_expect(uint64_t supported, const struct config *config, const char *purpose,
                    struct err *err);
int features_refuse(uint64_t supported, uint64_t features, const struct config *config,
                    const char *purpose, struct err *err);

#endif
