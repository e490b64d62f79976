/* features.c: the table of features, and what it says of a config. */
#include "model/features.h"

#include <string.h>

#include "base/buf.h"

/* Purposes that support a feature. */
enum {
    RUN = 1 << TO_RUN,
    EXPLAIN = 1 << TO_EXPLAIN,
    ATTRIBUTE = 1 << TO_ATTRIBUTE,
    PATCH = 1 << TO_PATCH,
    WORDS = 1 << FOR_WORDS,
    CIRCUITS = 1 << FOR_CIRCUITS | WORDS,
    TRAIN = 1 << TO_TRAIN,
    NOTHING = 0,
    ANALYSIS = RUN | EXPLAIN | ATTRIBUTE | PATCH | CIRCUITS,
    ALL = ANALYSIS | TRAIN,
};

/* Kinds that no feature names: those that were added to an enum without one. */
static bool config_has_other(const struct config *c)
{
    return c->kind > MODEL_DECODER || c->rotary.scaling > ROTARY_LONGROPE ||
           c->biases > (BIAS_ALL | BIAS_LOGITS | BIAS_TRANSFORM | BIAS_EXPERTS) ||
           config_flags(c) >= 2 * LAYER_FIRST_PLAIN;
}

static bool sublayer_has_other(const struct sublayer *s)
{
    return s->kind > SUBLAYER_MLP || s->reads > READS_LAST_INPUT || s->head.by > HEADS_AS_IS ||
           s->score.bias > BIAS_BUCKETS;
}

/* clang-format off */
/* All fields of struct config and of the rules that layer.h makes of it, in their order, and the
 * features that a config has by them, under a condition, in words. c: the config; e, u: the ends of
 * the text's stack; s: a sublayer of any layer. NONE: each value means the same to all code, or is
 * of no matter to such code, or belongs to another row. */
#define CONFIG_FEATURES(FIELD, ARRAY, FEATURE) \
    FIELD(kind, FEATURE(c->kind == MODEL_ATTENTION, "attention layers alone", RUN | EXPLAIN) \
          FEATURE(config_has_other(c), "another kind of attention, norm or rotation", NOTHING)) \
    FIELD(vocab_size, NONE) FIELD(n_positions, NONE) FIELD(n_embd, NONE) FIELD(n_layer, NONE) \
    FIELD(n_encoder_layer, FEATURE(c->n_encoder_layer > 0, "an encoder", ANALYSIS) \
          FEATURE(c->n_encoder_layer > 0 && !c->causal, "a decoder that attends to later tokens", \
                  NOTHING)) \
    FIELD(n_head, NONE) FIELD(n_kv_head, NONE) FIELD(d_k, NONE) FIELD(d_v, NONE) \
    FIELD(d_out, NONE) FIELD(n_inner, NONE) FIELD(activation, NONE) FIELD(n_encoder_inner, NONE) \
    FIELD(n_encoder_head, FEATURE(c->n_encoder_head, "an encoder with other heads", ANALYSIS)) \
    FIELD(n_encoder_vocab, \
          FEATURE(c->n_encoder_vocab, "an encoder with another vocabulary", ANALYSIS)) \
    FIELD(xielu, NONE) FIELD(embedding_scale, NONE) FIELD(sinusoids, NONE) FIELD(sines, NONE) \
    FIELD(epsilon, NONE) FIELD(style, NONE) FIELD(final_norm, NONE) FIELD(scale, NONE) \
    FIELD(scale_by_layer, FEATURE(c->scale_by_layer, "scores divided by the layer's number", ALL)) \
    FIELD(tied, NONE) FIELD(lacks_head, NONE) \
    FIELD(causal, FEATURE(!c->causal, "attention to later tokens", ANALYSIS)) \
    FIELD(cross, NONE) FIELD(projections, NONE) FIELD(out_proj, NONE) FIELD(biases, NONE) \
    FIELD(family, NONE) FIELD(n_word, NONE) FIELD(projects_last, NONE) \
    FIELD(position_offset, NONE) FIELD(counted, NONE) FIELD(padding_id, NONE) \
    FIELD(n_segments, NONE) \
    FIELD(n_group, FEATURE(c->n_group, "layers that share parameters", ANALYSIS)) \
    FIELD(group_layers, NONE) FIELD(embedding_norm, NONE) FIELD(own_tables, NONE) \
    FIELD(rms, FEATURE(c->rms, "RMS norms", ALL)) \
    FIELD(norm_offset, FEATURE(c->norm_offset, "scales of norms that are 1 + w", ALL)) \
    FIELD(norm_shift, \
          FEATURE(c->style != STYLE_BARE && !c->rms && !c->norm_shift, \
                  "layer norms without a shift", ANALYSIS)) \
    FIELD(norm_plain, FEATURE(c->norm_plain, "norms without scales", ANALYSIS)) \
    FIELD(gated, NONE) FIELD(clamp, NONE) FIELD(up_offset, NONE) FIELD(gate_slope, NONE) \
    FIELD(mixture, NONE) \
    FIELD(head_norm, NONE) FIELD(latent_q, NONE) FIELD(latent_kv, NONE) FIELD(clip, NONE) \
    FIELD(score_bias, NONE) FIELD(bias_buckets, NONE) FIELD(bias_reach, NONE) \
    FIELD(bias_by_layer, NONE) FIELD(rotary, NONE) FIELD(rotary_local, NONE) FIELD(window, NONE) \
    FIELD(sinks, NONE) FIELD(score_cap, NONE) FIELD(logit_cap, NONE) FIELD(residual_scale, NONE) \
    FIELD(logit_divisor, NONE) ARRAY(layer_flags, NONE) FIELD(extra_layers, NONE) \
    FIELD(bos_id, NONE) FIELD(eos_id, NONE) ARRAY(more_ends, NONE) FIELD(more_end_count, NONE) \
    FIELD(generation, NONE) FIELD(end, NONE) FIELD(end_activation, NONE) \
    FIELD(initializer_range, NONE) ARRAY(unread, NONE) FIELD(mechanism, NONE) \
    FIELD(description, NONE)

#define SUBLAYER_FEATURES(FIELD, ARRAY, FEATURE) \
    FIELD(kind, FEATURE(s->kind == SUBLAYER_ATTEND_SOURCE, "attention to a second text", ANALYSIS) \
          FEATURE(sublayer_has_other(s), "another kind of sublayer", NOTHING)) \
    FIELD(part, NONE) \
    FIELD(reads, FEATURE(s->reads != READS_STREAM, "attention and MLP in parallel", ALL) \
          FEATURE(s->reads == READS_LAST_INPUT, "a norm that sublayers share", ALL)) \
    FIELD(norm, NONE) \
    FIELD(norm_before, \
          FEATURE(config_flags(c) & LAYER_FIRST_PLAIN, "layers without a first norm", ANALYSIS)) \
    FIELD(norm_out, FEATURE(s->norm_out, "norms of sublayer outputs", ANALYSIS) \
          FEATURE(s->norm_out && !s->norm_before, "sublayers that read the stream without a norm", \
                  ANALYSIS)) \
    FIELD(norm_after, FEATURE(s->norm_after, "norms after sublayers", ANALYSIS) \
          FEATURE(s->norm_after && !s->at_sum[0], "a normed stream", ANALYSIS)) \
    FIELD(adds_to_normed, FEATURE(s->adds_to_normed, "sums with the normed stream", ANALYSIS)) \
    FIELD(replaces, NONE) /* of attention alone, or of --without */ \
    FIELD(factor, FEATURE(s->factor != 1, "scaled sublayer outputs", ALL)) \
    FIELD(at_input, NONE) FIELD(at_out, NONE) FIELD(at_out_norm, NONE) ARRAY(at_sum, NONE) \
    ARRAY(at_after, NONE) FIELD(head, NONE) FIELD(score, NONE) FIELD(mlp, NONE)

#define EMBED_FEATURES(FIELD, ARRAY, FEATURE) \
    FIELD(width, NONE) FIELD(rows, NONE) FIELD(own_table, NONE) \
    FIELD(scale, FEATURE(e->scale != 1, "scaled embeddings", ALL)) \
    FIELD(positions, FEATURE(e->positions == POSITIONS_SINES, "sinusoidal positions", ANALYSIS) \
          FEATURE(e->positions > POSITIONS_SINES && e->positions <= POSITIONS_SINES_OFFSET, \
                  "sines before cosines", ANALYSIS) \
          FEATURE(e->positions > POSITIONS_SINES_OFFSET, "another kind of positions", NOTHING)) \
    FIELD(first, FEATURE(e->first > 0, "positions that begin later", ALL)) \
    FIELD(counted, FEATURE(e->counted, "positions without padding", ANALYSIS)) \
    FIELD(padding, NONE) \
    FIELD(segments, FEATURE(e->segments, "segments", ANALYSIS)) \
    FIELD(norm, FEATURE(e->norm, "a norm of embeddings", ANALYSIS)) \
    FIELD(project, FEATURE(e->project != PROJECT_NEVER, "a projection of embeddings", ANALYSIS) \
          FEATURE(e->project == PROJECT_LAST, "a projection of positions", ANALYSIS & ~WORDS))

#define UNEMBED_FEATURES(FIELD, ARRAY, FEATURE) \
    FIELD(norm, FEATURE(!u->norm, "a last stream without a norm", ANALYSIS)) \
    FIELD(project, NONE) \
    FIELD(dense, FEATURE(u->dense, "a dense layer at the end", ANALYSIS & ~WORDS)) \
    FIELD(activation, NONE) FIELD(dense_norm, NONE) FIELD(first_only, NONE) \
    FIELD(bias, FEATURE(u->bias, "a bias of the logits", ALL)) \
    FIELD(divisor, FEATURE(u->divisor > 0, "divided logits", ALL)) \
    FIELD(cap, FEATURE(u->cap > 0, "soft caps of logits", ANALYSIS)) \
    FIELD(at_dense, NONE) FIELD(at_result, NONE)

#define HEAD_FEATURES(FIELD, ARRAY, FEATURE) \
    FIELD(by, FEATURE(s->head.by == HEADS_AS_IS, "queries that are the input", RUN | EXPLAIN) \
          FEATURE(s->head.by == HEADS_LATENT, "latent attention", RUN | ATTRIBUTE | PATCH)) \
    FIELD(heads, NONE) \
    FIELD(kv_heads, FEATURE(s->head.kv_heads != s->head.heads, "keys that heads share", ALL)) \
    FIELD(d_k, NONE) \
    FIELD(d_v, \
          FEATURE(s->head.d_v != s->head.d_k, "values of another size than keys", RUN | EXPLAIN | \
                  ATTRIBUTE | PATCH)) \
    FIELD(latent_q, NONE) FIELD(latent_kv, NONE) \
    FIELD(norm, FEATURE(s->head.norm.q || s->head.norm.k, "norms of queries and keys", ALL) \
          FEATURE(s->head.norm.q != s->head.norm.k, "a norm of queries or of keys alone", RUN) \
          FEATURE(s->head.norm.whole, "norms of all heads together", ANALYSIS) \
          FEATURE(s->head.norm.own, "norms of heads with scales of their own", RUN | ATTRIBUTE | \
                  PATCH) \
          FEATURE((s->head.norm.q || s->head.norm.k) && !c->rms, \
                  "layer norms of queries and keys", RUN | ATTRIBUTE | PATCH) \
          FEATURE(s->head.norm.after_rotary, "norms after rotary embeddings", RUN | EXPLAIN | \
                  ATTRIBUTE | PATCH)) \
    FIELD(rotary, FEATURE(s->head.rotary, "rotary embeddings", ALL) \
          FEATURE(s->head.rotary && s->head.rotary->components < s->head.d_k, \
                  "channels without rotary embeddings", ALL) \
          FEATURE(s->head.rotary && s->head.rotary->first, \
                  "rotary embeddings of the last channels", RUN | ATTRIBUTE | PATCH) \
          FEATURE(c->rotary.neighbours, "rotary embeddings of neighbours", ALL) \
          FEATURE(c->rotary.scaling == ROTARY_LINEAR, "linear rotary scaling", ALL) \
          FEATURE(c->rotary.scaling == ROTARY_DYNAMIC, "dynamic rotary scaling", ALL) \
          FEATURE(c->rotary.scaling == ROTARY_LLAMA3, "llama3 rotary scaling", ALL) \
          FEATURE(c->rotary.scaling == ROTARY_YARN, "yarn rotary scaling", ALL) \
          FEATURE(c->rotary.scaling == ROTARY_LONGROPE, "longrope scaling", ALL) \
          FEATURE(c->rotary_local.components, "two kinds of rotary embeddings", ANALYSIS) \
          FEATURE(config_flags(c) & LAYER_UNROTATED, "layers without rotary embeddings", ALL)) \
    FIELD(rotary_is_local, NONE) \
    FIELD(clip, \
          FEATURE(s->head.clip != 0, "clipped queries, keys and values", RUN | EXPLAIN | ATTRIBUTE \
                  | PATCH)) \
    FIELD(no_out, FEATURE(s->head.no_out, "heads without an output projection", RUN | EXPLAIN))

#define SCORE_FEATURES(FIELD, ARRAY, FEATURE) \
    FIELD(scale, NONE) FIELD(base_scale, NONE) \
    FIELD(cap, FEATURE(s->score.cap > 0, "soft caps of scores", ANALYSIS)) \
    FIELD(temperature, NONE) \
    FIELD(bias, \
          FEATURE(s->score.bias == BIAS_ALIBI || s->score.bias == BIAS_ALIBI_ROUNDED, "ALiBi", \
                  ANALYSIS) FEATURE(s->score.bias == BIAS_ALIBI_ROUNDED, "scaled ALiBi", ANALYSIS) \
          FEATURE(s->score.bias == BIAS_ALIBI_FROM_END, "ALiBi from the last key", RUN | ATTRIBUTE \
                  | PATCH) \
          FEATURE(s->score.bias == BIAS_BUCKETS, "biases of distances", ANALYSIS)) \
    FIELD(heads, NONE) FIELD(bias_layer, NONE) FIELD(buckets, NONE) FIELD(reach, NONE) \
    FIELD(back, FEATURE(s->score.back != SIZE_MAX, "sliding windows", ALL)) \
    FIELD(ahead, \
          FEATURE(s->score.ahead > 0 && (s->score.ahead < SIZE_MAX || s->score.back < SIZE_MAX), \
                  "windows with later tokens", ANALYSIS)) \
    FIELD(sink, FEATURE(s->score.sink, "attention sinks of the softmax", ANALYSIS)) \
    FIELD(mask_after, NONE) FIELD(kind, NONE) FIELD(pattern, NONE)

#define MLP_FEATURES(FIELD, ARRAY, FEATURE) \
    FIELD(activation, NONE) \
    FIELD(gated, FEATURE(s->mlp.gated, "gated MLPs", ALL)) \
    FIELD(xielu, \
          FEATURE(s->mlp.xielu, "an activation with parameters", RUN | ATTRIBUTE | PATCH | \
                  CIRCUITS)) \
    FIELD(clamp, \
          FEATURE((s->mlp.clamp != 0 || s->mlp.up_offset != 0) && !s->mlp.mixture, "clamped MLPs", \
                  RUN)) \
    FIELD(up_offset, NONE) FIELD(gate_slope, NONE) FIELD(inner, NONE) \
    FIELD(mixture, FEATURE(s->mlp.mixture, "experts", ANALYSIS)) \
    FIELD(chosen, NONE)

#define ALL_FEATURES(FIELD, ARRAY, FEATURE) \
    CONFIG_FEATURES(FIELD, ARRAY, FEATURE) SUBLAYER_FEATURES(FIELD, ARRAY, FEATURE) \
    EMBED_FEATURES(FIELD, ARRAY, FEATURE) UNEMBED_FEATURES(FIELD, ARRAY, FEATURE) \
    HEAD_FEATURES(FIELD, ARRAY, FEATURE) SCORE_FEATURES(FIELD, ARRAY, FEATURE) \
    MLP_FEATURES(FIELD, ARRAY, FEATURE)
/* clang-format on */

#define NONE
#define FEATURES_OF(field, features) features
#define FEATURE_WORDS(condition, words, purposes) words,
#define NO_FEATURE(condition, words, purposes)
#define FIELD_VALUE(field, features) from->field,
#define ARRAY_VALUE(field, features) {0},

const char *const feature_words[] = {ALL_FEATURES(FEATURES_OF, FEATURES_OF, FEATURE_WORDS)};
const size_t feature_count = sizeof feature_words / sizeof *feature_words;

_Static_assert(sizeof feature_words / sizeof *feature_words <= FEATURES_MAX, "a list has all");

#pragma GCC diagnostic error "-Wmissing-field-initializers"

/* Define a function that does not compile, as its initialiser lacks a value, if the features of a
 * struct lack a field. */
#define COMPLETE(tag, FEATURES)                                                   \
    __attribute__((unused)) static void tag##_is_complete(const struct tag *from) \
    {                                                                             \
        (void)(struct tag){FEATURES(FIELD_VALUE, ARRAY_VALUE, NO_FEATURE)};       \
    }

COMPLETE(config, CONFIG_FEATURES)
COMPLETE(sublayer, SUBLAYER_FEATURES)
COMPLETE(embed_rule, EMBED_FEATURES)
COMPLETE(unembed_rule, UNEMBED_FEATURES)
COMPLETE(head_rule, HEAD_FEATURES)
COMPLETE(score_rule, SCORE_FEATURES)
COMPLETE(mlp_rule, MLP_FEATURES)

static void add(struct feature_list *list, const char *words)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->words[i], words) == 0)
            return;
    list->words[list->count++] = words;
}

#define FEATURE_ADD(condition, words, purposes)        \
    if ((condition) && !((purposes) & (1 << purpose))) \
        add(list, words);

void features_of_sublayer(struct feature_list *list, enum purpose purpose, const struct sublayer *s,
                          const struct config *c)
{
    SUBLAYER_FEATURES(FEATURES_OF, FEATURES_OF, FEATURE_ADD)
    if (s->kind == SUBLAYER_MLP) {
        MLP_FEATURES(FEATURES_OF, FEATURES_OF, FEATURE_ADD)
        return;
    }
    HEAD_FEATURES(FEATURES_OF, FEATURES_OF, FEATURE_ADD)
    SCORE_FEATURES(FEATURES_OF, FEATURES_OF, FEATURE_ADD)
}

void features_find(struct feature_list *list, enum purpose purpose, const struct config *c)
{
    const struct embed_rule *e = &stack_of(c, PART_SENTENCE)->embed;
    const struct unembed_rule *u = &stack_of(c, PART_SENTENCE)->unembed;
    CONFIG_FEATURES(FEATURES_OF, FEATURES_OF, FEATURE_ADD)
    EMBED_FEATURES(FEATURES_OF, FEATURES_OF, FEATURE_ADD)
    UNEMBED_FEATURES(FEATURES_OF, FEATURES_OF, FEATURE_ADD)
    for (size_t i = 0; i < config_layers(c); i++) {
        const struct layer *layer = &c->description->layers[i];
        for (size_t k = 0; k < layer->count; k++)
            features_of_sublayer(list, purpose, &layer->sublayers[k], c);
    }
}

int features_expect(enum purpose purpose, const struct config *config, const char *name,
                    struct err *err)
{
    static const char *const purposes[] = {
        [TO_RUN] = "to run",
        [TO_EXPLAIN] = "to explain",
        [TO_ATTRIBUTE] = "for attribution",
        [TO_PATCH] = "to patch",
        [FOR_CIRCUITS] = "for circuits of heads",
        [FOR_WORDS] = "for copying or successor scores, unlike --composition,",
        [TO_TRAIN] = "to train",
    };
    struct feature_list list = {.count = 0};
    struct buf words = {0};
    features_find(&list, purpose, config);
    if (!list.count)
        return 0;
    for (size_t i = 0; i < list.count; i++)
        buf_format(&words, "%s%s", i == 0 ? "" : i + 1 < list.count ? ", " : " or ", list.words[i]);
    if (!buf_check(&words, err))
        err_unsupported(err, "expected a model %s without %s, found one of type \"%s\"",
                        purposes[purpose], words.bytes, config_kind_name(config));
    buf_release(&words);
    return name ? err_prefix(err, "'%s'", name) : -1;
}
