/* features.c: the table of features, and the features that a config has. */
#include "model/features.h"

#include <string.h>

#include "base/buf.h"

/* Sets of purposes, as bits 1 << purpose. Each feature of the table has the set of purposes that
 * support it. */
enum {
    PASS = 1 << TO_RUN, /* running a model, and all commands that need only the values of a pass */
    TRAIN = 1 << TO_TRAIN,
    WALK = PASS | 1 << FOR_GRADIENTS | TRAIN,
    RUN = WALK | 1 << FOR_SCORES,
    EXPLAIN = 1 << TO_EXPLAIN,
    ATTRIBUTE = 1 << TO_ATTRIBUTE,
    PATCH = 1 << TO_PATCH,
    WORDS = 1 << FOR_WORDS,
    CIRCUITS = 1 << FOR_CIRCUITS | WORDS,
    NOTHING = 0,
    ALL = RUN | EXPLAIN | ATTRIBUTE | PATCH | CIRCUITS,
};

/* Whether a config has a value of an enum, or a flag, for which the table has no feature yet. */
static bool config_has_other(const struct config *c)
{
    return c->kind > MODEL_DECODER || c->rotary.scaling > ROTARY_PROPORTIONAL ||
           c->biases >= 2 * BIASED_CONVOLUTION || config_flags(c) >= 2 * LAYER_MLP_ALONE;
}

static bool sublayer_has_other(const struct sublayer *s)
{
    return s->kind > SUBLAYER_MIX || s->reads > READS_LAST_INPUT || s->head.by > HEADS_AS_IS ||
           s->score.bias > BIAS_DISENTANGLED || s->head.gate > GATE_LOGISTIC ||
           (s->mixer && (s->mixer->update > MIXER_DELTA || s->mixer->gate > GATE_LOGISTIC ||
                         s->mixer->strength > STRENGTH_TWICE));
}

/* clang-format off */
/* For struct config, and for each struct that layer.h derives from it, there are two lists.
 * X_FIELDS: all fields in their order; COMPLETE makes this file fail to compile if a field is
 * missing. X_FEATURES: the features, as FEATURE(condition, words, purposes that support it;
 * NOTHING: none). In conditions c is the config, e the rule of the embedding, u the rule of the
 * unembedding, and s a sublayer of any layer. A field without a feature is handled by all code, or
 * makes no difference. */
#define CONFIG_FIELDS(FIELD, ARRAY) \
    FIELD(kind) FIELD(vocab_size) FIELD(n_positions) FIELD(n_embd) FIELD(n_layer) \
    FIELD(n_encoder_layer) FIELD(n_head) FIELD(n_kv_head) FIELD(d_k) FIELD(d_v) \
    FIELD(d_out) FIELD(n_inner) FIELD(activation) FIELD(wide) ARRAY(inners) FIELD(given) \
    FIELD(given_rows) FIELD(given_lenient) FIELD(layer_scale) FIELD(copies) FIELD(laurel) \
    ARRAY(sparsity) FIELD(n_borrowing) FIELD(n_encoder_inner) \
    FIELD(n_encoder_head) FIELD(n_encoder_vocab) FIELD(xielu) FIELD(embedding_scale) \
    FIELD(drops_masks) FIELD(mask_id) FIELD(sinusoids) FIELD(sines) FIELD(epsilon) \
    FIELD(style) FIELD(final_norm) FIELD(scale) FIELD(scale_by_layer) FIELD(tied) \
    FIELD(lacks_unembed) FIELD(causal) FIELD(cross) FIELD(projections) FIELD(out_proj) \
    FIELD(biases) FIELD(family) FIELD(n_word) FIELD(projects_last) FIELD(position_offset) \
    FIELD(counted) FIELD(padding_id) FIELD(n_segments) FIELD(n_group) FIELD(group_layers) \
    FIELD(embedding_norm) FIELD(adds_twice) FIELD(own_tables) FIELD(rms) \
    FIELD(norm_offset) FIELD(norm_shift) \
    FIELD(norm_plain) FIELD(gated) FIELD(clamp) FIELD(up_offset) FIELD(gate_slope) \
    FIELD(mixture) FIELD(mixer) FIELD(head_norm) FIELD(head_gate) \
    FIELD(latent_q) FIELD(latent_kv) FIELD(clip) FIELD(differs) \
    FIELD(score_bias) FIELD(bias_buckets) FIELD(bias_reach) FIELD(bias_terms) \
    FIELD(bias_by_layer) FIELD(rotary) FIELD(rotary_local) FIELD(window) FIELD(sinks) \
    FIELD(score_cap) FIELD(logit_cap) ARRAY(residual_scale) FIELD(factors) \
    FIELD(logit_divisor) ARRAY(layer_flags) FIELD(extra_layers) FIELD(bos_id) FIELD(eos_id) \
    ARRAY(more_ends) FIELD(more_end_count) FIELD(generation) FIELD(end) FIELD(end_activation) \
    FIELD(n_class) FIELD(classifier) FIELD(answers) FIELD(class_activation) \
    FIELD(initializer_range) ARRAY(unread) FIELD(mechanism) FIELD(description)

#define CONFIG_FEATURES(FEATURE) \
    FEATURE(c->kind == MODEL_ATTENTION, "attention layers alone", (RUN | EXPLAIN) & ~TRAIN) \
    FEATURE(config_has_other(c), "another kind of attention, norm or rotation", NOTHING) \
    FEATURE(c->n_encoder_layer > 0, "an encoder", ALL) \
    FEATURE(c->n_encoder_layer > 0 && !c->causal, "a decoder that attends to later tokens", \
            NOTHING) \
    FEATURE(c->n_encoder_head, "an encoder with other heads", ALL) \
    FEATURE(c->n_encoder_vocab, "an encoder with another vocabulary", ALL) \
    FEATURE(c->scale_by_layer, "scores divided by the layer's number", ALL) \
    FEATURE(!c->causal, "attention to later tokens", ALL) \
    FEATURE(c->n_group, "layers that share parameters", ALL) \
    FEATURE(config_flags(c) & LAYER_WIDE, "layers with heads of other sizes", ALL) \
    FEATURE(c->mixer.heads, "layers that keep a state", PASS | ATTRIBUTE | PATCH) \
    FEATURE(config_flags(c) & (LAYER_NO_MLP | LAYER_MLP_ALONE), "layers of one sublayer", \
            PASS | ATTRIBUTE | PATCH) \
    FEATURE(c->rotary.scaling == ROTARY_PROPORTIONAL, "proportional rotary scaling", ALL) \
    FEATURE(c->rms, "RMS norms", ALL) \
    FEATURE(c->norm_offset, "scales of norms that are 1 + w", ALL) \
    FEATURE(c->style != STYLE_BARE && !c->rms && !c->norm_shift, "layer norms without a shift", \
            ALL) \
    FEATURE(c->norm_plain, "norms without scales", ALL) \
    FEATURE(c->factors.list[0].factor != 0, "factors of products", PASS | ATTRIBUTE | PATCH)

#define SUBLAYER_FIELDS(FIELD, ARRAY) \
    FIELD(kind) FIELD(branch) FIELD(reads) FIELD(norm) FIELD(norm_before) FIELD(norm_out) \
    FIELD(adds_twice) FIELD(norm_after) FIELD(adds_to_normed) FIELD(replaces) \
    FIELD(adds_input) FIELD(scales) FIELD(corrects) FIELD(spreads) FIELD(factor) \
    FIELD(sum_factor) FIELD(at_input) FIELD(at_out) FIELD(at_out_norm) ARRAY(at_sum) \
    ARRAY(at_after) FIELD(head) FIELD(score) FIELD(mlp) FIELD(mixer)

#define SUBLAYER_FEATURES(FEATURE) \
    FEATURE(s->kind == SUBLAYER_ATTEND_SOURCE, "attention to a second text", ALL) \
    FEATURE(sublayer_has_other(s), "another kind of sublayer", NOTHING) \
    FEATURE(s->reads != READS_STREAM, "attention and MLP in parallel", ALL) \
    FEATURE(s->reads == READS_LAST_INPUT, "a norm that sublayers share", ALL) \
    FEATURE(config_flags(c) & LAYER_FIRST_PLAIN, "layers without a first norm", ALL) \
    FEATURE(s->norm_out, "norms of sublayer outputs", ALL) \
    FEATURE(s->norm_out && !s->norm_before, "sublayers that read the stream without a norm", \
            ALL) \
    FEATURE(s->adds_twice, "norms of sums before they are added", PASS) \
    FEATURE(s->norm_after, "norms after sublayers", ALL) \
    FEATURE(s->norm_after && !s->at_sum[0], "a normed stream", ALL) \
    FEATURE(s->adds_to_normed, "sums with the normed stream", ALL) \
    FEATURE(s->factor != 1, "scaled sublayer outputs", ALL) \
    FEATURE(s->scales, "scaled layers", ALL) \
    FEATURE(s->corrects || s->spreads, "copies of the stream", \
            WALK | EXPLAIN | ATTRIBUTE | PATCH) \
    FEATURE(s->adds_input || s->sum_factor != 1, "low-rank branches beside attention", \
            WALK | EXPLAIN | ATTRIBUTE | PATCH)

#define EMBED_FIELDS(FIELD, ARRAY) \
    FIELD(width) FIELD(rows) FIELD(own_table) FIELD(scale) FIELD(drops_masks) FIELD(mask) \
    FIELD(positions) FIELD(first) FIELD(counted) FIELD(padding) FIELD(segments) FIELD(given) \
    FIELD(given_rows) FIELD(given_lenient) FIELD(norm) FIELD(project)

#define EMBED_FEATURES(FEATURE) \
    FEATURE(e->scale != 1, "scaled embeddings", ALL) \
    FEATURE(e->drops_masks, "masks without an embedding", ALL & ~WORDS) \
    FEATURE(e->positions == POSITIONS_SINES, "sinusoidal positions", ALL) \
    FEATURE(e->positions > POSITIONS_SINES && e->positions <= POSITIONS_SINES_OFFSET, \
            "sines before cosines", ALL) \
    FEATURE(e->positions > POSITIONS_SINES_OFFSET, "another kind of positions", NOTHING) \
    FEATURE(e->first > 0, "positions that begin later", ALL) \
    FEATURE(e->counted, "positions without padding", ALL) \
    FEATURE(e->segments, "segments", ALL) \
    FEATURE(e->given, "inputs of single layers", ALL) \
    FEATURE(e->norm, "a norm of embeddings", ALL) \
    FEATURE(e->project != PROJECT_NEVER, "a projection of embeddings", ALL) \
    FEATURE(e->project == PROJECT_LAST, "a projection of positions", ALL & ~WORDS)

#define UNEMBED_FIELDS(FIELD, ARRAY) \
    FIELD(norm) FIELD(project) FIELD(dense) FIELD(activation) FIELD(dense_norm) \
    FIELD(first_only) FIELD(mean) FIELD(bias) FIELD(logits) FIELD(divisor) FIELD(cap) \
    FIELD(at_dense) FIELD(at_result)

#define UNEMBED_FEATURES(FEATURE) \
    FEATURE(!u->norm, "a last stream without a norm", ALL) \
    FEATURE(u->dense, "a dense layer at the end", ALL & ~WORDS) \
    FEATURE(u->mean, "a mean of all tokens before the classes", RUN | ATTRIBUTE | PATCH) \
    FEATURE(u->bias, "a bias of the logits", ALL) \
    FEATURE(c->n_class, "classes in place of tokens", ALL & ~WORDS) \
    FEATURE(u->divisor > 0, "divided logits", ALL) \
    FEATURE(u->cap > 0, "soft caps of logits", ALL)

#define HEAD_FIELDS(FIELD, ARRAY) \
    FIELD(by) FIELD(kv_layer) FIELD(borrows) FIELD(v_is_k) FIELD(heads) FIELD(kv_heads) \
    FIELD(d_k) FIELD(d_v) FIELD(latent_q) FIELD(latent_kv) FIELD(norm) FIELD(rotary) \
    FIELD(clip) FIELD(no_out) FIELD(gate) FIELD(differ)

#define HEAD_FEATURES(FEATURE) \
    FEATURE(s->head.by == HEADS_AS_IS, "queries that are the input", (RUN | EXPLAIN) & ~TRAIN) \
    FEATURE(s->head.by == HEADS_LATENT, "latent attention", RUN | ATTRIBUTE | PATCH) \
    FEATURE(s->head.kv_heads != s->head.heads, "keys that heads share", ALL) \
    FEATURE(s->head.d_v != s->head.d_k, "values of another size than keys", \
            RUN | EXPLAIN | ATTRIBUTE | PATCH) \
    FEATURE(s->head.norm.q || s->head.norm.k, "norms of queries and keys", ALL) \
    FEATURE(s->head.norm.q != s->head.norm.k, "a norm of queries or of keys alone", PASS) \
    FEATURE(s->head.norm.v, "norms of values", ALL) \
    FEATURE(s->head.norm.whole, "norms of all heads together", ALL) \
    FEATURE(s->head.norm.own, "norms of heads with scales of their own", RUN | ATTRIBUTE | PATCH) \
    FEATURE((s->head.norm.q || s->head.norm.k) && !c->rms, "layer norms of queries and keys", \
            RUN | ATTRIBUTE | PATCH) \
    FEATURE(s->head.norm.after_rotary, "norms after rotary embeddings", \
            RUN | EXPLAIN | ATTRIBUTE | PATCH) \
    FEATURE(s->head.rotary, "rotary embeddings", ALL) \
    FEATURE(s->head.rotary && s->head.rotary->components < s->head.d_k, \
            "channels without rotary embeddings", ALL) \
    FEATURE(s->head.rotary && s->head.rotary->first, "rotary embeddings of the last channels", \
            RUN | ATTRIBUTE | PATCH) \
    FEATURE(c->rotary.neighbours, "rotary embeddings of neighbours", ALL) \
    FEATURE(c->rotary.scaling == ROTARY_LINEAR, "linear rotary scaling", ALL) \
    FEATURE(c->rotary.scaling == ROTARY_DYNAMIC, "dynamic rotary scaling", ALL) \
    FEATURE(c->rotary.scaling == ROTARY_LLAMA3, "llama3 rotary scaling", ALL) \
    FEATURE(c->rotary.scaling == ROTARY_YARN, "yarn rotary scaling", ALL) \
    FEATURE(c->rotary.scaling == ROTARY_LONGROPE, "longrope scaling", ALL) \
    FEATURE(c->rotary.growth != 0, "queries that grow with their positions", ALL) \
    FEATURE(c->rotary_local.components, "two kinds of rotary embeddings", ALL) \
    FEATURE(config_flags(c) & LAYER_UNROTATED, "layers without rotary embeddings", ALL) \
    FEATURE(s->head.clip != 0, "clipped queries, keys and values", \
            RUN | EXPLAIN | ATTRIBUTE | PATCH) \
    FEATURE(s->head.differ > 0, "differences of heads", ALL) \
    FEATURE(s->head.no_out, "heads without an output projection", (RUN | EXPLAIN) & ~TRAIN) \
    FEATURE(s->head.gate, "gates of the context", PASS | ATTRIBUTE | PATCH) \
    FEATURE(s->head.v_is_k, "values that are keys", ALL) \
    FEATURE(s->head.borrows, "keys of other layers", ALL)

#define SCORE_FIELDS(FIELD, ARRAY) \
    FIELD(scale) FIELD(base_scale) FIELD(cap) FIELD(temperature) FIELD(bias) FIELD(heads) \
    FIELD(bias_layer) FIELD(buckets) FIELD(reach) FIELD(terms) FIELD(back) FIELD(ahead) \
    FIELD(sink) FIELD(mask_after) FIELD(kind) FIELD(pattern)

#define SCORE_FEATURES(FEATURE) \
    FEATURE(s->score.cap > 0, "soft caps of scores", ALL) \
    FEATURE(s->score.bias == BIAS_ALIBI || s->score.bias == BIAS_ALIBI_ROUNDED, "ALiBi", ALL) \
    FEATURE(s->score.bias == BIAS_ALIBI_ROUNDED, "scaled ALiBi", ALL) \
    FEATURE(s->score.bias == BIAS_ALIBI_FROM_END, "ALiBi from the last key", \
            RUN | ATTRIBUTE | PATCH) \
    FEATURE(s->score.bias == BIAS_ALIBI_APART, "ALiBi in both directions", ALL) \
    FEATURE(s->score.bias == BIAS_BUCKETS, "biases of distances", ALL) \
    FEATURE(s->score.bias == BIAS_DISENTANGLED, "disentangled attention", ALL) \
    FEATURE(s->score.back != SIZE_MAX, "sliding windows", ALL) \
    FEATURE(s->score.ahead > 0 && (s->score.ahead < SIZE_MAX || s->score.back < SIZE_MAX), \
            "windows with later tokens", ALL) \
    FEATURE(s->score.sink, "attention sinks of the softmax", ALL)

#define MLP_FIELDS(FIELD, ARRAY) \
    FIELD(activation) FIELD(gated) FIELD(xielu) FIELD(given) FIELD(sparse) FIELD(deviations) \
    FIELD(clamp) FIELD(up_offset) FIELD(gate_slope) FIELD(inner) FIELD(mixture) FIELD(chosen)

#define MLP_FEATURES(FEATURE) \
    FEATURE(s->mlp.gated, "gated MLPs", ALL) \
    FEATURE(s->mlp.sparse, "sparse gates", RUN | EXPLAIN | ATTRIBUTE | PATCH) \
    FEATURE(s->mlp.xielu, "an activation with parameters", RUN | ATTRIBUTE | PATCH | CIRCUITS) \
    FEATURE((s->mlp.clamp != 0 || s->mlp.up_offset != 0) && !s->mlp.mixture, "clamped MLPs", PASS) \
    FEATURE(s->branch == BRANCH_TEXT && !s->mlp.mixture && s->mlp.inner != c->n_inner, \
            "MLPs of different widths", ALL) \
    FEATURE(s->mlp.mixture, "experts", ALL) \
    FEATURE(s->mlp.mixture && !s->mlp.gated, "experts without gates", PASS | ATTRIBUTE | PATCH) \
    FEATURE(s->mlp.mixture && s->mlp.mixture->latent, "experts of narrow vectors", \
            PASS | ATTRIBUTE | PATCH) \
    FEATURE(s->mlp.mixture && s->mlp.mixture->beside, "experts beside the MLP", ALL)

/* clang-format on */

#define FEATURE_WORDS(condition, words, purposes) words,
#define FIELD_VALUE(field) from->field,
#define ARRAY_VALUE(field) {0},

const char *const feature_words[] = {
    CONFIG_FEATURES(FEATURE_WORDS) SUBLAYER_FEATURES(FEATURE_WORDS) EMBED_FEATURES(FEATURE_WORDS)
        UNEMBED_FEATURES(FEATURE_WORDS) HEAD_FEATURES(FEATURE_WORDS) SCORE_FEATURES(FEATURE_WORDS)
            MLP_FEATURES(FEATURE_WORDS)};
const size_t feature_count = sizeof feature_words / sizeof *feature_words;

_Static_assert(sizeof feature_words / sizeof *feature_words <= FEATURES_MAX, "a list has all");

#pragma GCC diagnostic error "-Wmissing-field-initializers"

/* Define a function that does not compile if FIELDS lacks a field of the struct: the initialiser
 * then has too few values. */
#define COMPLETE(tag, FIELDS)                                                     \
    __attribute__((unused)) static void tag##_is_complete(const struct tag *from) \
    {                                                                             \
        (void)(struct tag){FIELDS(FIELD_VALUE, ARRAY_VALUE)};                     \
    }

COMPLETE(config, CONFIG_FIELDS)
COMPLETE(sublayer, SUBLAYER_FIELDS)
COMPLETE(embed_rule, EMBED_FIELDS)
COMPLETE(unembed_rule, UNEMBED_FIELDS)
COMPLETE(head_rule, HEAD_FIELDS)
COMPLETE(score_rule, SCORE_FIELDS)
COMPLETE(mlp_rule, MLP_FIELDS)

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
    SUBLAYER_FEATURES(FEATURE_ADD)
    if (s->kind == SUBLAYER_MLP) {
        MLP_FEATURES(FEATURE_ADD)
        return;
    }
    if (s->kind == SUBLAYER_MIX)
        return;
    HEAD_FEATURES(FEATURE_ADD)
    SCORE_FEATURES(FEATURE_ADD)
}

void features_find(struct feature_list *list, enum purpose purpose, const struct config *c)
{
    const struct embed_rule *e = &stack_of(c, BRANCH_TEXT)->embed;
    const struct unembed_rule *u = &stack_of(c, BRANCH_TEXT)->unembed;
    CONFIG_FEATURES(FEATURE_ADD)
    EMBED_FEATURES(FEATURE_ADD)
    UNEMBED_FEATURES(FEATURE_ADD)
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
        [FOR_GRADIENTS] = "for gradients",
        [FOR_SCORES] = "for parts of scores",
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
