/* forward.h: the whole pass, from ids to what is watched.
 *
 *     struct tap tap = {.watch = &watch, .sink = my_sink, .context = mine};
 *     struct run run = {&machine, &config, &weights, &batch};
 *     if (forward(&run, &tap, &arena, err)) ...
 */
#ifndef ATTN_MODEL_FORWARD_H
#define ATTN_MODEL_FORWARD_H

#include "base/arena.h"
#include "base/err.h"
#include "math/machine.h"
#include "model/batch.h"
#include "model/config.h"
#include "model/tap.h"
#include "model/weights.h"

struct run {
    struct machine *machine;
    const struct config *config;
    struct weights *weights;
    const struct batch *batch;
};

/* Run the batch as far as the last watched site, announcing on the way. Buffers come from `arena`,
 * which belongs to the caller. Where sequences have caches, keys and values of every layer are
 * computed and kept, those of an encoder's output in their first pass alone: a source that is in
 * its cache is not read, and nothing is announced of it. Returns -1 with the first error, the
 * sink's included; then the caches are as they were. */
int forward(const struct run *run, struct tap *tap, struct arena *arena, struct err *err);

#endif
