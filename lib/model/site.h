/* site.h: the tensors of the forward pass that can be watched, in one table.
 *
 * Options and files use these names: `weights`, or with a layer `h.0.weights`; in an encoder
 * `enc.weights` and `enc.0.weights`.
 */
#ifndef ATTN_MODEL_SITE_H
#define ATTN_MODEL_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;

/* In the order of the forward pass: a pass stops after the last watched site. (In models whose
 * norms follow the sums, ln_1 and ln_2 come later: see `after` below.) */
enum site {
    SITE_EMBEDDING,
    SITE_SOURCE_EMBEDDING,
    SITE_ENC_RESID_PRE,
    SITE_ENC_LN_1,
    SITE_ENC_Q,
    SITE_ENC_K,
    SITE_ENC_V,
    SITE_ENC_SCORES,
    SITE_ENC_MASKED,
    SITE_ENC_WEIGHTS,
    SITE_ENC_CONTEXT,
    SITE_ENC_ATTN_OUT,
    SITE_ENC_RESID_MID,
    SITE_ENC_LN_2,
    SITE_ENC_MLP_ACT,
    SITE_ENC_MLP_OUT,
    SITE_ENC_RESID_POST,
    SITE_ENC_LN_F,
    SITE_RESID_PRE,
    SITE_LN_1,
    SITE_Q_PRE,
    SITE_K_PRE,
    SITE_Q,
    SITE_K,
    SITE_V,
    SITE_SCORES,
    SITE_SOFTMAX,
    SITE_MASKED,
    SITE_WEIGHTS,
    SITE_CONTEXT,
    SITE_ATTN_OUT,
    SITE_LN_1_POST,
    SITE_RESID_MID,
    SITE_LN_CROSS,
    SITE_CROSS_Q,
    SITE_CROSS_K,
    SITE_CROSS_V,
    SITE_CROSS_SCORES,
    SITE_CROSS_MASKED,
    SITE_CROSS_WEIGHTS,
    SITE_CROSS_CONTEXT,
    SITE_CROSS_OUT,
    SITE_RESID_CROSS,
    SITE_LN_2,
    SITE_MLP_GATE,
    SITE_MLP_UP,
    SITE_MLP_ACT,
    SITE_MLP_OUT,
    SITE_LN_2_POST,
    SITE_RESID_POST,
    SITE_LN_F,
    SITE_LOGITS,
    SITE_COUNT, /* sites of the pass; those below are computed from them after it */
    SITE_VALUE_WEIGHTED = SITE_COUNT,
    SITE_NORM_WEIGHTED,
    SITE_VALUE_ZEROING,
    SITE_ROLLOUT,
    SITE_MASK,
    SITE_VISIBLE,
    SITE_ALL,
};

/* The axes of a site: two or three. */
enum site_axes {
    AXES_TOKEN_CHANNEL,   /* [T, C] */
    AXES_TOKEN_WORD,      /* [T, V]: a column for each entry of the vocabulary */
    AXES_HEAD_TOKEN_DIM,  /* [H, T, D]: query heads */
    AXES_GROUP_TOKEN_DIM, /* [Hkv, S, D]: key/value heads, tokens of the keys */
    AXES_HEAD_QUERY_KEY,  /* [H, T, S] */
    AXES_QUERY_KEY,       /* [T, S]: for all heads together */
};

/* The text of a site, and the text of its keys. */
enum site_part {
    PART_SENTENCE,
    PART_SOURCE, /* the second text of cross-attention, and its encoder */
    PART_CROSS,  /* the sentence, attending to the encoded source */
};

struct site_row {
    const char *name;
    enum site_axes axes;
    bool in_layer;       /* one for each layer, else one in the model */
    bool masked;         /* cells beyond the causal mask are empty */
    const char *about;   /* a line of help */
    const char *alias;   /* TransformerLens' name, or NULL */
    enum site_part part; /* see site_of */
    enum site after;     /* of a norm: the sum that it follows in models without norm_first */
};

extern const struct site_row site_rows[SITE_ALL];

/* A set of sites has one bit for each. */
static inline uint64_t site_bit(enum site site)
{
    return (uint64_t)1 << site;
}

/* Effective attention (Kobayashi et al., 2020; Abnar and Zuidema, 2020; Mohebbi et al., 2023) and
 * the mask: not values of the pass, and not in `all`; lens/effective.c computes them. */
static inline bool site_is_effective(enum site site)
{
    return site >= SITE_COUNT;
}

/* Whether the first axis is heads; whether the first axis of tokens is the source's. */
bool site_has_heads(enum site site);
bool site_is_of_source(enum site site);

/* The name of an axis: "head", "kv_head", "query", "key", "token", "channel", "dim" or "word". */
const char *site_axis_name(enum site site, size_t axis);

/* The site of another part that corresponds to a site of the sentence, or the site itself if there
 * is none; the reverse; the site of a name, false if there is none. */
enum site site_of(enum site_part part, enum site site);
enum site site_like(enum site site);
bool site_find(const char *name, size_t size, enum site *site);

enum { SITE_NAME_BYTES = 32 };

/* Write the tensor's name, `h.3.weights`, `enc.3.weights` or `ln_f`; returns `name`. The parts
 * before the layer's number, and after it. */
const char *site_tensor_name(char name[SITE_NAME_BYTES], enum site site, int layer);
const char *site_stack(enum site site);
const char *site_name_in_layer(enum site site);

/* Whether a model of this config has the site (models of type "attention" have no norms, for
 * example), and whether a layer has it, if layers differ. */
bool site_exists(const struct config *config, enum site site);
bool site_is_in_layer(const struct config *config, enum site site, size_t layer);

/* The output of a layer, and what the logits are computed from: that of the last layer, or its
 * norm. */
enum site site_of_output(const struct config *config);
enum site site_of_logits(const struct config *config);

/* The number of floats of a site in one layer, for `heads` query heads if it has heads, and for the
 * tokens of a text and its source; false if it exceeds 64 bits. */
bool site_size(size_t *count, const struct config *config, enum site site, size_t heads,
               size_t tokens, size_t source);

#endif
