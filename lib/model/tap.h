/* tap.h: passes intermediate values of the forward pass to a function.
 *
 * A watch is a set of (site, layer) pairs. The pass announces each watched value when it is
 * complete, once for each text of the batch, as a borrowed view. The sink copies what it needs and
 * does not write to it. Watching can shorten the pass, but never changes its values.
 *
 *     struct watch watch;
 *     if (watch_init(&watch, config, &arena, err)) ...
 *     watch_add(&watch, SITE_WEIGHTS, 5);
 *     struct tap tap = {.watch = &watch, .sink = my_sink, .context = mine};        (forward.h)
 */
#ifndef ATTN_MODEL_TAP_H
#define ATTN_MODEL_TAP_H

#include <stdint.h>

#include "base/err.h"
#include "math/tensor.h"
#include "model/site.h"

struct arena;

struct watch {
    uint64_t *layers;     /* [layer_count] watched sites of this layer of encoder and decoder */
    uint64_t model_sites; /* watched sites outside the layers */
    size_t layer_count;   /* the larger of encoder and decoder */
    bool norms_sums;
    bool last_logits;              /* logits of each text's last token only, [1, V] */
    size_t first_head, head_count; /* watched query heads; head_count 0: all */
};

/* An empty watch; its bits live in `arena`. */
int watch_init(struct watch *watch, const struct config *config, struct arena *arena,
               struct err *err);

/* Watch a site; for sites in layers, `layer` must be one of the model's. */
void watch_add(struct watch *watch, enum site site, size_t layer);

/* Whether the site is watched; any site after it in the order of the pass; the site or any after
 * it; any site of a part. */
bool watch_has(const struct watch *watch, enum site site, size_t layer);
bool watch_after(const struct watch *watch, enum site site, size_t layer);
bool watch_from(const struct watch *watch, enum site site, size_t layer);
bool watch_has_any(const struct watch *watch, enum site_part part);

/* A watched value. Heads that are not watched have undefined values. */
struct announcement {
    enum site site;
    int layer;            /* -1 for sites outside the layers */
    size_t text;          /* index in the batch */
    struct tensor values; /* valid until the sink returns */
};

/* Returns 0 to continue; -1 with `err` ends the pass. */
typedef int (*tap_sink)(void *context, const struct announcement *seen, struct err *err);

/* The attention maps [T, S] of a layer's heads, before they are computed. */
struct attention_map_room {
    enum site site;
    int layer;
    size_t text;
    size_t queries, keys;
    float **heads;      /* [H] NULL at first: set to the memory of each map, dense, row by row */
    const size_t *rows; /* [queries] NULL at first: may be set to the row of each query in that
                         * memory, or ATTENTION_NO_ROW; the same for all maps of a text */
};

#define ATTENTION_NO_ROW SIZE_MAX

/* Attention maps are too large to copy: a lender provides the memory to which they are written. It
 * is called once for each watched site, layer and text. The maps are complete when the next value
 * is announced, or the pass has ended. Heads whose memory stays NULL are not written. Returns as a
 * sink does. */
typedef int (*tap_lender)(void *context, struct attention_map_room *room, struct err *err);

/* The token with the largest logit; of equal ones, the lowest id. */
struct likeliest {
    bool known;
    uint32_t id;
};

struct tap {
    const struct watch *watch;
    tap_sink sink;
    struct likeliest *likeliest; /* for one text with last_logits: if this can be found without all
                                  * logits, they are not announced. NULL: always announced */
    tap_lender lend;             /* NULL: maps are announced like other values */
    void *context;
};

#endif
