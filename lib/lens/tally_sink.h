/* tally_sink.h: a sink that counts the attention it sees and keeps none of it.
 *
 *     struct tally_sink sink;
 *     if (tally_sink_init(&sink, subjects, count, config->n_layer, &arena, err)) ...
 *     struct tap tap = {.sink = tally_sink_see, .context = &sink};
 *     if (viewer_watch(&viewer, &look, tap, err)) ...
 */
#ifndef ATTN_LENS_TALLY_SINK_H
#define ATTN_LENS_TALLY_SINK_H

#include <stdbool.h>
#include <stddef.h>

#include "lens/selection.h"
#include "lens/tally.h"
#include "model/tap.h"

/* Where one text of the batch is counted, and what of it. */
struct tally_subject {
    struct tally *tally;
    const struct selection *selection; /* its layers and heads */
};

struct tally_sink {
    const struct tally_subject *subjects; /* [count], borrowed */
    size_t layers;
    bool *counted; /* [count, layers] */
};

int tally_sink_init(struct tally_sink *sink, const struct tally_subject *subjects, size_t count,
                    size_t layers, struct arena *arena, struct err *err);

/* A tap_sink; `context` is the sink. A layer of a text counts once: when a pass failed, because of
 * one of its texts, the others can be run again, alone (tally_sink_only), and nothing counts twice.
 * The text that failed counts up to the layer at which it did, in whatever company. */
int tally_sink_see(void *context, const struct announcement *seen, struct err *err);

/* The same sink for a pass over subject `index` alone. */
struct tally_sink tally_sink_only(const struct tally_sink *sink, size_t index);

#endif
