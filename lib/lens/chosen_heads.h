/* chosen_heads.h: of a tensor that a pass announced, the heads that were chosen.
 *
 *     if (selection.heads &&
 *         chosen_heads(&values, &heads, &selection, config, &arena, err)) ...
 *     ... values.data, head heads[0] first ...
 */
#ifndef ATTN_LENS_CHOSEN_HEADS_H
#define ATTN_LENS_CHOSEN_HEADS_H

#include "lens/selection.h"
#include "math/tensor.h"

/* Of [H, …, …] a dense copy of the selection's heads, of [Hkv, …, …] of the key/value heads that
 * these look at, each once; `heads` are their numbers. Both are the arena's. */
int chosen_heads(struct tensor *values, const size_t **heads, const struct selection *selection,
                 const struct config *config, struct arena *arena, struct err *err);

#endif
