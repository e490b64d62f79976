/* page_parts.h: what `attn-cli page` finds besides tensors, each part in a file; page.c
 * asks for them, a text at a time. What they find is the arena's.
 *
 *     struct page_source source = {.options = options, .viewer = &viewer, .texts = 2};
 *     struct page_facts facts = {.config = &viewer.model.config};
 *     if (page_explained_read(&source, &arena, err) || ...
 *         page_explained_find(&facts, &source, &pair, &arena, err)) ...
 */
#ifndef ATTN_CMD_PAGE_PARTS_H
#define ATTN_CMD_PAGE_PARTS_H

#include "draw/page_facts.h"
#include "lens/viewer.h"
#include "output.h"

enum { PAGE_NEXT_BEST = 50 }; /* likeliest tokens at each place, unless told */

struct page_source {
    const struct options *options;
    struct viewer *viewer; /* it attends, and edits, as they say */
    size_t texts;          /* of the page, of all models */

    /* --explain (page_explained.c) */
    bool *explains; /* [layers, heads] that were named … */
    bool usual;     /* … or all, if that is not too much */
};

/* Put the text of other options, a step of the tour, into a page that is being written (page.c). */
int page_add_lesson(struct output *output, struct place *place, const struct options *options,
                    const struct page_lesson *lesson, struct err *err);

/* --explain for the open model: 0.1,1.3 (LAYER.HEAD), all or none. */
int page_explained_read(struct page_source *source, struct arena *arena, struct err *err);
int page_explained_find(struct page_facts *facts, const struct page_source *source,
                        const struct text_pair *pair, struct arena *arena, struct err *err);

/* --scores: all, none, or by default all if that is quick (page_scores.c). */
int page_scores_find(struct page_facts *facts, const struct page_source *source,
                     const struct tokenized *sentence, struct arena *arena, struct err *err);

#endif
