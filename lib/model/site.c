#include "model/site.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/num.h"
#include "model/layer.h"
#include "model/mechanism.h"

/* --- the table -------------------------------------------------------------------------------- */

#define ENCODER "encoder: "
#define ALSO_ENCODER(about) about, ENCODER about

/* A row: its last arguments are TransformerLens' name and a line of help for each part that has the
 * site. OF_LAYERS: a site of layers; OF_LAYERS_AS: with another name in cross-attention; OF_MAPS:
 * maps whose masked cells reports leave out; OF_MODEL: a site outside of layers. */
#define ROW(id, name, cross, axes, in_layer, masked, alias, ...) \
    [SITE_##                                                     \
        id] = {{name, "enc." name, cross}, AXES_##axes, 0, in_layer, masked, {__VA_ARGS__}, alias}
#define OF_LAYERS_AS(id, name, cross, axes, ...) \
    ROW(id, name, cross, axes, true, false, __VA_ARGS__)
#define OF_LAYERS(id, name, axes, ...) OF_LAYERS_AS(id, name, "cross_" name, axes, __VA_ARGS__)
#define OF_MAPS(id, name, axes, ...) ROW(id, name, "cross_" name, axes, true, true, __VA_ARGS__)
#define OF_MODEL(id, name, axes, ...) ROW(id, name, NULL, axes, false, false, __VA_ARGS__)

/* A site of MLPs, also of the step of a layer's own input and of the low-rank branch, with other
 * names. */
#define OF_MLP(id, name, per_layer, laurel, alias, ...)                \
    [SITE_##id] = {{name, "enc." name, NULL, per_layer, NULL, laurel}, \
                   AXES_TOKEN_CHANNEL,                                 \
                   AXES_TOKEN_CHANNEL,                                 \
                   true,                                               \
                   false,                                              \
                   {__VA_ARGS__},                                      \
                   alias}

/* A site of attention, or of none, and of mixers, with axes of their own there. The lines of help
 * are those of a text, its encoder, cross-attention, a layer's own input (none), and a mixer. */
#define OF_BOTH(id, name, cross, of_mixer, axes, mixer_axes, masked, alias, ...) \
    [SITE_##id] = {{name, "enc." name, cross, NULL, "mix_" of_mixer},            \
                   AXES_##axes,                                                  \
                   AXES_##mixer_axes,                                            \
                   true,                                                         \
                   masked,                                                       \
                   {__VA_ARGS__},                                                \
                   alias}
#define OF_MIXER(id, name, axes, about) \
    OF_BOTH(id, name, NULL, name, axes, axes, false, NULL, NULL, NULL, NULL, NULL, about)

#define HOOK(name) "blocks.L." name

const struct site_row site_rows[SITE_IDS] = {
    [SITE_EMBEDDING] = {.name = {"embedding", "source_embedding"},
                        .axes = AXES_TOKEN_CHANNEL,
                        .about = {"token + position embedding",
                                  "token + position embedding of the second text"},
                        .alias = "hook_embed + hook_pos_embed"},
    OF_LAYERS(PREDICTED, "predicted", COPY_TOKEN_CHANNEL, NULL,
              "copies of the residual stream as the layer predicts them"),
    OF_LAYERS(RESID_PRE, "resid_pre", TOKEN_CHANNEL, HOOK("hook_resid_pre"),
              ALSO_ENCODER("residual stream before the block")),
    OF_LAYERS_AS(LN_1, "ln_1", "ln_cross", TOKEN_CHANNEL, HOOK("ln1.hook_out"),
                 ALSO_ENCODER("first layer norm"), "layer norm before cross-attention"),
    OF_BOTH(Q_PRE, "q_pre", "cross_q_pre", "q_pre", HEAD_TOKEN_DIM, GROUP_TOKEN_DIM, false,
            HOOK("attn.hook_q"), "queries before the rotary embedding", NULL, NULL, NULL,
            "queries of the mixer before the convolution"),
    OF_BOTH(K_PRE, "k_pre", "cross_k_pre", "k_pre", GROUP_TOKEN_DIM, GROUP_TOKEN_DIM, false,
            HOOK("attn.hook_k"), "keys before the rotary embedding", NULL, NULL, NULL,
            "keys of the mixer before the convolution"),
    OF_MIXER(V_PRE, "v_pre", HEAD_TOKEN_DIM, "values of the mixer before the convolution"),
    OF_MIXER(
        CONV, "conv", TOKEN_CHANNEL,
        "sums over the last tokens, channel by channel: of queries, keys and values, of values "
        "alone, or of keys times values"),
    OF_BOTH(Q, "q", "cross_q", "q", HEAD_TOKEN_DIM, GROUP_TOKEN_DIM, false, HOOK("attn.hook_q"),
            ALSO_ENCODER("queries"), "queries of the cross-attention", NULL,
            "queries of the mixer: what a token reads from the state"),
    OF_BOTH(K, "k", "cross_k", "k", GROUP_TOKEN_DIM, GROUP_TOKEN_DIM, false, HOOK("attn.hook_k"),
            ALSO_ENCODER("keys"), "keys from the encoder output", NULL,
            "keys of the mixer: where a token writes into the state"),
    OF_BOTH(V, "v", "cross_v", "v", GROUP_TOKEN_DIM, HEAD_TOKEN_DIM, false, HOOK("attn.hook_v"),
            ALSO_ENCODER("values"), "values from the encoder output", NULL,
            "values of the mixer: what a token writes into the state"),
    OF_MIXER(STEP, "step", HEAD_TOKEN, "how strongly a token writes into the state"),
    OF_MIXER(DECAY, "decay", HEAD_TOKEN_DIM,
             "what a token leaves of the state: factors of a head, or of each of its channels"),
    OF_LAYERS(SCORES, "scores", HEAD_QUERY_KEY, NULL,
              "q·k before scale and mask (--attention linear: φ(q)·φ(k))",
              ENCODER "q·k before the scale", "q·k of the cross-attention"),
    OF_LAYERS(SOFTMAX, "softmax", HEAD_QUERY_KEY, NULL,
              "softmax of the scaled scores over all keys (only with --mask-after)"),
    OF_MAPS(MASKED, "masked", HEAD_QUERY_KEY, HOOK("attn.hook_attn_scores"),
            "scaled scores, -inf for masked keys (with --mask-after: softmax, linear: scores, 0 "
            "for masked keys)",
            ENCODER "scaled scores (there is no mask)", "scaled scores (there is no mask)"),
    OF_BOTH(WEIGHTS, "weights", "cross_weights", "map", HEAD_QUERY_KEY, HEAD_QUERY_KEY, true,
            HOOK("attn.hook_pattern"),
            "attention weights: softmax of masked (linear: masked / its sum); each row sums to 1, "
            "with its sink",
            ENCODER "attention weights", "attention weights from the text to the source", NULL,
            "what a token takes of each value of the mixer: mix_context = mix_map · mix_v"),
    OF_MAPS(
        DIFFERENCE, "difference", HEAD_QUERY_KEY, NULL,
        "weights of head h - lambda · those of head h + H/2, which multiply the values of both"),
    OF_LAYERS(SINK, "sink", HEAD_TOKEN, NULL,
              "part of the softmax that no key has: it completes a row of weights to 1"),
    OF_BOTH(MAP_NORM, "map_norm", NULL, "map_norm", QUERY_KEY, QUERY_KEY, true, NULL, NULL, NULL,
            NULL, NULL, "mix_map of all heads as one: the root of the sum of its squares"),
    OF_MIXER(STATE, "state", HEAD_KEY_VALUE, "the state of each head after the last token"),
    OF_MIXER(STATES, "states", HEAD_TOKEN_DIM,
             "the state of each head after each token, its rows side by side"),
    OF_BOTH(CONTEXT, "context", "cross_context", "context", HEAD_TOKEN_DIM, HEAD_TOKEN_DIM, false,
            HOOK("attn.hook_z"),
            "weights · v: the output of each head, before the output projection",
            ENCODER "weights · v", "cross_weights · cross_v", NULL,
            "what each head of the mixer reads from its state"),
    OF_BOTH(GATE, "gate", NULL, "gate", HEAD_TOKEN_DIM, HEAD_TOKEN_DIM, false, NULL,
            "what multiplies the context, before the logistic function", NULL, NULL, NULL,
            "what multiplies the context of the mixer, before its function"),
    OF_BOTH(GATED, "gated", NULL, "gated", TOKEN_CHANNEL, TOKEN_CHANNEL, false, NULL,
            "context, each head times its gate, or normed and scaled, side by side", NULL, NULL,
            NULL, "the context of all heads of the mixer, gated and normed"),
    OF_BOTH(ATTN_OUT, "attn_out", "cross_out", "out", TOKEN_CHANNEL, TOKEN_CHANNEL, false,
            HOOK("hook_attn_out"), ALSO_ENCODER("output of the attention layer"),
            "output of the cross-attention layer", NULL, "output of the mixer"),
    OF_LAYERS(LN_1_POST, "ln_1_post", TOKEN_CHANNEL, HOOK("ln1_post.hook_out"), "norm of attn_out"),
    OF_LAYERS_AS(RESID_MID, "resid_mid", "resid_cross", TOKEN_CHANNEL, HOOK("hook_resid_mid"),
                 ALSO_ENCODER("residual stream after attention"),
                 "residual stream after cross-attention"),
    OF_LAYERS(LN_2, "ln_2", TOKEN_CHANNEL, HOOK("ln2.hook_out"), ALSO_ENCODER("second layer norm")),
    OF_LAYERS(LN_EXPERTS, "ln_experts", TOKEN_CHANNEL, NULL,
              "layer norm of what experts read, beside the MLP"),
    OF_LAYERS(ROUTER, "router", TOKEN_EXPERT, NULL, "logits of the experts, before any is chosen"),
    OF_LAYERS(EXPERT_WEIGHTS, "expert_weights", TOKEN_EXPERT, NULL,
              "factors of the experts' outputs, 0 for those that are not chosen"),
    OF_LAYERS(SHARED_OUT, "shared_out", TOKEN_CHANNEL, NULL,
              "output of the shared expert, which all tokens have"),
    OF_MLP(MLP_GATE, "mlp_gate", "per_layer_gate", NULL, HOOK("mlp.hook_pre"),
           ALSO_ENCODER("gate of the MLP, before the activation"), NULL,
           "gate of the layer's own input, before the activation"),
    OF_MLP(MLP_UP, "mlp_up", "per_layer_input", NULL, HOOK("mlp.hook_pre_linear"),
           ALSO_ENCODER("input that the gate multiplies"), NULL,
           "the layer's own input, of the token and its embedding"),
    OF_MLP(MLP_ACT, "mlp_act", "per_layer_act", "laurel_act", HOOK("mlp.hook_post"),
           ALSO_ENCODER("hidden channels of the MLP, after the activation"), NULL,
           "the layer's own input, times its gate", NULL,
           "ln_1 by the first matrix of the low-rank branch"),
    OF_MLP(MLP_OUT, "mlp_out", "per_layer_out", "laurel_out", HOOK("hook_mlp_out"),
           ALSO_ENCODER("output of the MLP"), NULL, "projection of per_layer_act", NULL,
           "laurel_act by the second matrix of the low-rank branch"),
    OF_MLP(LN_2_POST, "ln_2_post", "per_layer_post", "laurel_post", HOOK("ln2_post.hook_out"),
           "norm of mlp_out", NULL, NULL, "norm of per_layer_out", NULL, "norm of laurel_out"),
    OF_LAYERS(RESID_MLP, "resid_mlp", TOKEN_CHANNEL, NULL,
              "residual stream before the layer's own input is added"),
    OF_LAYERS(CORRECTED, "corrected", COPY_TOKEN_CHANNEL, NULL,
              "predicted copies, corrected by what the layer made of the one it works on"),
    OF_LAYERS(STREAMS, "streams", COPY_TOKEN_CHANNEL, NULL,
              "copies of the residual stream after the block"),
    OF_LAYERS(MERGED, "merged", TOKEN_CHANNEL, NULL,
              "streams made one, as after the last block: what the logit lens reads"),
    OF_LAYERS(RESID_POST, "resid_post", TOKEN_CHANNEL, HOOK("hook_resid_post"),
              ALSO_ENCODER("residual stream after the block")),
    OF_MODEL(LN_F, "ln_f", TOKEN_CHANNEL, "ln_final.hook_out", ALSO_ENCODER("final layer norm")),
    OF_MODEL(TRANSFORM, "transform", TOKEN_CHANNEL, "mlm_head.ln.hook_normalized",
             "input of the unembedding of a masked model: a dense layer and its norm"),
    OF_MODEL(POOLED, "pooled", FIRST_CHANNEL, NULL, "dense layer of the first token"),
    OF_MODEL(DISCRIMINATOR, "discriminator", TOKEN_CHANNEL, NULL,
             "logit of each token: whether it was replaced"),
    OF_MODEL(LOGITS, "logits", TOKEN_WORD, "unembed.hook_out",
             "logits of the next token (of a masked model: of the token itself)"),
    OF_MAPS(VALUE_WEIGHTED, "value_weighted", HEAD_QUERY_KEY, NULL,
            "weight times the norm of the value: weight |v|"),
    OF_MAPS(NORM_WEIGHTED, "norm_weighted", HEAD_QUERY_KEY, NULL,
            "norm of each key's contribution to attn_out: |weight v W_O|"),
    OF_MAPS(VALUE_ZEROING, "value_zeroing", QUERY_KEY, NULL,
            "cosine distance between a layer's outputs with and without a token's value, divided "
            "by the row sum"),
    OF_MAPS(ROLLOUT, "rollout", QUERY_KEY, NULL,
            "attention rollout: the product of (mean weights + 1) / 2 over the layers up to this "
            "one (without a residual stream: of the mean weights)"),
    OF_LAYERS(ENTROPY, "entropy", HEAD_TOKEN, NULL,
              ALSO_ENCODER("entropy of each row of weights, without its sink, in nats (--bits: in "
                           "bits); with --words, the mean of a word's tokens"),
              "entropy of each row of cross_weights"),
    OF_LAYERS(ENTROPY_SHARE, "entropy_share", HEAD_TOKEN, NULL,
              ALSO_ENCODER("entropy divided by the log of the number of visible keys"),
              "cross_entropy divided by the log of the number of visible keys"),
    OF_MAPS(ATTENTION_GRADIENT, "attention_gradient", HEAD_QUERY_KEY, NULL,
            ALSO_ENCODER("weights times the gradient of a logit (run --gradient)"),
            "cross_weights times the gradient of a logit"),
    OF_LAYERS(MASK, "mask", HEAD_QUERY_KEY, NULL,
              "1 for masked keys (mask, window, pattern, --knockout), 0 for visible ones"),
    OF_LAYERS(VISIBLE, "visible", HEAD_QUERY_KEY, NULL, "1 - mask"),
};

/* What more than to be shown a site of the pass is for. */
enum { EDITED = 1, DIFFERENTIATED = 2, BOTH = EDITED | DIFFERENTIATED };

static const unsigned char site_uses[SITE_IDS] = {
    [SITE_EMBEDDING] = BOTH,
    [SITE_PREDICTED] = BOTH,
    [SITE_RESID_PRE] = BOTH,
    [SITE_LN_1] = BOTH,
    [SITE_Q_PRE] = BOTH,
    [SITE_K_PRE] = BOTH,
    [SITE_V_PRE] = EDITED,
    [SITE_CONV] = EDITED,
    [SITE_Q] = BOTH,
    [SITE_K] = BOTH,
    [SITE_V] = BOTH,
    [SITE_STEP] = EDITED,
    [SITE_DECAY] = EDITED,
    [SITE_SCORES] = BOTH,
    [SITE_SOFTMAX] = EDITED,
    [SITE_MASKED] = BOTH,
    [SITE_WEIGHTS] = BOTH,
    [SITE_DIFFERENCE] = BOTH,
    [SITE_SINK] = DIFFERENTIATED,
    [SITE_CONTEXT] = BOTH,
    [SITE_GATE] = EDITED,
    [SITE_GATED] = BOTH,
    [SITE_ATTN_OUT] = BOTH,
    [SITE_LN_1_POST] = BOTH,
    [SITE_RESID_MID] = BOTH,
    [SITE_LN_2] = BOTH,
    [SITE_LN_EXPERTS] = BOTH,
    [SITE_ROUTER] = BOTH,
    [SITE_EXPERT_WEIGHTS] = BOTH,
    [SITE_SHARED_OUT] = BOTH,
    [SITE_MLP_GATE] = BOTH,
    [SITE_MLP_UP] = BOTH,
    [SITE_MLP_ACT] = BOTH,
    [SITE_MLP_OUT] = BOTH,
    [SITE_LN_2_POST] = BOTH,
    [SITE_RESID_MLP] = BOTH,
    [SITE_CORRECTED] = BOTH,
    [SITE_STREAMS] = BOTH,
    [SITE_MERGED] = DIFFERENTIATED,
    [SITE_RESID_POST] = BOTH,
    [SITE_LN_F] = BOTH,
    [SITE_TRANSFORM] = BOTH,
    [SITE_POOLED] = BOTH,
    [SITE_DISCRIMINATOR] = EDITED,
    [SITE_LOGITS] = BOTH,
    [SITE_ATTENTION_GRADIENT] = DIFFERENTIATED,
};

bool site_is_edited(enum site site)
{
    const bool follows = site_part(site) == PART_MIXER && site_id(site) == SITE_WEIGHTS;
    return site_uses[site_id(site)] & EDITED && !follows; /* a mixer has a state, not a map */
}

bool site_has_gradient(enum site site)
{
    return site_uses[site_id(site)] & DIFFERENTIATED;
}

enum site site_next(enum site site)
{
    switch ((int)site) {
    case SITE_EMBEDDING:
        return SITE_OF(PART_SOURCE, SITE_EMBEDDING);
    case PART_SOURCE *SITE_IDS + SITE_LN_F:
        return SITE_PREDICTED;
    case SITE_LN_1:
        return SITE_OF(PART_MIXER, SITE_Q_PRE);
    case PART_MIXER *SITE_IDS + SITE_ATTN_OUT:
        return SITE_Q_PRE;
    case SITE_LN_1_POST:
        return SITE_OF(PART_LAUREL, SITE_MLP_ACT);
    case PART_LAUREL *SITE_IDS + SITE_LN_2_POST:
        return SITE_RESID_MID;
    case SITE_RESID_MID:
        return SITE_OF(PART_CROSS, SITE_LN_1);
    case PART_CROSS *SITE_IDS + SITE_RESID_MID:
        return SITE_LN_2;
    case SITE_CORRECTED:
        return SITE_OF(PART_PER_LAYER, SITE_MLP_GATE);
    case PART_PER_LAYER *SITE_IDS + SITE_LN_2_POST:
        return SITE_STREAMS;
    case SITE_ATTENTION_GRADIENT:
        return SITE_OF(PART_SOURCE, SITE_ENTROPY);
    case PART_SOURCE *SITE_IDS + SITE_ATTENTION_GRADIENT:
        return SITE_OF(PART_CROSS, SITE_ENTROPY);
    case PART_CROSS *SITE_IDS + SITE_ATTENTION_GRADIENT:
        return SITE_MASK;
    default:
        return site + 1;
    }
}

bool site_is_of_source(enum site site)
{
    enum site_part part = site_part(site);
    return part == PART_SOURCE || (part == PART_CROSS && site_axes(site) == AXES_GROUP_TOKEN_DIM);
}

/* TOKEN: a token; FIRST: the first token alone; KEY_TOKEN: a token that has a key. */
enum site_axis {
    NONE,
    HEAD,
    KV_HEAD,
    COPY,
    TOKEN,
    FIRST,
    KEY_TOKEN,
    QUERY,
    KEY,
    CHANNEL,
    EXPERT,
    DIM,
    WORD,
    KEY_DIM
};

enum { AXES_MAX = 3 };

static const enum site_axis axes_of[][AXES_MAX] = {
    [AXES_TOKEN_CHANNEL] = {TOKEN, CHANNEL},
    [AXES_FIRST_CHANNEL] = {FIRST, CHANNEL},
    [AXES_TOKEN_EXPERT] = {TOKEN, EXPERT},
    [AXES_TOKEN_WORD] = {TOKEN, WORD},
    [AXES_HEAD_TOKEN] = {HEAD, TOKEN},
    [AXES_HEAD_TOKEN_DIM] = {HEAD, TOKEN, DIM},
    [AXES_GROUP_TOKEN_DIM] = {KV_HEAD, KEY_TOKEN, DIM},
    [AXES_HEAD_KEY_VALUE] = {HEAD, KEY_DIM, DIM},
    [AXES_HEAD_QUERY_KEY] = {HEAD, QUERY, KEY},
    [AXES_COPY_TOKEN_CHANNEL] = {COPY, TOKEN, CHANNEL},
    [AXES_QUERY_KEY] = {QUERY, KEY},
};

const char *site_axis_name(enum site site, size_t axis)
{
    static const char *const names[] = {NULL,     "head",  "kv_head", "copy",   "token",
                                        "token",  "token", "query",   "key",    "channel",
                                        "expert", "dim",   "word",    "key_dim"};
    return names[axes_of[site_axes(site)][axis]];
}

bool site_has_heads(enum site site)
{
    enum site_axes axes = site_axes(site);
    return axes >= AXES_HEAD_TOKEN && axes != AXES_QUERY_KEY;
}

bool site_find(const char *name, size_t size, enum site *site)
{
    for (*site = 0; *site != SITE_END; *site = site_next(*site))
        if (site_about(*site) && strlen(site_name(*site)) == size &&
            memcmp(site_name(*site), name, size) == 0)
            return true;
    return false;
}

const char *site_stack(enum site site)
{
    return site_part(site) == PART_SOURCE ? "enc" : "h";
}

const char *site_name_in_layer(enum site site)
{
    bool in_encoder = site_row(site)->in_layer && site_part(site) == PART_SOURCE;
    return site_name(in_encoder ? site_id(site) : site);
}

const char *site_tensor_name(char name[SITE_NAME_BYTES], enum site site, int layer)
{
    if (site_row(site)->in_layer && layer >= 0)
        snprintf(name, SITE_NAME_BYTES, "%s.%d.%s", site_stack(site), layer,
                 site_name_in_layer(site));
    else
        snprintf(name, SITE_NAME_BYTES, "%s", site_name(site));
    return name;
}

/* --- sites of a model ------------------------------------------------------------------------- */

size_t site_layers(const struct config *config, enum site site)
{
    if (!site_row(site)->in_layer)
        return 1;
    return stack_of(config, site_part(site))->layers;
}

/* Sites between others that attention does not have. */
static bool is_of_mixers(enum site id)
{
    return id == SITE_STEP || id == SITE_DECAY || (id >= SITE_MAP_NORM && id <= SITE_STATES);
}

static bool mixer_has(const struct mixer *m, enum site id)
{
    bool state = m->update != MIXER_CONVOLVE;
    switch ((int)id) {
    case SITE_Q_PRE:
    case SITE_K_PRE:
        return state && m->taps && !m->only_v;
    case SITE_V_PRE:
        return state && m->taps;
    case SITE_CONV:
        return m->taps;
    case SITE_STEP:
    case SITE_DECAY:
    case SITE_STATE:
    case SITE_STATES:
        return state;
    case SITE_GATE:
        return m->gate;
    case SITE_GATED:
        return m->gate || m->out_norm;
    default:
        return id == SITE_Q || id == SITE_K || id == SITE_V || id == SITE_WEIGHTS ||
               id == SITE_MAP_NORM || id == SITE_CONTEXT;
    }
}

/* Whether a sublayer computes or announces a site. */
static bool sublayer_has(const struct sublayer *s, const struct mechanism *mechanism,
                         enum site site)
{
    const enum site id = site_id(site);
    for (size_t i = 0; i < 3; i++)
        if ((s->at_sum[i] == id || s->at_after[i] == id) &&
            sublayer_stream_part(s, id) == site_part(site))
            return true;
    if ((s->at_input == id || s->at_out_norm == id) && sublayer_outside(s) == site_part(site))
        return true;
    if (s->part != site_part(site))
        return false;
    if (s->at_out == id)
        return true;
    if (s->kind == SUBLAYER_MIX)
        return mixer_has(s->mixer, id);
    if (s->kind == SUBLAYER_MLP && s->mlp.mixture)
        return id == SITE_ROUTER || id == SITE_EXPERT_WEIGHTS ||
               (id == SITE_LN_EXPERTS && s->mlp.mixture->beside) ||
               (id == SITE_SHARED_OUT && s->mlp.mixture->shared_inner);
    if (s->kind == SUBLAYER_MLP)
        return id == SITE_MLP_ACT || ((id == SITE_MLP_GATE || id == SITE_MLP_UP) && s->mlp.gated);
    if (id == SITE_DIFFERENCE)
        return s->head.differ > 0;
    if (id == SITE_Q_PRE || id == SITE_K_PRE)
        return s->head.rotary && !(id == SITE_K_PRE && s->head.borrows);
    if (id == SITE_GATE || id == SITE_GATED)
        return s->head.gate || (id == SITE_GATED && s->head.differ > 0);
    return id == SITE_SOFTMAX ? mechanism->renormalise
           : id == SITE_SINK  ? s->score.sink
                              : id >= SITE_Q && id <= SITE_CONTEXT && !is_of_mixers(id);
}

bool site_is_in_layer(const struct config *config, enum site site, size_t layer)
{
    enum site_part part = site_part(site);
    enum site id = site_id(site);
    if (!site_row(site)->in_layer)
        return site_exists(config, site);
    bool of_source = part == PART_SOURCE || part == PART_CROSS;
    if (!site_about(site) || (of_source && !has_encoder(config)))
        return false;
    if (id == SITE_RESID_PRE)
        return config->style != STYLE_BARE;
    if (id == SITE_PREDICTED || (id >= SITE_CORRECTED && id <= SITE_MERGED))
        return part == PART_SENTENCE && config->copies.count;
    const struct layer *l = layer_of(config, part, layer);
    for (const struct sublayer *s = l->sublayers; s < l->sublayers + l->count; s++)
        if (sublayer_has(s, &config->mechanism, site))
            return true;
    return false;
}

bool site_is_borrowed(const struct config *config, enum site site, size_t layer)
{
    return (site == SITE_K || site == SITE_V) && stack_head(config, PART_SENTENCE, layer)->borrows;
}

bool site_exists(const struct config *config, enum site site)
{
    enum site_part part = site_part(site);
    if (site_id(site) == SITE_ATTENTION_GRADIENT && !site_exists(config, SITE_LOGITS))
        return false;
    if (site_id(site) >= SITE_ENTROPY && site_id(site) <= SITE_ATTENTION_GRADIENT)
        return part < ATTENTION_PARTS && site_exists(config, SITE_OF(part, SITE_WEIGHTS));
    if (site_is_effective(site)) /* value_zeroing and rollout: not with a source */
        return part == PART_SENTENCE &&
               ((site != SITE_VALUE_ZEROING && site != SITE_ROLLOUT) || !config->cross) &&
               (site != SITE_VALUE_ZEROING || !(config->given || config->copies.count)) &&
               ((site != SITE_VALUE_ZEROING && site != SITE_ROLLOUT) || !config->mixer.heads) &&
               (site != SITE_NORM_WEIGHTED || !config->head_gate) && first_attention(config, part);
    switch (site_id(site)) {
    case SITE_EMBEDDING:
        return part == PART_SENTENCE || (part == PART_SOURCE && config->cross);
    case SITE_LN_F:
        return part != PART_CROSS && stack_of(config, part)->unembed.norm;
    case SITE_TRANSFORM:
    case SITE_POOLED:
        return part == PART_SENTENCE && stack_of(config, part)->unembed.at_dense == site;
    case SITE_DISCRIMINATOR:
    case SITE_LOGITS:
        return part == PART_SENTENCE && stack_of(config, part)->unembed.at_result == site;
    default:
        break;
    }
    for (size_t layer = 0; site_row(site)->in_layer && layer < site_layers(config, site); layer++)
        if (site_is_in_layer(config, site, layer))
            return true;
    return false;
}

bool site_is_left_out(const struct config *config, enum site site)
{
    for (size_t layer = 0; site_row(site)->in_layer && layer < site_layers(config, site); layer++) {
        const struct layer *l = layer_of(config, site_part(site), layer);
        for (size_t i = l->count; i < l->all; i++)
            if (sublayer_has(&l->sublayers[i], &config->mechanism, site))
                return true;
    }
    return false;
}

enum site site_of_output(const struct config *config)
{
    const struct layer *first = layer_of(config, PART_SENTENCE, 0);
    enum site end = sublayer_end(&first->sublayers[first->count - 1]);
    return config->copies.count ? SITE_MERGED : end == SITE_LN_2 ? SITE_LN_2 : SITE_RESID_POST;
}

enum site site_of_logits(const struct config *config)
{
    return config->final_norm ? SITE_LN_F : site_of_output(config);
}

static size_t channels(const struct config *c, enum site site, size_t layer)
{
    enum site id = site_id(site);
    if (id == SITE_MLP_ACT || id == SITE_MLP_GATE || id == SITE_MLP_UP) {
        const struct sublayer *mlp =
            layer_mlp(layer_of(c, site_part(site), layer), site_part(site));
        return mlp && !mlp->mlp.mixture ? mlp->mlp.inner : 0;
    }
    const struct head_rule *head = stack_head(c, site_part(site), layer);
    if (id == SITE_DISCRIMINATOR)
        return 1;
    if (site == SITE_OF(PART_MIXER, SITE_CONV))
        return mixer_convolved(&c->mixer);
    if (id == SITE_GATED)
        return site_part(site) == PART_MIXER ? c->mixer.heads * c->mixer.d_v
                                             : head->heads * head->d_v;
    return id == SITE_TRANSFORM    ? config_word_width(c)
           : site == SITE_ATTN_OUT ? config_out_width(c)
                                   : c->n_embd;
}

size_t site_heads(const struct config *c, enum site site, size_t layer)
{
    const bool of_keys = site_axes(site) == AXES_GROUP_TOKEN_DIM;
    if (!site_has_heads(site))
        return 1;
    if (site_axes(site) == AXES_COPY_TOKEN_CHANNEL)
        return num_max(c->copies.count, 1);
    if (site_part(site) == PART_MIXER)
        return of_keys ? c->mixer.key_heads : c->mixer.heads;
    const struct head_rule *head = stack_head(c, site_part(site), layer);
    const enum site id = site_id(site);
    const bool of_contexts = id == SITE_DIFFERENCE || id == SITE_CONTEXT ||
                             id == SITE_VALUE_WEIGHTED || id == SITE_NORM_WEIGHTED;
    return of_keys ? head->kv_heads : of_contexts ? context_heads(head) : head->heads;
}

size_t site_columns(const struct config *c, enum site site, size_t layer)
{
    const struct head_rule *head = stack_head(c, site_part(site), layer);
    const enum site id = site_id(site);
    const bool of_mixer = site_part(site) == PART_MIXER;
    const bool of_keys = id == SITE_Q_PRE || id == SITE_K_PRE || id == SITE_Q || id == SITE_K;
    switch (site_axes(site)) {
    case AXES_HEAD_TOKEN_DIM:
    case AXES_GROUP_TOKEN_DIM:
    case AXES_HEAD_KEY_VALUE:
        if (id == SITE_DECAY)
            return mixer_decays(&c->mixer);
        if (id == SITE_STATES)
            return c->mixer.d_k * c->mixer.d_v;
        if (of_mixer)
            return of_keys ? c->mixer.d_k : c->mixer.d_v;
        return of_keys ? head->d_k : id == SITE_CONTEXT ? context_width(head) : head->d_v;
    case AXES_TOKEN_EXPERT:
        return c->mixture.experts;
    case AXES_TOKEN_WORD:
        return stack_of(c, site_part(site))->embed.rows;
    default:
        return channels(c, site, layer);
    }
}

void site_most(size_t *heads, size_t *columns, const struct config *config, enum site site)
{
    *heads = *columns = 0;
    for (size_t layer = 0; layer < site_layers(config, site); layer++) {
        *heads = num_max(*heads, site_heads(config, site, layer));
        *columns = num_max(*columns, site_columns(config, site, layer));
    }
}

size_t site_shared_by(const struct config *c, enum site site, size_t layer)
{
    return site_axes(site) != AXES_GROUP_TOKEN_DIM ? 1
           : site_part(site) == PART_MIXER
               ? c->mixer.heads / c->mixer.key_heads
               : kv_head_shared_by(stack_head(c, site_part(site), layer));
}

bool site_size(size_t *count, const struct config *config, enum site site, size_t heads,
               size_t tokens, size_t source)
{
    enum site_part part = site_part(site);
    size_t columns, most;
    site_most(&most, &columns, config, site);
    bool all = part == PART_MIXER && heads >= config->n_head; /* mixers may have more heads */
    heads = all ? most : num_min(heads, most);
    bool at_itself = has_encoder(config) && part == PART_SENTENCE;
    size_t queries = part == PART_SOURCE ? source : tokens;
    size_t keys = at_itself || !config->cross ? tokens : source;
    const size_t sizes[] = {
        [NONE] = 1,         [HEAD] = heads,
        [KV_HEAD] = heads,  [COPY] = config->copies.count,
        [TOKEN] = queries,  [FIRST] = 1,
        [KEY_TOKEN] = keys, [QUERY] = queries,
        [KEY] = keys,       [CHANNEL] = columns,
        [EXPERT] = columns, [DIM] = columns,
        [WORD] = columns,   [KEY_DIM] = config->mixer.d_k,
    };
    *count = 1;
    for (size_t i = 0; i < AXES_MAX; i++)
        if (!num_multiply(count, *count, sizes[axes_of[site_axes(site)][i]]))
            return false;
    return true;
}

/* Within a layer, sites have the order of their ids; but a norm of a sum follows the sum, and those
 * of other parts follow a site of the text, or its norm. */
size_t site_order(const struct config *config, enum site site, size_t layer)
{
    enum { STEPS = 2 * SITE_IDS };
    static const enum site after[SITE_PARTS] = {[PART_CROSS] = SITE_RESID_MID,
                                                [PART_PER_LAYER] = SITE_CORRECTED,
                                                [PART_LAUREL] = SITE_LN_1_POST,
                                                [PART_MIXER] = SITE_LN_1};
    enum site_part part = site_part(site);
    enum site id = site_id(site);
    size_t before = part == PART_SOURCE ? 0 : stack_of(config, PART_SOURCE)->layers;
    size_t layers = site_layers(config, SITE_OF(part, SITE_Q));
    size_t row = site_row(site)->in_layer ? layer + 1 : id == SITE_EMBEDDING ? 1 : layers;
    size_t step = 2 * (size_t)id;
    if ((id == SITE_LN_1 || id == SITE_LN_2) &&
        layer_of(config, PART_SENTENCE, 0)->sublayers->norm_after)
        step = 2 * (id == SITE_LN_1 ? SITE_RESID_MID : SITE_RESID_POST) + 1;
    if (after[part])
        step += STEPS * (2 * (size_t)after[part] + 1) + 1;
    else
        step *= STEPS;
    return site == SITE_EMBEDDING ? 1 : (before + row) * STEPS * STEPS + step;
}

/* --- what is watched -------------------------------------------------------------------------- */

struct site_set site_set_of(const enum site *sites, size_t count)
{
    struct site_set set = {0};
    for (size_t i = 0; i < count; i++)
        site_set_add(&set, sites[i]);
    return set;
}

void site_set_add(struct site_set *set, enum site site)
{
    set->of[site_part(site)] |= (uint64_t)1 << site_id(site);
}

void site_set_join(struct site_set *set, struct site_set more)
{
    for (size_t part = 0; part < SITE_PARTS; part++)
        set->of[part] |= more.of[part];
}

bool site_set_has(struct site_set set, enum site site)
{
    return set.of[site_part(site)] >> site_id(site) & 1;
}

bool site_set_is_empty(struct site_set set)
{
    uint64_t all = 0;
    for (size_t part = 0; part < SITE_PARTS; part++)
        all |= set.of[part];
    return !all;
}

bool site_set_has_effective(struct site_set set)
{
    return (set.of[PART_SENTENCE] | set.of[PART_SOURCE] | set.of[PART_CROSS]) >> SITE_PASS_END;
}

int watch_init(struct watch *watch, const struct config *config, struct arena *arena,
               struct err *err)
{
    *watch = (struct watch){
        .config = config,
        .layer_count = num_max(config->n_layer, stack_of(config, PART_SOURCE)->layers),
    };
    watch->layers = arena_alloc(arena, watch->layer_count, sizeof *watch->layers, err);
    return watch->layers ? 0 : -1;
}

void watch_add(struct watch *watch, enum site site, size_t layer)
{
    site_set_add(&watch->layers[site_row(site)->in_layer ? layer : 0], site);
    site_set_add(&watch->any, site);
    watch->end = num_max(watch->end, site_order(watch->config, site, layer));
}

bool watch_has(const struct watch *watch, enum site site, size_t layer)
{
    return site_set_has(watch->layers[site_row(site)->in_layer ? layer : 0], site);
}
