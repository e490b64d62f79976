/* site.h: the places in the forward pass that can be watched: one row a place.
 *
 * Names are the ones users type and files carry: `weights`, and with its layer `h.0.weights`; of an
 * encoder `enc.weights` and `enc.0.weights`.
 */
#ifndef ATTN_MODEL_SITE_H
#define ATTN_MODEL_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;

/* In the order of the forward pass: a pass that watches nothing beyond a site stops there. (Where
 * norms come last, they come after the sums: see `after` below.) */
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
    SITE_COUNT, /* those of the pass; the others are made of what it announces */
    SITE_VALUE_WEIGHTED = SITE_COUNT,
    SITE_NORM_WEIGHTED,
    SITE_VALUE_ZEROING,
    SITE_ROLLOUT,
    SITE_ALL,
};

/* What the axes of a site mean; every site has two or three. */
enum site_axes {
    AXES_TOKEN_CHANNEL,   /* [T, C] */
    AXES_TOKEN_WORD,      /* [T, V]: one column an entry of the vocabulary */
    AXES_HEAD_TOKEN_DIM,  /* [H, T, D]: query heads */
    AXES_GROUP_TOKEN_DIM, /* [Hkv, S, D]: key/value heads, over the tokens that are looked at */
    AXES_HEAD_QUERY_KEY,  /* [H, T, S] */
    AXES_QUERY_KEY,       /* [T, S]: of all heads together */
};

/* Which text a site is about, and what that looks at. */
enum site_part {
    PART_SENTENCE,
    PART_SOURCE, /* the second text, in cross-attention, and the encoder that reads it */
    PART_CROSS,  /* the sentence, as it looks at what an encoder made of the source */
};

struct site_row {
    const char *name;
    enum site_axes axes;
    bool in_layer;       /* one in every layer, or one in the model */
    bool masked;         /* beyond the causal mask there is nothing to see */
    const char *about;   /* a line for help */
    const char *alias;   /* TransformerLens' name, or NULL */
    enum site_part part; /* see site_of */
    enum site after;     /* of a norm: the sum that it comes after where norms come last */
};

extern const struct site_row site_rows[SITE_ALL];

/* A set of sites is 64 bits, one a site. */
static inline uint64_t site_bit(enum site site)
{
    return (uint64_t)1 << site;
}

/* Effective attention (Kobayashi et al., 2020; Abnar and Zuidema, 2020; Mohebbi et al., 2023): no
 * value of the pass, and not in `all`; lens/effective.c makes them. */
static inline bool site_is_effective(enum site site)
{
    return site >= SITE_COUNT;
}

/* Is its first axis that of heads? Is its first axis of tokens the source's? */
bool site_has_heads(enum site site);
bool site_is_of_source(enum site site);

/* The name of an axis: "head", "kv_head", "query", "key", "token", "channel", "dim" or "word". */
const char *site_axis_name(enum site site, size_t axis);

/* A site of the text as another part has it, or itself where that has none; and back; the site of a
 * name, false when there is none. */
enum site site_of(enum site_part part, enum site site);
enum site site_like(enum site site);
bool site_find(const char *name, size_t size, enum site *site);

enum { SITE_NAME_BYTES = 32 };

/* Write the tensor's name, `h.3.weights`, `enc.3.weights` or `ln_f`; returns `name`. What stands
 * before the layer's number, and after it. */
const char *site_tensor_name(char name[SITE_NAME_BYTES], enum site site, int layer);
const char *site_stack(enum site site);
const char *site_name_in_layer(enum site site);

/* Does a model of this config have the site? (Bare attention has no norms, for example.) And has
 * this layer, of those that differ? */
bool site_exists(const struct config *config, enum site site);
bool site_is_in_layer(const struct config *config, enum site site, size_t layer);

/* The floats of one layer, of `heads` query heads where it has heads, for so many tokens of a text
 * and of its source; false: 64 bits are few. */
bool site_size(size_t *count, const struct config *config, enum site site, size_t heads,
               size_t tokens, size_t source);

#endif
