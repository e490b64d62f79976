/* forward.h: the whole pass, from ids to the watched values.
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
#include "model/site.h"
#include "model/weights.h"

/* Start at a layer, with the residual stream of another pass. Lower layers do not run and store
 * nothing in caches, which must forget these tokens before a pass that starts at a lower layer. */
struct stream_start {
    size_t layer;
    const float *const *streams; /* [text] resid_pre of the layer, [T, C]; texts may share it */
};

struct run {
    struct machine *machine;
    const struct config *config;
    struct weights *weights;
    const struct batch *batch;
    const struct edits *edits;        /* checked by edits_check; NULL: none */
    const struct stream_start *start; /* NULL: start with the embedding */
};

/* Run the batch up to the last watched site and announce watched values; buffers are in `arena`.
 * Keys and values of every layer are stored in the texts' caches; a source that is in its cache is
 * not read or announced. Returns -1 with the first error, which may be the sink's; the caches are
 * then unchanged. */
int forward(const struct run *run, struct tap *tap, struct arena *arena, struct err *err);

/* Logits [T, V] of rows [T, C] of the residual stream of any layer: the final norm, unless they are
 * `normed`, then the unembedding, with the same bits as in a pass. The run needs no batch. Logits
 * may be NaN: the caller checks, and forward_logits_blame sets the error, which names the parameter
 * that caused it. */
int forward_logits(const struct run *run, struct matrix logits, struct matrix stream, bool normed,
                   struct arena *arena, struct err *err);
int forward_logits_blame(const struct run *run, struct err *err);

/* Rows of the residual stream before a layer, x [N, C], and its context vectors, [N, H·dv]. If all
 * rows belong to one token, the run's edits are applied: x already has those of resid_pre, context
 * has none yet. */
struct attended_rows {
    size_t layer;
    struct matrix x, context;
    const struct edit_token *token; /* NULL: no edits */
};

/* Run the rest of the layer after its heads: x becomes its output (the context, if a model has only
 * heads; then x is as wide). Not for models with cross-attention. */
int forward_attended(const struct run *run, const struct attended_rows *rows, struct arena *arena,
                     struct err *err);

#endif
