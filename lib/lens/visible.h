/* visible.h: which keys each query of a text may attend to, where a layer's window, a pattern of
 * sparse attention or --knockout excludes more than the causal mask does.
 *
 *     struct visible_rules rules = {.config = config, .edits = edits, .text = 0, .number = 0};
 *     if (visible_find(&kept, &rules, arena, err)) ...
 */
#ifndef ATTN_LENS_VISIBLE_H
#define ATTN_LENS_VISIBLE_H

#include "base/arena.h"
#include "lens/report.h"
#include "model/edit.h"

struct visible_rules {
    const struct config *config;
    const struct edits *edits;
    size_t text, number; /* in the batch, and in all */
    size_t prompt_count; /* tokens that indices in edits refer to; 0: all */
};

/* Set `visible` of masked scores and of attention weights, as they were captured; it stays NULL of
 * all others, where the causal mask is all there is, and where an edit changes such values. */
int visible_find(struct kept *kept, const struct visible_rules *rules, struct arena *arena,
                 struct err *err);

#endif
