/* site.h: the tensors of the forward pass, called sites, in one table; and sets of sites.
 *
 * A site is an id in a branch of the model. The text's queries are SITE_Q, an encoder's queries are
 * SITE_OF(BRANCH_SOURCE, SITE_Q), the queries of cross-attention are SITE_OF(BRANCH_CROSS, SITE_Q).
 * Options and files call them `q`, `enc.q` and `cross_q`, or with a layer `h.0.q`, `enc.0.q` and
 * `h.0.cross_q`.
 * */
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
    BRANCH_CROSS,     /* the text's attention to the source */
    BRANCH_PER_LAYER, /* the sublayers that read the layers' extra inputs; they have no attention */
    BRANCH_MIXER,     /* mixers of the text, which keep a state in place of keys and values */
    BRANCH_LAUREL,    /* a low-rank branch parallel to the text's attention */
    SITE_BRANCHES,
    ATTENTION_BRANCHES = BRANCH_PER_LAYER,
};

/* The sites of a text; other branches have the same ids. They are in the order of the forward pass,
 * except that the norm of a sum comes before the sum: see site_order. */
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
    SITE_PASS_END, /* from here on: values that are not part of the pass, most of them computed by
                    * lens/effective.c */
    SITE_VALUE_WEIGHTED = SITE_PASS_END,
    SITE_NORM_WEIGHTED,
    SITE_VALUE_ZEROING,
    SITE_ROLLOUT,
    SITE_ENTROPY, /* this site and the next two exist in all branches with attention */
    SITE_ENTROPY_SHARE,
    SITE_ATTENTION_GRADIENT, /* measure/gradients.c computes it */
    SITE_MASK,
    SITE_VISIBLE,
    SITE_END,
    SITE_LAST_OF_BRANCHES = SITE_BRANCHES * (SITE_END + 1) - 1,
};

enum { SITE_IDS = SITE_END + 1, SITE_COUNT = SITE_BRANCHES * SITE_IDS };

/* SITE_OF: the site of an id in a branch (`part`). site_branch and site_id: the branch and the id
 * of a site. */
#define SITE_OF(part, id) ((enum site)((part)*SITE_IDS + (id)))

static inline enum site_branch site_branch(enum site site)
{
    return (enum site_branch)(site / SITE_IDS);
}

static inline enum site site_id(enum site site)
{
    return (enum site)(site % SITE_IDS);
}

/* The site that follows `site` in lists. Lists are in the order of the pass, as if a model had all
 * branches:
 *
 *     for (enum site site = 0; site != SITE_PASS_END; site = site_next(site))
 *
 * visits all sites of the pass; with SITE_END in place of SITE_PASS_END, all sites. No model has
 * all of them: site_first and site_after visit the sites of a set. */
enum site site_next(enum site site);

/* --- the table -------------------------------------------------------------------------------- */

/* The two or three axes of a site. From AXES_HEAD_TOKEN on the first axis is heads or copies of the
 * stream, except in AXES_QUERY_KEY. */
enum site_axes {
    AXES_TOKEN_CHANNEL,      /* [T, C] */
    AXES_FIRST_CHANNEL,      /* [1, C]: only the first token */
    AXES_TOKEN_EXPERT,       /* [T, E] */
    AXES_TOKEN_WORD,         /* [T, V]: one number for each token of the vocabulary */
    AXES_HEAD_TOKEN,         /* [H, T]: one number for each query head; in memory [H, T, 1] */
    AXES_HEAD_TOKEN_DIM,     /* [H, T, D]: query heads */
    AXES_KV_HEAD_TOKEN_DIM,  /* [Hkv, S, D]: key/value heads, and the tokens that have keys */
    AXES_HEAD_KEY_VALUE,     /* [H, dk, dv]: the state of each head after the last token */
    AXES_HEAD_QUERY_KEY,     /* [H, T, S] */
    AXES_COPY_TOKEN_CHANNEL, /* [N, T, C]: copies of the residual stream */
    AXES_QUERY_KEY,          /* [T, S]: one map for all heads */
};

struct site_row {
    const char *name[SITE_BRANCHES];
    enum site_axes axes, mixer_axes;  /* axes: in all branches but BRANCH_MIXER; mixer_axes: in
                                       * BRANCH_MIXER */
    bool in_layer;                    /* layers have this site; else it is outside of layers */
    bool masked;                      /* reports leave out cells that a text's causal mask hides */
    const char *about[SITE_BRANCHES]; /* a line of help for each branch; NULL: the branch lacks the
                                       * site */
    const char *alias;                /* TransformerLens' name of a text's site, or NULL */
};

extern const struct site_row site_rows[SITE_IDS];

static inline const struct site_row *site_row(enum site site)
{
    return &site_rows[site_id(site)];
}

/* The axes of a site. A mixer's site may have other axes than attention's site with the same id. */
static inline enum site_axes site_axes(enum site site)
{
    const struct site_row *row = site_row(site);
    return site_branch(site) == BRANCH_MIXER ? row->mixer_axes : row->axes;
}

/* site_name: the name of a site, such as `q`, `enc.q` or `cross_q`. site_about: a line of help, or
 * NULL if no model has the site. */
static inline const char *site_name(enum site site)
{
    return site_row(site)->name[site_branch(site)];
}

static inline const char *site_about(enum site site)
{
    return site_row(site)->about[site_branch(site)];
}

/* Whether a site is not a value of the pass: effective attention (Kobayashi et al., 2020; Abnar and
 * Zuidema, 2020; Mohebbi et al., 2023), entropy, the gradient of attention, or the mask. The word
 * `all` in an option does not include these sites. */
static inline bool site_is_effective(enum site site)
{
    return site_id(site) >= SITE_PASS_END;
}

/* Whether a site is a map of 0 and 1 that shows which keys are masked: `mask`, or `visible`, which
 * is 1 - mask. */
static inline bool site_is_of_mask(enum site site)
{
    return site_id(site) >= SITE_MASK;
}

/* Whether a site of the pass is computed only if an option names it: the word `all` does not
 * include it. */
static inline bool site_is_by_name(enum site site)
{
    return site_id(site) == SITE_MAP_NORM || site_id(site) == SITE_STATES;
}

/* site_has_heads: whether a site's first axis is heads or copies. site_is_of_source: whether a
 * site's first axis of tokens has the tokens of the source. */
bool site_has_heads(enum site site);
bool site_is_of_source(enum site site);

/* The name of an axis, such as "head", "query" or "channel"; NULL: the site has fewer axes. */
const char *site_axis_name(enum site site, size_t axis);

/* Find a site by its name of `size` bytes; false: no site has this name. */
bool site_find(const char *name, size_t size, enum site *site);

enum { SITE_NAME_BYTES = 40 };

/* site_tensor_name: write a tensor's name, `h.3.weights`, `enc.3.weights` or `ln_f`, and return
 * `name`; if layer is -1 write it without the layer: `weights`. site_stack: the part before the
 * layer's number, `h` or `enc`. site_name_in_layer: the part after the number, `weights`. */
const char *site_tensor_name(char name[SITE_NAME_BYTES], enum site site, int layer);
const char *site_stack(enum site site);
const char *site_name_in_layer(enum site site);

/* The sizes of all kinds of axes. site_cells: set *count to the product of the sizes of the axes
 * that a site has; false: it exceeds 64 bits. */
struct site_extent {
    size_t heads, copies, queries, keys, rows, columns;
};

bool site_cells(size_t *count, enum site site, const struct site_extent *extent);

/* --- sets ------------------------------------------------------------------------------------- */

enum { SITE_WORDS = (SITE_COUNT + 63) / 64 };

struct site_set {
    uint64_t words[SITE_WORDS]; /* a bit for each site */
};

/* Make a set of sites, such as SITE_SET(SITE_Q, SITE_K). */
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

/* The intersection of two sets. */
struct site_set site_set_both(struct site_set set, struct site_set other);

/* site_first: the first site of a set, in the order of site_next; site_after: the next site of the
 * set after `site`. SITE_END: there is none.
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

/* site_set_is_empty: whether a set has no sites; site_set_has_branch: whether it has a site of a
 * branch; site_set_has_effective: whether it has a site that is not a value of the pass. */
bool site_set_is_empty(struct site_set set);
bool site_set_has_branch(struct site_set set, enum site_branch branch);
bool site_set_has_effective(struct site_set set);
