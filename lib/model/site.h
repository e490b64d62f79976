/* site.h: the tensors of the forward pass, in one table, and sets of them.
 *
 * A site is a branch of the model and an id: the text's queries are SITE_Q, an encoder's
 * SITE_OF(BRANCH_SOURCE, SITE_Q), cross-attention's SITE_OF(BRANCH_CROSS, SITE_Q). Options and
 * files call them `q`, `enc.q` and `cross_q`, or with a layer `h.0.q`, `enc.0.q` and `h.0.cross_q`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "math/tensor.h"

struct arena;
struct config;

/* --- ids and branches ------------------------------------------------------------------------- */

enum site_branch {
    BRANCH_TEXT,      /* the text: the decoder, or the only stack of layers */
    BRANCH_SOURCE,    /* the second text of cross-attention, and its encoder */
    BRANCH_CROSS,     /* the text, attending to the encoded source */
    BRANCH_PER_LAYER, /* the text's inputs of single layers, beside the stream: no attention */
    BRANCH_MIXER,     /* layers of the text that keep a state, in place of attention */
    BRANCH_LAUREL,    /* a low-rank branch beside the text's attention: no attention */
    SITE_BRANCHES,
    ATTENTION_BRANCHES = BRANCH_PER_LAYER,
};

/* The sites of a text, which are also the ids. In the order of the forward pass, but the norm of a
 * sum follows the sum: see site_order. */
enum site {
    SITE_EMBEDDING,
    SITE_PREDICTED,
    SITE_RESID_PRE,
    SITE_LN_1,
    SITE_Q_PRE,
    SITE_K_PRE,
    SITE_V_PRE,
    SITE_CONV,
    SITE_Q,
    SITE_K,
    SITE_V,
    SITE_STEP,
    SITE_DECAY,
    SITE_SCORES,
    SITE_SOFTMAX,
    SITE_MASKED,
    SITE_WEIGHTS,
    SITE_DIFFERENCE,
    SITE_SINK,
    SITE_MAP_NORM,
    SITE_STATE,
    SITE_STATES,
    SITE_CONTEXT,
    SITE_GATE,
    SITE_GATED,
    SITE_ATTN_OUT,
    SITE_LN_1_POST,
    SITE_RESID_MID,
    SITE_LN_2,
    SITE_LN_EXPERTS,
    SITE_ROUTER,
    SITE_EXPERT_WEIGHTS,
    SITE_SHARED_OUT,
    SITE_MLP_GATE,
    SITE_MLP_UP,
    SITE_MLP_ACT,
    SITE_MLP_OUT,
    SITE_LN_2_POST,
    SITE_RESID_MLP,
    SITE_CORRECTED,
    SITE_STREAMS,
    SITE_MERGED,
    SITE_RESID_POST,
    SITE_LN_F,
    SITE_TRANSFORM,
    SITE_POOLED,
    SITE_DISCRIMINATOR,
    SITE_LOGITS,
    SITE_PASS_END, /* those from here on are not values of the pass: lens/effective.c */
    SITE_VALUE_WEIGHTED = SITE_PASS_END,
    SITE_NORM_WEIGHTED,
    SITE_VALUE_ZEROING,
    SITE_ROLLOUT,
    SITE_ENTROPY, /* all branches have this site and the next two */
    SITE_ENTROPY_SHARE,
    SITE_ATTENTION_GRADIENT, /* measure/gradients.c */
    SITE_MASK,
    SITE_VISIBLE,
    SITE_END,
    SITE_LAST_OF_BRANCHES = SITE_BRANCHES * (SITE_END + 1) - 1,
};

enum { SITE_IDS = SITE_END + 1, SITE_COUNT = SITE_BRANCHES * SITE_IDS };

/* The site of a branch with the id of a text's site; the branch and the id of a site. */
#define SITE_OF(part, id) ((enum site)((part)*SITE_IDS + (id)))

static inline enum site_branch site_branch(enum site site)
{
    return (enum site_branch)(site / SITE_IDS);
}

static inline enum site site_id(enum site site)
{
    return (enum site)(site % SITE_IDS);
}

/* The site after `site` in lists, which have the order of the pass in models with all branches:
 *
 *     for (enum site site = 0; site != SITE_PASS_END; site = site_next(site))
 *
 * visits all sites of the pass; up to SITE_END, all sites. No model has all: see site_first. */
enum site site_next(enum site site);

/* --- the table -------------------------------------------------------------------------------- */

/* The axes of a site: two or three. From AXES_HEAD_TOKEN on all but the last have heads, or copies
 * of the stream in their place. */
enum site_axes {
    AXES_TOKEN_CHANNEL,      /* [T, C] */
    AXES_FIRST_CHANNEL,      /* [1, C]: of the first token */
    AXES_TOKEN_EXPERT,       /* [T, E] */
    AXES_TOKEN_WORD,         /* [T, V]: a column for each entry of the vocabulary */
    AXES_HEAD_TOKEN,         /* [H, T]: a number of each query head, in memory [H, T, 1] */
    AXES_HEAD_TOKEN_DIM,     /* [H, T, D]: query heads */
    AXES_KV_HEAD_TOKEN_DIM,  /* [Hkv, S, D]: key/value heads, tokens of the keys */
    AXES_HEAD_KEY_VALUE,     /* [H, dk, dv]: after the last token */
    AXES_HEAD_QUERY_KEY,     /* [H, T, S] */
    AXES_COPY_TOKEN_CHANNEL, /* [N, T, C]: copies of the residual stream */
    AXES_QUERY_KEY,          /* [T, S]: for all heads together */
};

struct site_row {
    const char *name[SITE_BRANCHES];
    enum site_axes axes, mixer_axes;  /* of a text; of BRANCH_MIXER */
    bool in_layer;                    /* one for each layer, else one in the model */
    bool masked;                      /* reports leave out cells that a text's causal mask hides */
    const char *about[SITE_BRANCHES]; /* a line of help; NULL: the branch lacks the site */
    const char *alias;                /* TransformerLens' name of a text's site, or NULL */
};

extern const struct site_row site_rows[SITE_IDS];

static inline const struct site_row *site_row(enum site site)
{
    return &site_rows[site_id(site)];
}

/* The axes of a site, which may differ in mixers. */
static inline enum site_axes site_axes(enum site site)
{
    const struct site_row *row = site_row(site);
    return site_branch(site) == BRANCH_MIXER ? row->mixer_axes : row->axes;
}

/* `q`, `enc.q` or `cross_q`; a line of help, NULL if no model has such a site. */
static inline const char *site_name(enum site site)
{
    return site_row(site)->name[site_branch(site)];
}

static inline const char *site_about(enum site site)
{
    return site_row(site)->about[site_branch(site)];
}

/* Effective attention (Kobayashi et al., 2020; Abnar and Zuidema, 2020; Mohebbi et al., 2023),
 * entropy and the mask: not values of the pass, not in `all`; lens/effective.c computes them. */
static inline bool site_is_effective(enum site site)
{
    return site_id(site) >= SITE_PASS_END;
}

/* Maps of 0 and 1 that are made of masked scores: the mask, and its opposite. */
static inline bool site_is_of_mask(enum site site)
{
    return site_id(site) >= SITE_MASK;
}

/* Sites of the pass that are computed only if they are named, not in `all`. */
static inline bool site_is_by_name(enum site site)
{
    return site_id(site) == SITE_MAP_NORM || site_id(site) == SITE_STATES;
}

/* Whether the first axis is heads, or copies; whether the first axis of tokens is the source's, in
 * a model with an encoder. */
bool site_has_heads(enum site site);
bool site_is_of_source(enum site site);

/* The name of an axis, such as "head", "query" or "channel"; NULL: the site has fewer axes. */
const char *site_axis_name(enum site site, size_t axis);

/* The site of a name, false if there is none. */
bool site_find(const char *name, size_t size, enum site *site);

enum { SITE_NAME_BYTES = 40 };

/* Write the tensor's name, `h.3.weights`, `enc.3.weights` or `ln_f`, with layer -1 the name without
 * one, `weights`; returns `name`. The parts
 * before the layer's number, and after it. */
const char *site_tensor_name(char name[SITE_NAME_BYTES], enum site site, int layer);
const char *site_stack(enum site site);
const char *site_name_in_layer(enum site site);

/* The sizes of a site's axes, each used if the site has such an axis; the product of those it has,
 * false if it exceeds 64 bits. */
struct site_extent {
    size_t heads, copies, queries, keys, rows, columns;
};

bool site_cells(size_t *count, enum site site, const struct site_extent *extent);

/* --- sets ------------------------------------------------------------------------------------- */

enum { SITE_WORDS = (SITE_COUNT + 63) / 64 };

struct site_set {
    uint64_t words[SITE_WORDS]; /* a bit for each site */
};

/* The set of some sites, SITE_SET(SITE_Q, SITE_K). */
#define SITE_SET(...)                             \
    site_set_of((const enum site[]){__VA_ARGS__}, \
                sizeof((enum site[]){__VA_ARGS__}) / sizeof(enum site))

struct site_set site_set_of(const enum site *sites, size_t count);
void site_set_remove(struct site_set *set, enum site site);
void site_set_join(struct site_set *set, struct site_set more);

static inline void site_set_add(struct site_set *set, enum site site)
{
    set->words[site / 64] |= (uint64_t)1 << site % 64;
}

static inline bool site_set_has(struct site_set set, enum site site)
{
    return set.words[site / 64] >> site % 64 & 1;
}

/* The sites that both sets have. */
struct site_set site_set_both(struct site_set set, struct site_set other);

/* The sites of a set, in the order of lists; SITE_END: there is no other.
 *
 *     for (enum site site = site_first(set); site != SITE_END; site = site_after(set, site)) */
static inline enum site site_after(struct site_set set, enum site site)
{
    do
        site = site_next(site);
    while (site != SITE_END && !site_set_has(set, site));
    return site;
}

static inline enum site site_first(struct site_set set)
{
    return site_set_has(set, 0) ? 0 : site_after(set, 0);
}

/* Whether a set has no sites; whether it has sites of a branch, or any that are not of the pass. */
bool site_set_is_empty(struct site_set set);
bool site_set_has_branch(struct site_set set, enum site_branch branch);
bool site_set_has_effective(struct site_set set);
