/* forward.h: the whole pass, from ids to what is watched.
 *
 *     struct tap tap = {.watch = &watch, .sink = my_sink, .context = mine};
 *     struct run run = {&machine, &config, &weights, &batch};
 *     if (forward(&run, &tap, &arena, err)) ...
 */
#ifndef ATTN_MODEL_FORWARD_H
#define ATTN_MODEL_FORWARD_H

#include "math/machine.h"
#include "model/batch.h"
#include "model/edit.h"
#include "model/tap.h"
#include "model/weights.h"

/* The stream into a layer as another pass had it: what is below is not run, and puts nothing into
 * caches, which must forget the tokens before a pass that begins lower. */
struct stream_start {
    size_t layer;
    const float *const *streams; /* [text] resid_pre of the layer, [T, C]; texts may share it */
};

struct run {
    struct machine *machine;
    const struct config *config;
    struct weights *weights;
    const struct batch *batch;
    const struct edits *edits;        /* that were checked; NULL: none */
    const struct stream_start *start; /* NULL: the embedding */
};

/* Run the batch as far as the last watched site, announcing on the way; buffers are `arena`'s.
 * Where texts have caches, keys and values of every layer go there; a source that is in its
 * cache is not read or announced. Returns -1 with the first error, the sink's included; then the
 * caches are as they were. */
int forward(const struct run *run, struct tap *tap, struct arena *arena, struct err *err);

/* Logits [T, V] of rows [T, C] that were kept of a pass, whatever layer they are of: through the
 * final norm, unless they are `normed` already, then as the pass makes its own, to the same bits.
 * The run needs no batch. Whether they are numbers is left to whoever reads them next; where some
 * are not, the failure names the parameter that caused it. */
int forward_logits(const struct run *run, struct matrix logits, struct matrix stream, bool normed,
                   struct arena *arena, struct err *err);
int forward_logits_blame(const struct run *run, struct err *err);

/* Rows of the stream as they enter a layer, x [N, C], and what its heads give, context [N, H·dv].
 * The run's edits are made where all rows are of one token; x and context have those of resid_pre,
 * and none of the context. */
struct attended_rows {
    size_t layer;
    struct matrix x, context;
    const struct edit_token *token; /* NULL: nothing is edited */
};

/* The rest of the layer, from its heads on: x becomes what leaves it. (Where that leaves it as it
 * is, x is as wide.) Not for a model that looks at sources. */
int forward_attended(const struct run *run, const struct attended_rows *rows, struct arena *arena,
                     struct err *err);

#endif
