#include "model/parameter_table.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/layer.h"

/* Properties that a parameter may need. c: the config; s: the sublayer that has the parameter or,
 * for a parameter outside of layers, the first sublayer; m: the mixer of s, or NULL. BLOCKS: the
 * model is not attention alone. OF_…: conditions of biases. */
/* clang-format off */
#define PROPERTIES(PROPERTY) \
    PROPERTY(BLOCKS, c->style != STYLE_BARE) \
    PROPERTY(LEARNED_POSITIONS, !c->sinusoids && config_adds_positions(c)) \
    PROPERTY(FINAL_NORM, c->final_norm) PROPERTY(UNTIED, !c->tied) \
    PROPERTY(PROJECTIONS, c->projections) PROPERTY(OUT_PROJ, c->out_proj) \
    PROPERTY(NORM_IN, s->norm_before || s->norm_after) PROPERTY(NORM_OUT, s->norm_out) \
    PROPERTY(SHIFT, c->norm_shift) PROPERTY(GATED, s->mlp.gated) \
    PROPERTY(Q_NORMED, s->head.norm.q || (m && m->inner_norms && !m->plain_norms)) \
    PROPERTY(K_NORMED, (s->head.norm.k && !s->head.borrows) || \
             (m && m->inner_norms && !m->plain_norms)) \
    PROPERTY(HEAD_SHIFT, s->head.norm.shift) \
    PROPERTY(SCALE, !c->norm_plain) PROPERTY(XIELU, s->mlp.xielu) \
    PROPERTY(EMBEDDING_NORM, c->embedding_norm) \
    PROPERTY(PROJECTED_LAST, c->projects_last) \
    PROPERTY(OF_TRANSFORM, c->biases & BIASED_TRANSFORM) \
    PROPERTY(OF_INPUT, c->biases & (m ? BIASED_MIXER_IN : BIASED_QKV)) \
    PROPERTY(OF_KEYS, c->biases & (!m ? BIASED_QKV : m->only_v ? 0 : BIASED_MIXER_IN)) \
    PROPERTY(OF_OUTPUT, c->biases & (m ? BIASED_MIXER_OUT : BIASED_OUT)) \
    PROPERTY(OF_CONV, c->biases & BIASED_CONVOLUTION) \
    PROPERTY(OF_MLP, c->biases & BIASED_MLP) \
    PROPERTY(OF_DOWN, c->biases & (BIASED_MLP | BIASED_DOWN)) \
    PROPERTY(OF_EXPERTS, c->biases & BIASED_EXPERTS) \
    PROPERTY(OF_LOGITS, c->biases & BIASED_LOGITS) \
    PROPERTY(PLAIN, !s->mlp.mixture) PROPERTY(MIXTURE, s->mlp.mixture) \
    PROPERTY(ROUTER_BIAS, c->mixture.router_bias)

/* The axes of shapes and their sizes. c, s, m: as in PROPERTIES; t: the stack. A parameter with an
 * axis of size 0 does not exist. ONE: a single number. POSITIONS: rows of the table of positions,
 * with the rows before the first token's row. WORD: channels of a token's embedding; TABLES:
 * channels of embeddings of positions and segments, and of the norm of embeddings; NARROW: channels
 * of the projection before the unembedding; LATENT_Q, LATENT_KV, and LATENT for experts: channels
 * of narrow vectors; MEMORY: channels of the vector from which keys are computed; OUT: channels of
 * the output of attention; EXPERT, SHARED: hidden channels of an expert, and of the shared expert;
 * EXPERT_WIDTH: channels of the vector that experts read, narrow or not. LOGITS to POOLER: axes of
 * matrices and norms after the last layer. Q_OWN, K_OWN: numbers of heads whose norms have their
 * own scales. COPIES, PAIRS, BUT_FIRST: number of copies of the stream, of pairs of copies, and of
 * copies but the first. */
#define AXES(AXIS) \
    AXIS(NONE, 1) AXIS(ONE, 1) AXIS(VOCABULARY, t->embed.rows) \
    AXIS(POSITIONS, c->n_positions + c->position_offset) AXIS(CHANNELS, t->width) \
    AXIS(WORD, t->embed.width) \
    AXIS(TABLES, t->embed.project == PROJECT_LAST ? t->embed.width : t->width) \
    AXIS(EMBED_PROJECT, c->n_word ? t->width : 0) \
    AXIS(SEGMENTS, t->embed.segments) AXIS(NARROW, c->projects_last ? 0 : c->n_word) \
    AXIS(LOGITS, c->end <= END_CLASSES ? t->unembed.logits : 0) \
    AXIS(TRANSFORM, c->end == END_MASKED           ? t->embed.width \
                    : t->unembed.dense && c->n_class ? t->width \
                                                     : 0) \
    AXIS(TRANSFORM_NORM, !t->unembed.dense_norm ? 0 \
                         : c->end == END_MASKED ? t->embed.width : t->width) \
    AXIS(HEAD, c->n_class && c->projects_last ? t->width : t->embed.width) \
    AXIS(DISCRIMINATOR, c->end == END_DISCRIMINATOR ? t->width : 0) \
    AXIS(DISCRIMINATOR_LOGIT, c->end == END_DISCRIMINATOR) \
    AXIS(POOLER, c->end == END_POOLED ? t->width : 0) \
    AXIS(Q_NORM, m ? m->d_k : (s->head.norm.whole ? s->head.heads : 1) * s->head.d_k) \
    AXIS(K_NORM, m ? m->d_k : (s->head.norm.whole ? s->head.kv_heads : 1) * s->head.d_k) \
    AXIS(Q_OWN, s->head.norm.own ? s->head.heads : 0) \
    AXIS(K_OWN, s->head.norm.own ? s->head.kv_heads : 0) \
    AXIS(HIDDEN, s->mlp.inner) \
    AXIS(BUCKETS, c->bias_by_layer ? 0 : (IS_TERMS ? 2u : 1u) * c->bias_buckets) \
    AXIS(BIAS_NORM, c->bias_terms & TERM_NORMED ? t->width : 0) \
    AXIS(OF_BUCKET, IS_TERMS ? t->width : s->head.heads) \
    AXIS(BIAS_Q, IS_OWN(TERM_QUERIES) ? s->head.heads * s->head.d_k : 0) \
    AXIS(BIAS_K, IS_OWN(TERM_KEYS) ? s->head.heads * s->head.d_k : 0) \
    AXIS(LAYER_BUCKETS, c->bias_by_layer ? c->bias_buckets : 0) \
    AXIS(HEADS, s->head.heads) AXIS(SINKS, s->score.sink ? s->head.heads : 0) \
    AXIS(LAMBDA, s->head.differ > 0 ? s->head.d_k : 0) \
    AXIS(LATENT_Q, s->head.latent_q) AXIS(LATENT_KV, s->head.latent_kv) \
    AXIS(MEMORY, s->head.latent_kv ? s->head.latent_kv : m && m->only_v ? INNER(m) : t->width) \
    AXIS(SOURCE, m && m->only_v ? INNER(m) : t->width) \
    AXIS(Q_UP, s->head.latent_q ? s->head.heads * s->head.d_k : 0) \
    AXIS(K_ROTARY, s->head.latent_kv ? c->rotary.components : 0) \
    AXIS(QUERIES, m ? m->key_heads * m->d_k \
         : s->head.latent_q ? 0 : s->head.heads * s->head.d_k) \
    AXIS(KEYS, m ? m->key_heads * m->d_k : !s->head.borrows * s->head.kv_heads * \
         (s->head.latent_kv ? c->rotary.first : s->head.d_k)) \
    AXIS(VALUES, m ? INNER(m) \
         : !(s->head.borrows || s->head.v_is_k) * s->head.kv_heads * s->head.d_v) \
    AXIS(V_INPUT, s->head.latent_kv ? s->head.latent_kv : t->width) \
    AXIS(CONTEXT, m ? INNER(m) : s->head.heads * s->head.d_v) \
    AXIS(OUT_GATE, m ? (m->gate != GATE_NONE) * INNER(m) \
         : (s->head.gate != GATE_NONE) * s->head.heads * s->head.d_v) \
    AXIS(GATE_INPUT, m && m->gate_rank ? m->gate_rank : t->width) \
    AXIS(GATE_RANK, m ? m->gate_rank : 0) \
    AXIS(CONV_KEYS, m && mixer_convolved(m) > INNER(m) ? m->key_heads * m->d_k : 0) \
    AXIS(CONV_VALUES, m && m->taps ? INNER(m) : 0) AXIS(TAPS, m ? m->taps : 0) \
    AXIS(STEP_RANK, m ? m->step_rank : 0) \
    AXIS(STEP_NORM, m && m->inner_norms ? m->step_rank : 0) \
    AXIS(STEP_INPUT, m && m->step_rank ? m->step_rank \
         : m && m->only_v ? INNER(m) : t->width) \
    AXIS(STEPS, IS_STATE(m) ? m->heads * (m->step_each ? m->d_k : 1) : 0) \
    AXIS(STATES, IS_STATE(m) ? m->heads : 0) \
    AXIS(EACH_DECAY, IS_STATE(m) && m->decay_each ? m->d_k : 1) \
    AXIS(BETA, IS_STATE(m) && m->strength ? m->heads : 0) \
    AXIS(SKIP, IS_STATE(m) && m->skip ? m->heads : 0) \
    AXIS(OUT_NORM, m && m->out_norm ? (m->out_groups ? INNER(m) : m->d_v) : 0) \
    AXIS(OUT, config_out_width(c)) AXIS(EXPERTS, c->mixture.experts) \
    AXIS(CORRECTION, c->mixture.corrected ? c->mixture.experts : 0) \
    AXIS(EXPERT, c->mixture.inner) AXIS(LATENT, c->mixture.latent) \
    AXIS(EXPERT_WIDTH, c->mixture.latent ? c->mixture.latent : t->width) \
    AXIS(SHARED, c->mixture.shared_inner) \
    AXIS(SWITCH, c->mixture.shared_gate) AXIS(LAYER_SCALE, c->layer_scale) \
    AXIS(GIVEN_ROWS, t->embed.given ? t->embed.given_rows : 0) \
    AXIS(GIVEN_ALL, t->embed.given * t->layers) AXIS(GIVEN, t->embed.given) \
    AXIS(UP, s->mlp.given ? 0 : s->mlp.inner) \
    AXIS(BESIDE, s->mlp.mixture && c->mixture.beside ? t->width : 0) \
    AXIS(EXPERT_SCALES, s->mlp.mixture && c->mixture.beside ? c->mixture.experts : 0) \
    AXIS(COPIES, t->copies.count) AXIS(PAIRS, t->copies.count * t->copies.count) \
    AXIS(BUT_FIRST, t->copies.count ? t->copies.count - 1 : 0) \
    AXIS(COPIED, t->copies.count ? t->width : 0) AXIS(SCALED, t->copies.scaled ? t->width : 0)
/* clang-format on */

#define INNER(m) ((m)->heads * (m)->d_v)
#define IS_STATE(m) ((m) && (m)->update != MIXER_CONVOLVE)
#define IS_TERMS (c->score_bias == BIAS_DISENTANGLED)
#define IS_OWN(term) ((c->bias_terms & (TERM_SHARED | (term))) == (term))
#define INDEX(name, has) INDEX_##name,
#define BIT(name, has) name = 1 << INDEX_##name,
#define VALUE(name, has) | ((has) ? name : 0)
#define AXIS_ID(name, size) AXIS_##name,
#define AXIS_SIZE(name, size) [AXIS_##name] = size,

enum { PROPERTIES(INDEX) PROPERTY_COUNT };
/* NEVER: two properties that exclude each other, for parameters that do not exist. ALONE: the bias
 * does not need the properties that its matrix needs. */
enum { ANY = 0, PROPERTIES(BIT) NEVER = PLAIN | MIXTURE, ALONE = 1 << PROPERTY_COUNT };
enum axis { AXES(AXIS_ID) };

/* The sublayer that has a slot's parameter. For a parameter outside of layers, or of a layer that
 * the model lacks, it is such a sublayer of the first layer or, if there is none, the model's first
 * sublayer. NULL: the layer has no such sublayer. */
static const struct sublayer *sublayer_of(struct slot slot, const struct config *c)
{
    const struct stack *t = stack_of(c, slot.branch);
    bool in_layer = slot.layer >= 0 && (size_t)slot.layer < t->layers;
    const struct layer *layer = in_layer ? &t->layer[slot.layer] : c->description->layers;
    bool of_mlp = slot.id >= SLOTS_OF_ATTENTION;
    bool is_norm = (slot.id | 1) == SLOT_NORM_1_BIAS; /* the layer's first norm, which a mixer has
                                                       * in a layer without attention */
    for (const struct sublayer *s = layer->sublayers; s < layer->sublayers + layer->all; s++)
        if (is_norm ? sublayer_outside(s) == slot.branch && s->kind != SUBLAYER_MLP
                    : s->branch == slot.branch && of_mlp == (s->kind == SUBLAYER_MLP))
            return s;
    return in_layer ? NULL : layer->sublayers;
}

static int properties_of(const struct config *c, const struct sublayer *s)
{
    const struct mixer *m = s->mixer;
    return 0 PROPERTIES(VALUE);
}

static size_t axis_size(enum axis axis, const struct config *c, const struct stack *t,
                        const struct sublayer *s)
{
    const struct mixer *m = s->mixer;
    const size_t sizes[] = {AXES(AXIS_SIZE)};
    return sizes[axis];
}

/* A kind of parameter. shape: its axes; if one has size 0 the parameter does not exist. needs:
 * properties without which it does not exist; bias_needs: further properties that its bias or shift
 * needs. each: an axis whose size is the number of such parameters in a layer; AXIS_NONE: one. */
static const struct parameter_row {
    enum axis shape[SLOT_RANK_MAX];
    int needs, bias_needs;
    enum axis each;
} rows[SLOTS / 2] = {
    [SLOT_NONE / 2] = {{AXIS_NONE}, NEVER, NEVER},
    [SLOT_TOKENS / 2] = {{AXIS_VOCABULARY, AXIS_WORD}, ANY, NEVER},
    [SLOT_POSITIONS / 2] = {{AXIS_POSITIONS, AXIS_TABLES}, BLOCKS | LEARNED_POSITIONS, NEVER},
    [SLOT_SEGMENTS / 2] = {{AXIS_SEGMENTS, AXIS_TABLES}, ANY, NEVER},
    [SLOT_EMBED_NORM / 2] = {{AXIS_TABLES}, EMBEDDING_NORM | SCALE, SHIFT},
    [SLOT_EMBED_PROJECT / 2] = {{AXIS_EMBED_PROJECT, AXIS_WORD}, ANY, PROJECTED_LAST},
    [SLOT_PROJECT_OUT / 2] = {{AXIS_NARROW, AXIS_CHANNELS}, ANY, NEVER},
    [SLOT_BIASES / 2] = {{AXIS_BUCKETS, AXIS_OF_BUCKET}, ANY, NEVER},
    [SLOT_BIAS_NORM / 2] = {{AXIS_BIAS_NORM}, ANY, SHIFT},
    [SLOT_GIVEN_TOKENS / 2] = {{AXIS_GIVEN_ROWS, AXIS_GIVEN_ALL}, ANY, NEVER},
    [SLOT_GIVEN_PROJECT / 2] = {{AXIS_GIVEN_ALL, AXIS_CHANNELS}, ANY, NEVER},
    [SLOT_GIVEN_NORM / 2] = {{AXIS_GIVEN}, SCALE, SHIFT},
    [SLOT_COPY_IN / 2] = {{AXIS_COPIED, AXIS_CHANNELS}, ANY, NEVER, AXIS_BUT_FIRST},
    [SLOT_COPY_OUT / 2] = {{AXIS_COPIED, AXIS_CHANNELS}, ANY, NEVER, AXIS_BUT_FIRST},
    [SLOT_FINAL_NORM / 2] = {{AXIS_CHANNELS}, BLOCKS | FINAL_NORM | SCALE, SHIFT},
    [SLOT_POOLER / 2] = {{AXIS_POOLER, AXIS_CHANNELS}, ANY, ANY},
    [SLOT_TRANSFORM / 2] = {{AXIS_TRANSFORM, AXIS_CHANNELS}, ANY, OF_TRANSFORM},
    [SLOT_TRANSFORM_NORM / 2] = {{AXIS_TRANSFORM_NORM}, SCALE, SHIFT},
    [SLOT_DISCRIMINATOR / 2] = {{AXIS_DISCRIMINATOR, AXIS_CHANNELS}, ANY, ANY},
    [SLOT_DISCRIMINATOR_LOGIT / 2] = {{AXIS_DISCRIMINATOR_LOGIT, AXIS_CHANNELS}, ANY, ANY},
    [SLOT_UNEMBED / 2] = {{AXIS_LOGITS, AXIS_HEAD}, BLOCKS | UNTIED, ALONE | BLOCKS | OF_LOGITS},
    [SLOT_NORM_1 / 2] = {{AXIS_CHANNELS}, BLOCKS | NORM_IN | SCALE, SHIFT},
    [SLOT_Q_DOWN / 2] = {{AXIS_LATENT_Q, AXIS_CHANNELS}, ANY, NEVER},
    [SLOT_Q_DOWN_NORM / 2] = {{AXIS_LATENT_Q}, ANY, NEVER},
    [SLOT_Q_UP / 2] = {{AXIS_Q_UP, AXIS_LATENT_Q}, ANY, NEVER},
    [SLOT_KV_DOWN / 2] = {{AXIS_LATENT_KV, AXIS_CHANNELS}, ANY, NEVER},
    [SLOT_K_ROTARY / 2] = {{AXIS_K_ROTARY, AXIS_CHANNELS}, ANY, NEVER},
    [SLOT_KV_DOWN_NORM / 2] = {{AXIS_LATENT_KV}, ANY, NEVER},
    [SLOT_Q / 2] = {{AXIS_QUERIES, AXIS_SOURCE}, PROJECTIONS, OF_KEYS},
    [SLOT_K / 2] = {{AXIS_KEYS, AXIS_MEMORY}, PROJECTIONS, OF_KEYS},
    [SLOT_V / 2] = {{AXIS_VALUES, AXIS_V_INPUT}, PROJECTIONS, OF_INPUT},
    [SLOT_O / 2] = {{AXIS_OUT, AXIS_CONTEXT}, OUT_PROJ, OF_OUTPUT},
    [SLOT_LAYER_BIASES / 2] = {{AXIS_LAYER_BUCKETS, AXIS_HEADS}, ANY, NEVER},
    [SLOT_BIAS_Q / 2] = {{AXIS_BIAS_Q, AXIS_CHANNELS}, ANY, OF_INPUT},
    [SLOT_BIAS_K / 2] = {{AXIS_BIAS_K, AXIS_CHANNELS}, ANY, OF_INPUT},
    [SLOT_Q_NORM / 2] = {{AXIS_Q_NORM}, Q_NORMED, HEAD_SHIFT, AXIS_Q_OWN},
    [SLOT_K_NORM / 2] = {{AXIS_K_NORM}, K_NORMED, HEAD_SHIFT, AXIS_K_OWN},
    [SLOT_SINKS / 2] = {{AXIS_SINKS}, ANY, NEVER},
    [SLOT_LAMBDA_Q1 / 2] = {{AXIS_LAMBDA}, ANY, NEVER},
    [SLOT_LAMBDA_K1 / 2] = {{AXIS_LAMBDA}, ANY, NEVER},
    [SLOT_LAMBDA_Q2 / 2] = {{AXIS_LAMBDA}, ANY, NEVER},
    [SLOT_LAMBDA_K2 / 2] = {{AXIS_LAMBDA}, ANY, NEVER},
    [SLOT_CONTEXT_NORM / 2] = {{AXIS_NONE}, NEVER, NEVER},
    [SLOT_OUT_GATE / 2] = {{AXIS_OUT_GATE, AXIS_GATE_INPUT}, ANY, OF_INPUT},
    [SLOT_OUT_GATE_DOWN / 2] = {{AXIS_GATE_RANK, AXIS_CHANNELS}, ANY, NEVER},
    [SLOT_CONV_Q / 2] = {{AXIS_CONV_KEYS, AXIS_TAPS}, ANY, OF_CONV},
    [SLOT_CONV_K / 2] = {{AXIS_CONV_KEYS, AXIS_TAPS}, ANY, OF_CONV},
    [SLOT_CONV_V / 2] = {{AXIS_CONV_VALUES, AXIS_TAPS}, ANY, OF_CONV},
    [SLOT_STEP_DOWN / 2] = {{AXIS_STEP_RANK, AXIS_SOURCE}, ANY, NEVER},
    [SLOT_STEP_NORM / 2] = {{AXIS_STEP_NORM}, K_NORMED, NEVER},
    [SLOT_STEP / 2] = {{AXIS_STEPS, AXIS_STEP_INPUT}, ANY, OF_KEYS},
    [SLOT_STEP_SHIFT / 2] = {{AXIS_STEPS}, ANY, NEVER},
    [SLOT_DECAY / 2] = {{AXIS_STATES, AXIS_EACH_DECAY}, ANY, NEVER},
    [SLOT_BETA / 2] = {{AXIS_BETA, AXIS_CHANNELS}, ANY, NEVER},
    [SLOT_SKIP / 2] = {{AXIS_SKIP}, ANY, NEVER},
    [SLOT_OUT_NORM / 2] = {{AXIS_OUT_NORM}, ANY, NEVER},
    [SLOT_NORM_1_POST / 2] = {{AXIS_CHANNELS}, NORM_OUT | SCALE, SHIFT},
    [SLOT_NORM_2 / 2] = {{AXIS_CHANNELS}, BLOCKS | NORM_IN | SCALE, SHIFT},
    [SLOT_GATE / 2] = {{AXIS_HIDDEN, AXIS_CHANNELS}, GATED | PLAIN, OF_MLP},
    [SLOT_UP / 2] = {{AXIS_UP, AXIS_CHANNELS}, BLOCKS | PLAIN, OF_MLP},
    [SLOT_DOWN / 2] = {{AXIS_CHANNELS, AXIS_HIDDEN}, BLOCKS | PLAIN, OF_DOWN},
    [SLOT_XIELU_POSITIVE / 2] = {{AXIS_ONE}, XIELU, NEVER},
    [SLOT_XIELU_NEGATIVE / 2] = {{AXIS_ONE}, XIELU, NEVER},
    [SLOT_XIELU_BETA / 2] = {{AXIS_ONE}, XIELU, NEVER},
    [SLOT_XIELU_EPSILON / 2] = {{AXIS_ONE}, XIELU, NEVER},
    [SLOT_ROUTER / 2] = {{AXIS_EXPERTS, AXIS_CHANNELS}, MIXTURE, ROUTER_BIAS},
    [SLOT_ROUTER_NORM / 2] = {{AXIS_BESIDE}, MIXTURE, SHIFT},
    [SLOT_CORRECTION / 2] = {{AXIS_CORRECTION}, MIXTURE, NEVER},
    [SLOT_EXPERT_SCALE / 2] = {{AXIS_EXPERT_SCALES}, MIXTURE, NEVER},
    [SLOT_EXPERT_NORM / 2] = {{AXIS_BESIDE}, MIXTURE, SHIFT},
    [SLOT_EXPERT_IN / 2] = {{AXIS_LATENT, AXIS_CHANNELS}, MIXTURE, OF_MLP},
    [SLOT_EXPERT_GATE /
        2] = {{AXIS_EXPERT, AXIS_EXPERT_WIDTH}, GATED | MIXTURE, OF_EXPERTS, AXIS_EXPERTS},
    [SLOT_EXPERT_UP / 2] = {{AXIS_EXPERT, AXIS_EXPERT_WIDTH}, MIXTURE, OF_EXPERTS, AXIS_EXPERTS},
    [SLOT_EXPERT_DOWN / 2] = {{AXIS_EXPERT_WIDTH, AXIS_EXPERT}, MIXTURE, OF_EXPERTS, AXIS_EXPERTS},
    [SLOT_EXPERT_OUT / 2] = {{AXIS_CHANNELS, AXIS_LATENT}, MIXTURE, OF_MLP},
    [SLOT_EXPERTS_POST / 2] = {{AXIS_BESIDE}, MIXTURE, SHIFT},
    [SLOT_SHARED_POST / 2] = {{AXIS_BESIDE}, MIXTURE, SHIFT},
    [SLOT_SHARED_GATE / 2] = {{AXIS_SHARED, AXIS_CHANNELS}, GATED | MIXTURE, OF_MLP},
    [SLOT_SHARED_UP / 2] = {{AXIS_SHARED, AXIS_CHANNELS}, MIXTURE, OF_MLP},
    [SLOT_SHARED_DOWN / 2] = {{AXIS_CHANNELS, AXIS_SHARED}, MIXTURE, OF_MLP},
    [SLOT_SHARED_SWITCH / 2] = {{AXIS_SWITCH, AXIS_CHANNELS}, MIXTURE, NEVER},
    [SLOT_NORM_2_POST / 2] = {{AXIS_CHANNELS}, NORM_OUT | SCALE, SHIFT},
    [SLOT_LAYER_SCALE / 2] = {{AXIS_LAYER_SCALE}, ANY, NEVER},
    [SLOT_COPY_NORM / 2] = {{AXIS_COPIED}, SCALE, SHIFT},
    [SLOT_COPY_ROUTER / 2] = {{AXIS_COPIES, AXIS_CHANNELS}, ANY, NEVER},
    [SLOT_COPY_PREDICT / 2] = {{AXIS_PAIRS, AXIS_COPIES}, ANY, NEVER},
    [SLOT_COPY_CORRECT / 2] = {{AXIS_COPIES, AXIS_COPIES}, ANY, NEVER},
    [SLOT_COPY_SCALE / 2] = {{AXIS_SCALED}, ANY, NEVER},
};

/* Whether a branch of a model can have a slot with this id in this layer, or outside of layers. An
 * encoder has its own tables only if the config says so. */
static bool is_of_branch(struct slot slot, const struct config *c)
{
    size_t layers = slot.branch == BRANCH_SOURCE ? stack_of(c, BRANCH_SOURCE)->layers
                                                 : config_own_layers(c, c->n_layer);
    bool beside = slot.branch == BRANCH_PER_LAYER || slot.branch == BRANCH_LAUREL;
    if (beside                        ? !(slot.branch == BRANCH_LAUREL ? c->laurel : c->given)
        : slot.branch == BRANCH_MIXER ? !c->mixer.heads
                                      : slot.branch != BRANCH_TEXT && !has_encoder(c))
        return false;
    if (slot.id < SLOTS_OF_ENDS)
        return slot.layer < 0 &&
               (slot.branch == BRANCH_TEXT ||
                (slot.branch == BRANCH_SOURCE &&
                 ((slot.id | 1) == SLOT_FINAL_NORM_BIAS || slot.id == SLOT_BIASES ||
                  (slot.id == SLOT_TOKENS && stack_of(c, BRANCH_SOURCE)->embed.own_table) ||
                  (c->own_tables &&
                   (slot.id == SLOT_POSITIONS || (slot.id | 1) == SLOT_EMBED_NORM_BIAS)))));
    return slot.layer >= 0 && (size_t)slot.layer < layers &&
           (!beside || (slot.id >= SLOTS_OF_ATTENTION && slot.id < SLOT_LAYER_SCALE)) &&
           (slot.branch != BRANCH_MIXER || slot.id < SLOTS_OF_ATTENTION) &&
           (slot.branch != BRANCH_CROSS ||
            (slot.id < SLOTS_OF_ATTENTION && slot.id != SLOT_LAYER_BIASES));
}

size_t slot_count(int id, const struct config *config)
{
    enum axis each = rows[id / 2].each;
    const struct stack *text = stack_of(config, BRANCH_TEXT);
    const struct sublayer *own = sublayer_of(slot_of(BRANCH_TEXT, id, 0), config);
    const struct sublayer *first = own ? own : config->description->layers->sublayers;
    return each == AXIS_NONE ? 0 : axis_size(each, config, text, first);
}

bool slot_is_of_several(int id)
{
    return rows[id / 2].each != AXIS_NONE;
}

size_t slot_shape(size_t shape[SLOT_RANK_MAX], struct slot slot, const struct config *config)
{
    const struct parameter_row *row = &rows[slot.id / 2];
    bool is_bias = slot.id & 1;
    bool alone = is_bias && row->bias_needs & ALONE;
    int needs = (alone ? 0 : row->needs) | (is_bias ? row->bias_needs & ~ALONE : 0);
    long long count = (long long)slot_count(slot.id, config);
    if (slot.expert >= count || (slot.expert < 0) != !count)
        return 0;
    const struct stack *t = stack_of(config, slot.branch);
    const struct sublayer *s = sublayer_of(slot, config);
    if (!s || needs & ~properties_of(config, s) || !is_of_branch(slot, config))
        return 0;
    shape[0] = axis_size(row->shape[0], config, t, s);
    shape[1] = axis_size(is_bias ? AXIS_NONE : row->shape[1], config, t, s);
    if (!shape[0] || !axis_size(row->shape[1], config, t, s))
        return 0; /* an axis has size 0: the parameter does not exist */
    return is_bias || row->shape[1] == AXIS_NONE ? 1 : 2;
}

bool slot_exists(struct slot slot, const struct config *config)
{
    size_t shape[SLOT_RANK_MAX];
    return slot_shape(shape, slot, config) > 0;
}

/* --- lists ------------------------------------------------------------------------------------ */

/* The sort key of a slot in lists. Parameters outside of layers come first, by slot id, the
 * source's before the text's. Then come the layers of the decoder: in each its attention, then
 * attention to the source or a mixer, the low-rank branch, the MLP, and the sublayer of the extra
 * input. The layers of the encoder come last. */
static uint64_t order_of(struct slot slot)
{
    static const unsigned char of_branch[] = {
        [BRANCH_SOURCE] = 1, [BRANCH_TEXT] = 1,   [BRANCH_CROSS] = 2,
        [BRANCH_MIXER] = 2,  [BRANCH_LAUREL] = 3, [BRANCH_PER_LAYER] = 5};
    bool of_layer = slot.layer >= 0;
    bool of_mlp = slot.id >= SLOTS_OF_ATTENTION && slot.branch < BRANCH_PER_LAYER;
    uint64_t stack = !of_layer ? 0 : slot.branch == BRANCH_SOURCE ? 2 : 1;
    uint64_t sublayer = !of_layer ? 0 : of_mlp ? 4 : of_branch[slot.branch];
    uint64_t kind = (uint64_t)(slot.id / 2) << 3 | (slot.branch ^ BRANCH_SOURCE);
    return stack << 62 | (uint64_t)(slot.layer + 1) << 47 | sublayer << 44 | kind << 32 |
           (uint64_t)(slot.expert + 1) << 1 | (slot.id & 1);
}

/* A list to which slots are added. items NULL: the slots are only counted. */
struct slot_listing {
    char *items;
    size_t step, count;
    const struct config *config;
};

/* Add all existing slots with ids from slot.id to end - 1, each followed by its bias. */
static void add(struct slot_listing *list, struct slot slot, int end)
{
    for (; slot.id < end; slot.id = (unsigned char)(slot.id + 2)) {
        short count = (short)slot_count(slot.id, list->config);
        for (int i = 0; i < 2 * (count ? count : 1); i++) {
            slot.expert = (short)(count ? i / 2 : -1);
            struct slot own = i % 2 ? slot_bias(slot) : slot;
            if (!slot_exists(own, list->config))
                continue;
            if (list->items)
                memcpy(list->items + list->count * list->step, &own, sizeof own);
            list->count++;
        }
    }
}

size_t slot_list(void *list, size_t step, const struct config *config)
{
    struct slot_listing to = {list, step, 0, config};
    for (int id = 0; id < SLOTS_OF_ENDS; id += 2)
        for (int branch = BRANCH_SOURCE; branch >= BRANCH_TEXT; branch--)
            add(&to, slot_of_end(branch, id), id + 2);
    for (int branch = BRANCH_TEXT; branch <= BRANCH_SOURCE; branch++)
        for (size_t layer = 0; layer < config_own_layers(config, config_layers(config)); layer++) {
            add(&to, slot_of(branch, SLOTS_OF_ENDS, layer), SLOTS_OF_ATTENTION);
            for (int of = BRANCH_CROSS; branch == BRANCH_TEXT && of <= BRANCH_MIXER; of++)
                if (of != BRANCH_PER_LAYER)
                    add(&to, slot_of(of, SLOTS_OF_ENDS, layer), SLOTS_OF_ATTENTION);
            if (branch == BRANCH_TEXT)
                add(&to, slot_of(BRANCH_LAUREL, SLOTS_OF_ATTENTION, layer), SLOTS);
            add(&to, slot_of(branch, SLOTS_OF_ATTENTION, layer), SLOTS);
            if (branch == BRANCH_TEXT)
                add(&to, slot_of(BRANCH_PER_LAYER, SLOTS_OF_ATTENTION, layer), SLOTS);
        }
    return to.count;
}

static int compare_order(const void *a, const void *b)
{
    uint64_t order = order_of(*(const struct slot *)a), other = order_of(*(const struct slot *)b);
    return (order > other) - (order < other);
}

size_t slot_find(const void *list, size_t count, size_t step, struct slot slot)
{
    const char *at = bsearch(&slot, list, count, step, compare_order);
    return at ? (size_t)(at - (const char *)list) / step : SIZE_MAX;
}

const char *parameter_shape_text(char text[PARAMETER_SHAPE_BYTES], size_t rank, const size_t *shape)
{
    size_t used = (size_t)snprintf(text, PARAMETER_SHAPE_BYTES, "[");
    for (size_t axis = 0; axis < rank; axis++)
        used += (size_t)snprintf(text + used, PARAMETER_SHAPE_BYTES - used, "%s%zu",
                                 axis ? ", " : "", shape[axis]);
    snprintf(text + used, PARAMETER_SHAPE_BYTES - used, "]");
    return text;
}
