/* next_tokens.h: what comes next after each token of a text, as a page tells it
 * (draw/page_facts.h): the likeliest by name, and the rank of the one that came; at the end of the
 * model, and at its layers by the logit lens.
 *
 *     struct lens_plan plan = {.viewer = &viewer, .best_count = 50};
 *     struct logit_lens lens;
 *     if (next_tokens_plan(&plan, false, &arena, err) ||
 *         lens_look(&lens, &plan, &pair, &arena, err) ||
 *         next_tokens_of_lens(&facts.next, &lens, &viewer, &arena, err)) ...
 */
#ifndef ATTN_MEASURE_NEXT_TOKENS_H
#define ATTN_MEASURE_NEXT_TOKENS_H

#include "draw/page_facts.h"
#include "measure/logit_lens.h"

/* Where the lens is to look: at what leaves the last layer, or every one. */
int next_tokens_plan(struct lens_plan *plan, bool of_all_layers, struct arena *arena,
                     struct err *err);

/* What it saw. All of it is the arena's. */
int next_tokens_of_lens(const struct page_next **found, const struct logit_lens *lens,
                        const struct viewer *viewer, struct arena *arena, struct err *err);

#endif
