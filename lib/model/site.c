#include "model/site.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"

/* --- the table -------------------------------------------------------------------------------- */

#define ENCODER "encoder: "
#define ALSO_ENCODER(about) about, ENCODER about

/* A row of the table. Its last arguments are TransformerLens' name, and a line of help for each
 * branch that has the site. OF_LAYERS: a site of layers; OF_LAYERS_AS: the same, with a name of its
 * own in cross-attention (`cross`) in place of "cross_" and the name; OF_MAPS: a map whose masked
 * cells reports leave out; OF_MODEL: a site outside of layers. */
#define ROW(id, name, cross, axes, in_layer, masked, alias, ...) \
    [SITE_##                                                     \
        id] = {{name, "enc." name, cross}, AXES_##axes, 0, in_layer, masked, {__VA_ARGS__}, alias}
#define OF_LAYERS_AS(id, name, cross, axes, ...) \
    ROW(id, name, cross, axes, true, false, __VA_ARGS__)
#define OF_LAYERS(id, name, axes, ...) OF_LAYERS_AS(id, name, "cross_" name, axes, __VA_ARGS__)
#define OF_MAPS(id, name, axes, ...) ROW(id, name, "cross_" name, axes, true, true, __VA_ARGS__)
#define OF_MODEL(id, name, axes, ...) ROW(id, name, NULL, axes, false, false, __VA_ARGS__)

/* A site of MLPs. The sublayer of the extra input and the low-rank branch also have it, with the
 * names `per_layer` and `laurel`. */
#define OF_MLP(id, name, per_layer, laurel, alias, ...)                \
    [SITE_##id] = {{name, "enc." name, NULL, per_layer, NULL, laurel}, \
                   AXES_TOKEN_CHANNEL,                                 \
                   AXES_TOKEN_CHANNEL,                                 \
                   true,                                               \
                   false,                                              \
                   {__VA_ARGS__},                                      \
                   alias}

/* A site of both attention and mixers, which may have different axes. The lines of help are for a
 * text, its encoder, cross-attention, the sublayer of the extra input (always NULL) and a mixer. */
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
    OF_BOTH(Q_PRE, "q_pre", "cross_q_pre", "q_pre", HEAD_TOKEN_DIM, KV_HEAD_TOKEN_DIM, false,
            HOOK("attn.hook_q"), "queries before the rotary embedding", NULL, NULL, NULL,
            "queries of the mixer before the convolution"),
    OF_BOTH(K_PRE, "k_pre", "cross_k_pre", "k_pre", KV_HEAD_TOKEN_DIM, KV_HEAD_TOKEN_DIM, false,
            HOOK("attn.hook_k"), "keys before the rotary embedding", NULL, NULL, NULL,
            "keys of the mixer before the convolution"),
    OF_MIXER(V_PRE, "v_pre", HEAD_TOKEN_DIM, "values of the mixer before the convolution"),
    OF_MIXER(
        CONV, "conv", TOKEN_CHANNEL,
        "sums over the last tokens, channel by channel: of queries, keys and values, of values "
        "alone, or of keys times values"),
    OF_BOTH(Q, "q", "cross_q", "q", HEAD_TOKEN_DIM, KV_HEAD_TOKEN_DIM, false, HOOK("attn.hook_q"),
            ALSO_ENCODER("queries"), "queries of the cross-attention", NULL,
            "queries of the mixer: what a token reads from the state"),
    OF_BOTH(K, "k", "cross_k", "k", KV_HEAD_TOKEN_DIM, KV_HEAD_TOKEN_DIM, false,
            HOOK("attn.hook_k"), ALSO_ENCODER("keys"), "keys from the encoder output", NULL,
            "keys of the mixer: where a token writes into the state"),
    OF_BOTH(V, "v", "cross_v", "v", KV_HEAD_TOKEN_DIM, HEAD_TOKEN_DIM, false, HOOK("attn.hook_v"),
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

/* Where site_next inserts the sites of other branches: after the site `after` of the text come the
 * sites of `branch` with the ids from `first` to `last`. */
static const struct inserted {
    enum site after;
    enum site_branch branch;
    enum site first, last;
} inserted[] = {
    {SITE_EMBEDDING, BRANCH_SOURCE, SITE_EMBEDDING, SITE_LN_F},
    {SITE_LN_1, BRANCH_MIXER, SITE_Q_PRE, SITE_ATTN_OUT},
    {SITE_LN_1_POST, BRANCH_LAUREL, SITE_MLP_ACT, SITE_LN_2_POST},
    {SITE_RESID_MID, BRANCH_CROSS, SITE_LN_1, SITE_RESID_MID},
    {SITE_CORRECTED, BRANCH_PER_LAYER, SITE_MLP_GATE, SITE_LN_2_POST},
    {SITE_ATTENTION_GRADIENT, BRANCH_SOURCE, SITE_ENTROPY, SITE_ATTENTION_GRADIENT},
    {SITE_ATTENTION_GRADIENT, BRANCH_CROSS, SITE_ENTROPY, SITE_ATTENTION_GRADIENT},
};

enum site site_next(enum site site)
{
    const struct inserted *end = inserted + sizeof inserted / sizeof *inserted, *next = inserted;
    if (site_branch(site) != BRANCH_TEXT) {
        while (next < end && (site_branch(site) != next->branch || site_id(site) < next->first ||
                              site_id(site) > next->last))
            next++;
        if (next == end || site_id(site) != next->last)
            return site + 1;
        site = (next++)->after;
        return next < end && next->after == site ? SITE_OF(next->branch, next->first) : site + 1;
    }
    while (next < end && next->after != site)
        next++;
    return next < end ? SITE_OF(next->branch, next->first) : site + 1;
}

bool site_is_of_source(enum site site)
{
    enum site_branch branch = site_branch(site);
    return branch == BRANCH_SOURCE ||
           (branch == BRANCH_CROSS && site_axes(site) == AXES_KV_HEAD_TOKEN_DIM);
}

/* The kinds of axes. TOKEN: all tokens; FIRST: only the first token; KEY_TOKEN: the tokens that
 * have keys. */
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
    [AXES_KV_HEAD_TOKEN_DIM] = {KV_HEAD, KEY_TOKEN, DIM},
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

bool site_cells(size_t *count, enum site site, const struct site_extent *extent)
{
    const size_t sizes[] = {
        [NONE] = 1,
        [HEAD] = extent->heads,
        [KV_HEAD] = extent->heads,
        [COPY] = extent->copies,
        [TOKEN] = extent->queries,
        [FIRST] = 1,
        [KEY_TOKEN] = extent->keys,
        [QUERY] = extent->queries,
        [KEY] = extent->keys,
        [CHANNEL] = extent->columns,
        [EXPERT] = extent->columns,
        [DIM] = extent->columns,
        [WORD] = extent->columns,
        [KEY_DIM] = extent->rows,
    };
    *count = 1;
    for (size_t i = 0; i < AXES_MAX; i++)
        if (!num_multiply(count, *count, sizes[axes_of[site_axes(site)][i]]))
            return false;
    return true;
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
    return site_branch(site) == BRANCH_SOURCE ? "enc" : "h";
}

const char *site_name_in_layer(enum site site)
{
    bool in_encoder = site_row(site)->in_layer && site_branch(site) == BRANCH_SOURCE;
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

/* --- sets ------------------------------------------------------------------------------------- */

struct site_set site_set_of(const enum site *sites, size_t count)
{
    struct site_set set = {{0}};
    for (size_t i = 0; i < count; i++)
        site_set_add(&set, sites[i]);
    return set;
}

void site_set_remove(struct site_set *set, enum site site)
{
    set->words[site / 64] &= ~((uint64_t)1 << site % 64);
}

void site_set_join(struct site_set *set, struct site_set more)
{
    for (size_t i = 0; i < SITE_WORDS; i++)
        set->words[i] |= more.words[i];
}

struct site_set site_set_both(struct site_set set, struct site_set other)
{
    for (size_t i = 0; i < SITE_WORDS; i++)
        set.words[i] &= other.words[i];
    return set;
}

bool site_set_is_empty(struct site_set set)
{
    uint64_t all = 0;
    for (size_t i = 0; i < SITE_WORDS; i++)
        all |= set.words[i];
    return !all;
}

static bool has_ids(struct site_set set, enum site_branch branch, enum site first, enum site end)
{
    bool found = false;
    for (enum site id = first; id < end; id++)
        found |= site_set_has(set, SITE_OF(branch, id));
    return found;
}

bool site_set_has_branch(struct site_set set, enum site_branch branch)
{
    return has_ids(set, branch, 0, SITE_END);
}

bool site_set_has_effective(struct site_set set)
{
    bool found = false;
    for (enum site_branch branch = 0; branch < ATTENTION_BRANCHES; branch++)
        found |= has_ids(set, branch, SITE_PASS_END, SITE_END);
    return found;
}
