/* site.h: the tensors of the forward pass, in one table; which of them are watched, and the
 * functions that receive them.
 *
 * A site is a part of the model and an id: the text's queries are SITE_Q, those of an encoder
 * SITE_OF(PART_SOURCE, SITE_Q), those of cross-attention SITE_OF(PART_CROSS, SITE_Q). Options and
 * files call them `q`, `enc.q` and `cross_q`, or with a layer `h.0.q`, `enc.0.q` and `h.0.cross_q`.
 *
 * A watch is a set of sites and layers. The pass announces each watched value when it is complete,
 * once for each text of the batch, as a borrowed view. The sink copies what it needs and does not
 * write to the view. Watching can shorten the pass, but never changes its values.
 *
 *     struct watch watch;
 *     if (watch_init(&watch, config, &arena, err)) ...
 *     watch_add(&watch, SITE_WEIGHTS, 5);
 *     struct tap tap = {.watch = &watch, .sink = my_sink, .context = mine};        (forward.h)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "math/tensor.h"

struct arena;
struct config;

/* --- ids and parts ---------------------------------------------------------------------------- */

enum site_part {
    PART_SENTENCE,  /* the text: the decoder, or the only stack of layers */
    PART_SOURCE,    /* the second text of cross-attention, and its encoder */
    PART_CROSS,     /* the text, attending to the encoded source */
    PART_PER_LAYER, /* the text's inputs of single layers, beside the stream: no attention */
    PART_MIXER,     /* layers of the text that keep a state, in place of attention */
    PART_LAUREL,    /* a low-rank branch beside the text's attention: no attention */
    SITE_PARTS,
    ATTENTION_PARTS = PART_PER_LAYER,
};

enum { SITE_IDS = 64, SITE_COUNT = SITE_PARTS * SITE_IDS };

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
    SITE_ENTROPY, /* all parts have this site and the next two */
    SITE_ENTROPY_SHARE,
    SITE_ATTENTION_GRADIENT, /* measure/gradients.c */
    SITE_MASK,
    SITE_VISIBLE,
    SITE_END,
    SITE_LAST_OF_PARTS = SITE_COUNT - 1,
};

_Static_assert((int)SITE_END <= SITE_IDS, "the ids of a part are a uint64_t");

/* The site of a part with the id of a text's site; the part and the id of a site. */
#define SITE_OF(part, id) ((enum site)((part)*SITE_IDS + (id)))

static inline enum site_part site_part(enum site site)
{
    return (enum site_part)(site / SITE_IDS);
}

static inline enum site site_id(enum site site)
{
    return (enum site)(site % SITE_IDS);
}

/* The site after `site` in lists, which have the order of the pass in models with all parts:
 *
 *     for (enum site site = 0; site != SITE_PASS_END; site = site_next(site))
 *
 * visits all sites of the pass; up to SITE_END, all sites. No model has all. */
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
    AXES_GROUP_TOKEN_DIM,    /* [Hkv, S, D]: key/value heads, tokens of the keys */
    AXES_HEAD_KEY_VALUE,     /* [H, dk, dv]: after the last token */
    AXES_HEAD_QUERY_KEY,     /* [H, T, S] */
    AXES_COPY_TOKEN_CHANNEL, /* [N, T, C]: copies of the residual stream */
    AXES_QUERY_KEY,          /* [T, S]: for all heads together */
};

struct site_row {
    const char *name[SITE_PARTS];
    enum site_axes axes, mixer_axes; /* of a text; of PART_MIXER */
    bool in_layer;                   /* one for each layer, else one in the model */
    bool masked;                     /* reports leave out cells that a text's causal mask hides */
    const char *about[SITE_PARTS];   /* a line of help; NULL: the part lacks the site */
    const char *alias;               /* TransformerLens' name of a text's site, or NULL */
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
    return site_part(site) == PART_MIXER ? row->mixer_axes : row->axes;
}

/* `q`, `enc.q` or `cross_q`; a line of help, NULL if no model has such a site. */
static inline const char *site_name(enum site site)
{
    return site_row(site)->name[site_part(site)];
}

static inline const char *site_about(enum site site)
{
    return site_row(site)->about[site_part(site)];
}

/* Effective attention (Kobayashi et al., 2020; Abnar and Zuidema, 2020; Mohebbi et al., 2023),
 * entropy and the mask: not values of the pass, not in `all`; lens/effective.c computes them. */
static inline bool site_is_effective(enum site site)
{
    return site_id(site) >= SITE_PASS_END;
}

/* Whether the pass goes on with the values of a site after an edit of them; whether the walk back
 * has their gradient. A site of the pass that the table of uses in site.c does not list is only
 * shown: edits and gradients of it are refused by name. */
bool site_is_edited(enum site site);
bool site_has_gradient(enum site site);

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

/* Whether a model of this config has the site (models of type "attention" have no norms, for
 * example). */
bool site_exists(const struct config *config, enum site site);

/* Whether a site belongs to a sublayer that --without leaves out; whether a layer has the site, as
 * layers may differ; the number of layers of the site's stack, 1 for a site outside of layers. */
bool site_is_left_out(const struct config *config, enum site site);
bool site_is_in_layer(const struct config *config, enum site site, size_t layer);

/* Whether a site of a layer is that of an earlier one: keys and values that it reads. */
bool site_is_borrowed(const struct config *config, enum site site, size_t layer);
size_t site_layers(const struct config *config, enum site site);

/* The output of a layer; the end of the layers: the final norm, else the last output. */
enum site site_of_output(const struct config *config);
enum site site_of_logits(const struct config *config);

/* The heads or copies of a site in a layer, 1 if it has none; its columns, of each head; the most
 * of both in any layer. */
size_t site_heads(const struct config *config, enum site site, size_t layer);
size_t site_columns(const struct config *config, enum site site, size_t layer);
void site_most(size_t *heads, size_t *columns, const struct config *config, enum site site);

/* How many heads share one of a site: of keys and values, and of a mixer's queries; else 1. */
size_t site_shared_by(const struct config *config, enum site site, size_t layer);

/* The most floats of a site in a layer, for `heads` query heads if it has heads, and for the
 * tokens of a text and its source; false if it exceeds 64 bits. */
bool site_size(size_t *count, const struct config *config, enum site site, size_t heads,
               size_t tokens, size_t source);

/* A number above 0 that grows in the order in which a pass announces sites: the layers of an
 * encoder come before those of its decoder, and the norm of a sum comes after the sum. */
size_t site_order(const struct config *config, enum site site, size_t layer);

/* --- what is watched -------------------------------------------------------------------------- */

struct site_set {
    uint64_t of[SITE_PARTS]; /* a bit for each id */
};

/* The set of some sites, SITE_SET(SITE_Q, SITE_K). */
#define SITE_SET(...)                             \
    site_set_of((const enum site[]){__VA_ARGS__}, \
                sizeof((enum site[]){__VA_ARGS__}) / sizeof(enum site))

struct site_set site_set_of(const enum site *sites, size_t count);
void site_set_add(struct site_set *set, enum site site);
void site_set_join(struct site_set *set, struct site_set more);
bool site_set_has(struct site_set set, enum site site);

/* Whether a set has no sites; whether it has sites that are not of the pass. */
bool site_set_is_empty(struct site_set set);
bool site_set_has_effective(struct site_set set);

struct watch {
    const struct config *config;
    struct site_set *layers; /* [layer_count]; the first also has sites outside of layers */
    size_t layer_count;      /* of the decoder or its encoder, the larger number */
    struct site_set any;     /* watched in any layer */
    size_t end;              /* the highest site_order of a watched site; 0: none is watched */
    bool last_logits;        /* logits of each text's last token only, [1, V] */
    size_t first_head, head_count; /* watched query heads; head_count 0: all */
};

/* An empty watch, in `arena`; it borrows the config. */
int watch_init(struct watch *watch, const struct config *config, struct arena *arena,
               struct err *err);

/* Watch a site; for sites in layers, `layer` must be one of the model's. */
void watch_add(struct watch *watch, enum site site, size_t layer);
bool watch_has(const struct watch *watch, enum site site, size_t layer);

/* --- sinks and lenders ------------------------------------------------------------------------ */

/* A watched value. Heads that are not watched have undefined values. */
struct announcement {
    enum site site;
    int layer;            /* -1 for sites outside the layers */
    size_t text;          /* index in the batch */
    struct tensor values; /* valid until the sink returns */
};

/* Returns 0 to continue; -1 with `err` ends the pass. */
typedef int (*tap_sink)(void *context, const struct announcement *announced, struct err *err);

/* A row of an attention map. */
struct attention_map_row {
    enum site site;
    int layer;
    size_t text, head, query, keys;
    const float *values; /* [keys] valid until the function returns */
};

/* Takes the rows of a map in the order of the queries (of a site without heads, in any), one at a
 * time. Several threads call it at once for the maps of different heads and texts. */
typedef void (*attention_row_taker)(void *context, const struct attention_map_row *row);

/* The attention maps [T, S] of a layer's heads, before they are computed; or the states after each
 * token, with a row of numbers as keys. */
struct attention_map_loan {
    enum site site;
    int layer;
    size_t text;
    size_t queries, keys;
    float **heads;      /* [H], or [1] of a site without heads; each NULL at first: set to the
                         * memory of a map, dense, row by row */
    const size_t *rows; /* [queries] NULL at first: may be set to the row of each query in that
                         * memory, or ATTENTION_NO_ROW; the same for all maps of a text */
    attention_row_taker take; /* NULL at first: may be set instead of all memory; the same for all
                               * maps of a text */
};

#define ATTENTION_NO_ROW SIZE_MAX

/* Attention maps are too large to copy: a lender provides the memory to which they are written, or
 * takes row after row of all heads. It is called once for each watched site, layer and text. The
 * maps are complete when it is called for the next layer, the next value is announced, or the pass
 * has ended. Heads are not written if their memory is NULL. Returns as a sink does. */
typedef int (*tap_lender)(void *context, struct attention_map_loan *loan, struct err *err);

/* If `known`, the token with the largest logit; of equal ones, the lowest id. */
struct likeliest {
    bool known;
    uint32_t id;
};

struct tap {
    const struct watch *watch;
    tap_sink sink;
    struct likeliest *likeliest; /* for one text with last_logits: if this can be found without all
                                  * logits, these are not announced. NULL: always announced */
    tap_lender lend;             /* NULL: maps are announced like other values */
    /* The memory of a site for all texts, to which the pass may write its values before they are
     * announced; NULL: there is none. A tap with this function gets values unchecked, and those of
     * texts after the first by several threads at once; its sink does not fail then. */
    float *(*room)(void *context, enum site site, int layer, size_t floats);
    void *context;
};
