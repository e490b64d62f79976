/* mean.h: the mean over heads, or over layers, in place of them.
 *
 *     if (mean_over_heads(&report, &arena, err) || mean_over_layers(&report, &arena, err)) ...
 *
 * Sums run in double precision in the order of the heads and layers, so that the same report gives
 * the same bits. Only what was kept counts: `--layer 0-3 --mean layers` is the mean of four.
 */
#ifndef ATTN_LENS_MEAN_H
#define ATTN_LENS_MEAN_H

#include "base/arena.h"
#include "base/err.h"
#include "lens/report.h"

/* Every tensor with heads becomes one without; the rest stays. The new numbers are the arena's. */
int mean_over_heads(struct report *report, struct arena *arena, struct err *err);

/* The tensors of one site in several layers become one, where the first of them stood. */
int mean_over_layers(struct report *report, struct arena *arena, struct err *err);

#endif
