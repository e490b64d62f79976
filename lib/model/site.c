#include "model/site.h"

#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/num.h"
#include "model/layer.h"
#include "model/mechanism.h"

#define ENCODER(site, name, axes, about) \
    [SITE_ENC_##                         \
        site] = {"enc." name, AXES_##axes, true, false, "encoder: " about, NULL, PART_SOURCE}
#define ENCODER_NORM(site, sum, name, about)                                                       \
    [SITE_ENC_##site] = {"enc." name, AXES_TOKEN_CHANNEL, true,          false, "encoder: " about, \
                         NULL,        PART_SOURCE,        SITE_ENC_##sum}
#define CROSS(site, name, axes, about) \
    [SITE_##site] = {name, AXES_##axes, true, false, about, NULL, PART_CROSS}

/* Of a text's own layers; `hook` is what TransformerLens calls it there, and may go on. */
#define OWN(site, name, axes, about, ...) \
    [SITE_##site] = {name, AXES_##axes, true, false, about, "blocks.L." __VA_ARGS__}

const struct site_row site_rows[SITE_ALL] = {
    [SITE_EMBEDDING] = {"embedding", AXES_TOKEN_CHANNEL, false, false, "token + position embedding",
                        "hook_embed + hook_pos_embed"},
    [SITE_SOURCE_EMBEDDING] = {"source_embedding", AXES_TOKEN_CHANNEL, false, false,
                               "token + position embedding of the second text", NULL, PART_SOURCE},
    ENCODER(RESID_PRE, "resid_pre", TOKEN_CHANNEL, "residual stream before the block"),
    ENCODER_NORM(LN_1, RESID_MID, "ln_1", "first layer norm"),
    ENCODER(Q, "q", HEAD_TOKEN_DIM, "queries"),
    ENCODER(K, "k", GROUP_TOKEN_DIM, "keys"),
    ENCODER(V, "v", GROUP_TOKEN_DIM, "values"),
    ENCODER(SCORES, "scores", HEAD_QUERY_KEY, "q·k before the scale"),
    ENCODER(MASKED, "masked", HEAD_QUERY_KEY, "scaled scores (there is no mask)"),
    ENCODER(WEIGHTS, "weights", HEAD_QUERY_KEY, "attention weights"),
    ENCODER(CONTEXT, "context", HEAD_TOKEN_DIM, "weights · v"),
    ENCODER(ATTN_OUT, "attn_out", TOKEN_CHANNEL, "output of the attention layer"),
    ENCODER(RESID_MID, "resid_mid", TOKEN_CHANNEL, "residual stream after attention"),
    ENCODER_NORM(LN_2, RESID_POST, "ln_2", "second layer norm"),
    ENCODER(MLP_ACT, "mlp_act", TOKEN_CHANNEL, "hidden channels of the MLP, after the activation"),
    ENCODER(MLP_OUT, "mlp_out", TOKEN_CHANNEL, "output of the MLP"),
    ENCODER(RESID_POST, "resid_post", TOKEN_CHANNEL, "residual stream after the block"),
    [SITE_ENC_LN_F] = {"enc.ln_f", AXES_TOKEN_CHANNEL, false, false, "encoder: final layer norm",
                       NULL, PART_SOURCE},
    OWN(RESID_PRE, "resid_pre", TOKEN_CHANNEL, "residual stream before the block",
        "hook_resid_pre"),
    OWN(LN_1, "ln_1", TOKEN_CHANNEL, "first layer norm", "ln1.hook_out", .after = SITE_RESID_MID),
    OWN(Q_PRE, "q_pre", HEAD_TOKEN_DIM, "queries before the rotary embedding", "attn.hook_q"),
    OWN(K_PRE, "k_pre", GROUP_TOKEN_DIM, "keys before the rotary embedding", "attn.hook_k"),
    OWN(Q, "q", HEAD_TOKEN_DIM, "queries", "attn.hook_q"),
    OWN(K, "k", GROUP_TOKEN_DIM, "keys", "attn.hook_k"),
    OWN(V, "v", GROUP_TOKEN_DIM, "values", "attn.hook_v"),
    [SITE_SCORES] = {"scores", AXES_HEAD_QUERY_KEY, true, false,
                     "q·k before scale and mask (--attention linear: φ(q)·φ(k))"},
    [SITE_SOFTMAX] = {"softmax", AXES_HEAD_QUERY_KEY, true, false,
                      "softmax of the scaled scores over all keys (only with --mask-after)"},
    [SITE_MASKED] = {"masked", AXES_HEAD_QUERY_KEY, true, true,
                     "scaled scores, -inf for masked keys (with --mask-after: softmax, linear: "
                     "scores, 0 for masked keys)",
                     "blocks.L.attn.hook_attn_scores"},
    [SITE_WEIGHTS] =
        {"weights", AXES_HEAD_QUERY_KEY, true, true,
         "attention weights: softmax of masked (linear: masked / its sum); each row sums to 1",
         "blocks.L.attn.hook_pattern"},
    OWN(CONTEXT, "context", HEAD_TOKEN_DIM,
        "weights · v: the output of each head, before the output projection", "attn.hook_z"),
    OWN(ATTN_OUT, "attn_out", TOKEN_CHANNEL, "output of the attention layer", "hook_attn_out"),
    OWN(LN_1_POST, "ln_1_post", TOKEN_CHANNEL, "norm of attn_out", "ln1_post.hook_out"),
    OWN(RESID_MID, "resid_mid", TOKEN_CHANNEL, "residual stream after attention", "hook_resid_mid"),
    [SITE_LN_CROSS] = {"ln_cross", AXES_TOKEN_CHANNEL, true, false,
                       "layer norm before cross-attention", NULL, PART_CROSS, SITE_RESID_CROSS},
    CROSS(CROSS_Q, "cross_q", HEAD_TOKEN_DIM, "queries of the cross-attention"),
    CROSS(CROSS_K, "cross_k", GROUP_TOKEN_DIM, "keys from the encoder output"),
    CROSS(CROSS_V, "cross_v", GROUP_TOKEN_DIM, "values from the encoder output"),
    CROSS(CROSS_SCORES, "cross_scores", HEAD_QUERY_KEY, "q·k of the cross-attention"),
    CROSS(CROSS_MASKED, "cross_masked", HEAD_QUERY_KEY, "scaled scores (there is no mask)"),
    CROSS(CROSS_WEIGHTS, "cross_weights", HEAD_QUERY_KEY,
          "attention weights from the text to the source"),
    CROSS(CROSS_CONTEXT, "cross_context", HEAD_TOKEN_DIM, "cross_weights · cross_v"),
    CROSS(CROSS_OUT, "cross_out", TOKEN_CHANNEL, "output of the cross-attention layer"),
    CROSS(RESID_CROSS, "resid_cross", TOKEN_CHANNEL, "residual stream after cross-attention"),
    OWN(LN_2, "ln_2", TOKEN_CHANNEL, "second layer norm", "ln2.hook_out", .after = SITE_RESID_POST),
    OWN(MLP_GATE, "mlp_gate", TOKEN_CHANNEL, "gate of the MLP, before the activation",
        "mlp.hook_pre"),
    OWN(MLP_UP, "mlp_up", TOKEN_CHANNEL, "input that the gate multiplies", "mlp.hook_pre_linear"),
    OWN(MLP_ACT, "mlp_act", TOKEN_CHANNEL, "hidden channels of the MLP, after the activation",
        "mlp.hook_post"),
    OWN(MLP_OUT, "mlp_out", TOKEN_CHANNEL, "output of the MLP", "hook_mlp_out"),
    OWN(LN_2_POST, "ln_2_post", TOKEN_CHANNEL, "norm of mlp_out", "ln2_post.hook_out"),
    OWN(RESID_POST, "resid_post", TOKEN_CHANNEL, "residual stream after the block",
        "hook_resid_post"),
    [SITE_LN_F] = {"ln_f", AXES_TOKEN_CHANNEL, false, false, "final layer norm",
                   "ln_final.hook_out"},
    [SITE_LOGITS] = {"logits", AXES_TOKEN_WORD, false, false, "logits of the next token",
                     "unembed.hook_out"},
    [SITE_VALUE_WEIGHTED] = {"value_weighted", AXES_HEAD_QUERY_KEY, true, true,
                             "weight times the norm of the value: weight |v|"},
    [SITE_NORM_WEIGHTED] = {"norm_weighted", AXES_HEAD_QUERY_KEY, true, true,
                            "norm of each key's contribution to attn_out: |weight v W_O|"},
    [SITE_VALUE_ZEROING] = {"value_zeroing", AXES_QUERY_KEY, true, true,
                            "cosine distance between a layer's outputs with and without a token's "
                            "value, divided by the row sum"},
    [SITE_ROLLOUT] = {"rollout", AXES_QUERY_KEY, true, true,
                      "attention rollout: the product of (mean weights + 1) / 2 over the layers up "
                      "to this one (without a residual stream: of the mean weights)"},
    [SITE_MASK] = {"mask", AXES_HEAD_QUERY_KEY, true, false,
                   "1 for masked keys (mask, window, pattern, --knockout), 0 for visible ones"},
    [SITE_VISIBLE] = {"visible", AXES_HEAD_QUERY_KEY, true, false, "1 - mask"},
};

_Static_assert(SITE_ALL <= 64, "a set of sites is 64 bits");

bool site_is_of_source(enum site site)
{
    const struct site_row *row = &site_rows[site];
    return row->part == PART_SOURCE ||
           (row->part == PART_CROSS && row->axes == AXES_GROUP_TOKEN_DIM);
}

const char *site_axis_name(enum site site, size_t axis)
{
    static const char *const names[][3] = {
        [AXES_TOKEN_CHANNEL] = {"token", "channel"},
        [AXES_TOKEN_WORD] = {"token", "word"},
        [AXES_HEAD_TOKEN_DIM] = {"head", "token", "dim"},
        [AXES_GROUP_TOKEN_DIM] = {"kv_head", "token", "dim"},
        [AXES_HEAD_QUERY_KEY] = {"head", "query", "key"},
        [AXES_QUERY_KEY] = {"query", "key"},
    };
    return names[site_rows[site].axes][axis];
}

bool site_has_heads(enum site site)
{
    enum site_axes axes = site_rows[site].axes;
    return axes != AXES_TOKEN_CHANNEL && axes != AXES_TOKEN_WORD && axes != AXES_QUERY_KEY;
}

/* The sites of the text that another part has, too: in the same order, so that an offset tells.
 * Only the text's own attention has a softmax before its mask; only families turn, gate and norm
 * what is added. */
static const struct {
    enum site_part part;
    enum site first, last, to;
} copies[] = {
    {PART_SOURCE, SITE_EMBEDDING, SITE_EMBEDDING, SITE_SOURCE_EMBEDDING},
    {PART_SOURCE, SITE_RESID_PRE, SITE_LN_1, SITE_ENC_RESID_PRE},
    {PART_SOURCE, SITE_Q, SITE_SCORES, SITE_ENC_Q},
    {PART_SOURCE, SITE_MASKED, SITE_ATTN_OUT, SITE_ENC_MASKED},
    {PART_SOURCE, SITE_RESID_MID, SITE_RESID_MID, SITE_ENC_RESID_MID},
    {PART_SOURCE, SITE_LN_2, SITE_LN_2, SITE_ENC_LN_2},
    {PART_SOURCE, SITE_MLP_ACT, SITE_MLP_OUT, SITE_ENC_MLP_ACT},
    {PART_SOURCE, SITE_RESID_POST, SITE_LN_F, SITE_ENC_RESID_POST},
    {PART_CROSS, SITE_LN_1, SITE_LN_1, SITE_LN_CROSS},
    {PART_CROSS, SITE_Q, SITE_SCORES, SITE_CROSS_Q},
    {PART_CROSS, SITE_MASKED, SITE_ATTN_OUT, SITE_CROSS_MASKED},
    {PART_CROSS, SITE_RESID_MID, SITE_RESID_MID, SITE_RESID_CROSS},
};

enum { COPIES = sizeof copies / sizeof *copies };

enum site site_of(enum site_part part, enum site site)
{
    for (size_t i = 0; i < COPIES; i++)
        if (copies[i].part == part && site >= copies[i].first && site <= copies[i].last)
            return copies[i].to + (site - copies[i].first);
    return site;
}

enum site site_like(enum site site)
{
    for (size_t i = 0; i < COPIES; i++)
        if (site >= copies[i].to && site - copies[i].to <= copies[i].last - copies[i].first)
            return copies[i].first + (site - copies[i].to);
    return site;
}

bool site_find(const char *name, size_t size, enum site *site)
{
    size_t index = 0;
    if (!names_find(&index, NAMES(site_rows, SITE_ALL), name, size))
        return false;
    *site = (enum site)index;
    return true;
}

static const char encoder[] = "enc.";

const char *site_stack(enum site site)
{
    return site_rows[site].part == PART_SOURCE ? "enc" : "h";
}

const char *site_name_in_layer(enum site site)
{
    const struct site_row *row = &site_rows[site];
    bool in_encoder = row->in_layer && row->part == PART_SOURCE;
    return in_encoder ? row->name + strlen(encoder) : row->name;
}

const char *site_tensor_name(char name[SITE_NAME_BYTES], enum site site, int layer)
{
    if (site_rows[site].in_layer)
        snprintf(name, SITE_NAME_BYTES, "%s.%d.%s", site_stack(site), layer,
                 site_name_in_layer(site));
    else
        snprintf(name, SITE_NAME_BYTES, "%s", site_rows[site].name);
    return name;
}

static size_t channels(const struct config *c, enum site site)
{
    enum site like = site_like(site);
    if (like == SITE_MLP_ACT || like == SITE_MLP_GATE || like == SITE_MLP_UP)
        return c->n_inner;
    return site == SITE_ATTN_OUT ? config_out_width(c) : c->n_embd;
}

bool site_size(size_t *count, const struct config *config, enum site site, size_t heads,
               size_t tokens, size_t source)
{
    const struct site_row *row = &site_rows[site];
    bool at_itself = config->n_encoder_layer && row->part == PART_SENTENCE;
    enum site like = site_like(site);
    size_t queries = row->part == PART_SOURCE ? source : tokens;
    size_t keys = at_itself || !config->cross ? tokens : source;
    size_t sizes[] = {1, queries, 1}; /* heads, rows, columns */
    switch (row->axes) {
    case AXES_TOKEN_WORD:
        sizes[2] = config->vocab_size;
        break;
    case AXES_HEAD_QUERY_KEY:
        sizes[0] = heads;
        sizes[2] = keys;
        break;
    case AXES_QUERY_KEY:
        sizes[2] = keys;
        break;
    case AXES_HEAD_TOKEN_DIM:
        sizes[0] = heads;
        sizes[2] = like == SITE_CONTEXT ? config->d_v : config->d_k;
        break;
    case AXES_GROUP_TOKEN_DIM:
        sizes[0] = heads < config->n_kv_head ? heads : config->n_kv_head;
        sizes[1] = keys;
        sizes[2] = like == SITE_V ? config->d_v : config->d_k;
        break;
    case AXES_TOKEN_CHANNEL:
        sizes[2] = channels(config, site);
        break;
    }
    *count = 1;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (!num_multiply(count, *count, sizes[i]))
            return false;
    return true;
}

bool site_is_in_layer(const struct config *config, enum site site, size_t layer)
{
    bool turns = site == SITE_Q_PRE || site == SITE_K_PRE;
    return site_exists(config, site) && (!turns || config_rotary(config, layer));
}

bool site_exists(const struct config *config, enum site site)
{
    const struct mechanism *mechanism = &config->mechanism;
    enum site like = site_like(site);
    bool of_mlp = like >= SITE_LN_2 && like <= SITE_LN_2_POST;
    if (site == SITE_SOFTMAX)
        return mechanism->renormalise;
    if (of_mlp && mechanism_lacks(mechanism, PART_MLP))
        return false;
    if (site == SITE_EMBEDDING)
        return true;
    if (site == SITE_SOURCE_EMBEDDING)
        return config->cross;
    if (site_is_effective(site)) /* those of the layer as a whole are of a text by itself */
        return (site != SITE_VALUE_ZEROING && site != SITE_ROLLOUT) || !config->cross;
    if (config->kind == MODEL_ATTENTION)
        return site >= SITE_Q && site <= SITE_ATTN_OUT;
    switch (site) {
    case SITE_Q_PRE:
    case SITE_K_PRE:
        return config_rotates(config);
    case SITE_LN_1:
        return style_norms_first(config->style) || style_norms_sums(config->style);
    case SITE_LN_2:
        return (style_norms_first(config->style) && config->style != STYLE_ONE_NORM) ||
               style_norms_sums(config->style);
    case SITE_LN_1_POST:
    case SITE_LN_2_POST:
        return style_norms_outputs(config->style);
    case SITE_RESID_MID:
        return !style_is_parallel(config->style);
    case SITE_MLP_GATE:
    case SITE_MLP_UP:
        return config->gated;
    default:
        break;
    }
    if (site == SITE_LN_F || site == SITE_ENC_LN_F)
        return config->final_norm && (site == SITE_LN_F || config->n_encoder_layer);
    return site_rows[site].part == PART_SENTENCE || config->n_encoder_layer;
}

enum site site_of_output(const struct config *config)
{
    bool normed = style_norms_sums(config->style) && !mechanism_lacks(&config->mechanism, PART_MLP);
    return normed ? SITE_LN_2 : SITE_RESID_POST;
}

enum site site_of_logits(const struct config *config)
{
    return config->final_norm ? SITE_LN_F : site_of_output(config);
}
