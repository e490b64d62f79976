/* effective.h: effective attention, made of what a pass announces and announced after it, to the
 * same sink, as values of the pass are.
 *
 *     value_weighted   a |v|                    [H, T, S]
 *     norm_weighted    |a v W_O|                [H, T, S]  Kobayashi et al., 2020
 *     value_zeroing    1 - cos(x, x without v)  [T, T]     Mohebbi et al., 2023; rows sum to 1
 *     rollout          Π (mean a + 1) / 2       [T, T]     Abnar and Zuidema, 2020; rows sum to 1
 *
 * x is what leaves the layer. A causal model's matrices are triangles, and so are their products.
 * Where there is no residual stream rollout goes through the mean weights alone.
 */
#ifndef ATTN_LENS_EFFECTIVE_H
#define ATTN_LENS_EFFECTIVE_H

#include "lens/selection.h"
#include "model/forward.h"

/* Where the selection has none of them nothing happens; else what they are made of is watched, too,
 * and `tap` becomes one that makes them and hands on what was selected, in memory of the arena. */
int effective_begin(const struct selection *selection, const struct run *run, struct watch *watch,
                    struct tap *tap, struct arena *arena, struct err *err);

#endif
