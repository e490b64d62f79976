/* tap.h: which values of a pass are watched, and the functions that receive them.
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

#include "base/err.h"
#include "math/tensor.h"
#include "model/site.h"
#include "pass/tap.h"

struct arena;
struct config;

/* --- what is watched -------------------------------------------------------------------------- */

struct watch {
    const struct config *config;
    struct site_set *layers; /* [layer_count]; the first also has sites outside of layers */
    size_t layer_count;      /* layers of the decoder or its encoder, the larger number */
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

/* Receives the rows of a map in the order of the queries (of a site without heads, in any), one at
 * a time. Several threads call it at once for the maps of different heads and texts. */
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
 * receives row after row of all heads. It is called once for each watched site, layer and text. The
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
     * announced; NULL: there is none. A tap with this function gets values unchecked, and values of
     * texts after the first by several threads at once; its sink does not fail then. */
    float *(*room)(void *context, enum site site, int layer, size_t floats);
    void *context;
};
