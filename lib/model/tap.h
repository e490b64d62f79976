/* tap.h: how intermediate values leave the forward pass.
 *
 * A watch says which (site, layer) pairs are wanted, one bit each. The pass announces each value
 * when it is whole, beside the line that made it; the sink sees a borrowed view, once for every
 * sequence of the batch, and copies what it keeps. A sink never writes. Watching can shorten the
 * pass, never change it: what is computed has the same bits whatever is watched.
 *
 *     struct watch watch;
 *     if (watch_init(&watch, config->n_layer, &arena, err)) ...
 *     watch_add(&watch, SITE_WEIGHTS, 5);
 *     struct tap tap = {.watch = &watch, .sink = my_sink, .context = mine};
 *     ... run ...
 *     int my_sink(void *context, const struct announcement *seen, struct err *err) { ... }
 */
#ifndef ATTN_MODEL_TAP_H
#define ATTN_MODEL_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "math/tensor.h"
#include "model/site.h"

struct watch {
    uint32_t *layers;     /* [layer_count] one bit a site of that layer */
    uint32_t model_sites; /* one bit a site outside the layers */
    size_t layer_count;
    bool last_logits; /* logits of each sequence's last token only, [1, V] */
};

/* Nothing is watched yet; the bits live in `arena`. */
int watch_init(struct watch *watch, size_t layer_count, struct arena *arena, struct err *err);

/* Watch a site; `layer` counts for sites in a layer and must be one of the model's. */
void watch_add(struct watch *watch, enum site site, size_t layer);

bool watch_has(const struct watch *watch, enum site site, size_t layer);

/* True when anything after `site` of `layer`, in the order of the pass, is watched; or from it on.
 */
bool watch_after(const struct watch *watch, enum site site, size_t layer);
bool watch_from(const struct watch *watch, enum site site, size_t layer);

struct announcement {
    enum site site;
    int layer;            /* -1 for sites outside the layers */
    size_t sequence;      /* which sequence of the batch */
    struct tensor values; /* valid until the sink returns */
};

/* Returns 0 to go on; -1 with `err` ends the pass. */
typedef int (*tap_sink)(void *context, const struct announcement *seen, struct err *err);

struct tap {
    const struct watch *watch;
    tap_sink sink;
    void *context;
    bool failed; /* the first error sticks and ends the pass */
};

#endif
