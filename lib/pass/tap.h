/* tap.h: which values of a pass are watched, and the functions that receive them.
 *
 * A watch is a set of sites and layers. The pass announces each watched value when it is complete,
 * once for each text of the batch, as a view that is valid until the sink returns. The sink copies
 * what it needs and does not write to the view. Watching can shorten the pass, but never changes
 * its values.
 *
 *     struct watch watch;
 *     if (watch_init(&watch, config, &arena, err)) ...
 *     watch_add(&watch, SITE_WEIGHTS, 5);
 *     struct tap tap = {.watch = &watch, .sink = my_sink, .context = mine};        (forward.h)
 * */
#pragma once

#include "base/err.h"
#include "math/tensor.h"
#include "model/site.h"
#include "pass/tap.h"

struct arena;
struct config;

/* --- what is watched -------------------------------------------------------------------------- */

struct watch {
    const struct config *config;
    struct site_set *layers; /* [layer_count] watched sites of each layer; the first set also has
                              * the watched sites outside of layers */
    size_t layer_count;      /* number of layers in the decoder or in its encoder, whichever has
                              * more */
    struct site_set any;     /* sites that are watched in some layer */
    size_t end;              /* the highest site_order of a watched site; 0: no site is watched */
    bool last_logits;        /* logits are only watched for the last token of each text, [1, V] */
    size_t first_head, head_count; /* the query heads that are watched; head_count 0: all heads */
};

/* Initialise an empty watch in `arena`. The config must outlive the watch. */
int watch_init(struct watch *watch, const struct config *config, struct arena *arena,
               struct err *err);

/* watch_add: watch a site. watch_has: whether a site is watched. `layer` must be one of the model's
 * layers; for sites outside of layers it is ignored. */
void watch_add(struct watch *watch, enum site site, size_t layer);
bool watch_has(const struct watch *watch, enum site site, size_t layer);

/* --- sinks and lenders ------------------------------------------------------------------------ */

/* A watched value. Heads that are not watched have undefined values. */
struct announcement {
    enum site site;
    int layer;            /* -1 for sites outside of layers */
    size_t text;          /* index of the text in the batch */
    struct tensor values; /* valid until the sink returns */
};

/* Receives a watched value. Returns 0 to continue, or -1 with `err` to end the pass. */
typedef int (*tap_sink)(void *context, const struct announcement *announced, struct err *err);

/* A row of an attention map. */
struct attention_map_row {
    enum site site;
    int layer;
    size_t text, head, query, keys;
    const float *values; /* [keys] weights or scores, valid until the function returns */
};

/* Receives the rows of a map one at a time, in the order of the queries; the rows of a site without
 * heads come in any order. Several threads call it at once, for the maps of different heads and
 * texts. */
typedef void (*attention_row_taker)(void *context, const struct attention_map_row *row);

/* The attention maps [T, S] of a layer's heads, which are not computed yet; or the states of a
 * mixer after each token, whose `keys` is the number of floats in a state. */
struct attention_map_loan {
    enum site site;
    int layer;
    size_t text;
    size_t queries, keys;
    float **heads;      /* [H], or [1] for a site without heads. Each is NULL at first; the lender
                         * may set it to memory for the map, dense, row by row */
    const size_t *rows; /* [queries]; NULL at first. The lender may set it to the row that each
                         * query has in that memory, or ATTENTION_NO_ROW; it is the same for all
                         * maps of a text */
    attention_row_taker take; /* NULL at first. The lender may set it in place of any memory, to
                               * receive rows; it is the same for all maps of a text */
};

#define ATTENTION_NO_ROW SIZE_MAX

/* Attention maps are too large to be copied: a lender provides the memory to which maps are
 * written, or receives their rows one after the other. It is called once for each watched site,
 * layer and text. The maps are complete when it is called for the next layer, when the tap receives
 * the next value, or when the pass has ended. A head whose memory is NULL is not written. Returns
 * 0, or -1 with an error. */
typedef int (*tap_lender)(void *context, struct attention_map_loan *loan, struct err *err);

/* The token with the largest logit; of equal logits, the one with the lowest id. `known`: the id is
 * set. */
struct likeliest {
    bool known;
    uint32_t id;
};

struct tap {
    const struct watch *watch;
    tap_sink sink;
    struct likeliest *likeliest; /* For one text with last_logits: set if the largest logit is found
                                  * without computing all logits, which the tap then does not
                                  * receive. NULL: the tap always receives logits */
    tap_lender lend;             /* NULL: the sink receives maps like other values */
    /* Returns memory for the values of a site of all texts, to which the pass may write the values
     * before it passes them to the sink, or NULL if the tap has no such memory. If a tap has this
     * function, its values are not checked for infinity and NaN, and several threads at once pass
     * the values of texts after the first to the sink; its sink must not fail. */
    float *(*room)(void *context, enum site site, int layer, size_t floats);
    void *context;
};
