/* tap.h: how intermediate values leave the forward pass.
 *
 * A watch says which (site, layer) pairs are wanted. The pass announces each value when it is
 * whole, once for every text of the batch, as a borrowed view; the sink copies what it keeps, and
 * never writes. Watching can shorten the pass, never change it.
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
    uint64_t *layers;     /* [layer_count] the sites of that layer, of encoder and decoder */
    uint64_t model_sites; /* those outside the layers */
    size_t layer_count;   /* of the one that has more */
    bool norm_first;
    bool last_logits;              /* logits of each text's last token only, [1, V] */
    size_t first_head, head_count; /* query heads that are looked at; 0 of them: all */
};

/* Nothing is watched yet; the bits live in `arena`. */
int watch_init(struct watch *watch, const struct config *config, struct arena *arena,
               struct err *err);

/* Watch a site; `layer` counts for sites in a layer and must be one of the model's. */
void watch_add(struct watch *watch, enum site site, size_t layer);

/* Is it watched? Anything after it, in the order of the pass? From it on? Any site of a part? */
bool watch_has(const struct watch *watch, enum site site, size_t layer);
bool watch_after(const struct watch *watch, enum site site, size_t layer);
bool watch_from(const struct watch *watch, enum site site, size_t layer);
bool watch_has_any(const struct watch *watch, enum site_part part);

/* In heads that are not looked at the values may be anything. */
struct announcement {
    enum site site;
    int layer;            /* -1 for sites outside the layers */
    size_t text;          /* which text of the batch */
    struct tensor values; /* valid until the sink returns */
};

/* Returns 0 to go on; -1 with `err` ends the pass. */
typedef int (*tap_sink)(void *context, const struct announcement *seen, struct err *err);

/* The attention maps [T, S] of a layer's heads, before they are computed. */
struct attention_map_room {
    enum site site;
    int layer;
    size_t text;
    size_t queries, keys;
    float **heads;      /* [H] all NULL: fill in where each is to be written, dense, row by row */
    const size_t *rows; /* [queries] NULL: may be set to the row of each query in that memory, or
                         * ATTENTION_NO_ROW; the same for all maps of a text */
};

#define ATTENTION_NO_ROW SIZE_MAX

/* Attention maps are too large to be copied: who keeps them lends the memory that they are written
 * to. It is asked once for every watched site, layer and text; they are whole when the next value
 * is announced, or the pass is over. A head without a place is not written. Returns as a sink does.
 */
typedef int (*tap_lender)(void *context, struct attention_map_room *room, struct err *err);

/* The token of the largest logit, the lowest of equal ones. */
struct likeliest {
    bool known;
    uint32_t id;
};

struct tap {
    const struct watch *watch;
    tap_sink sink;
    struct likeliest *likeliest; /* of one text whose last logits are watched: where it becomes
                                  * known without them they are not announced. NULL: they are */
    tap_lender lend;             /* NULL: maps are announced as all else is */
    void *context;
};

#endif
