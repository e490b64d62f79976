/* collection.h: what several passes over a text that grows gave, put together as one pass over the
 * whole would have given it.
 *
 *     struct collection collection = {.tokens = 64, .arena = &arena};
 *     ... a pass over tokens 0 … 5, kept by a capture ...
 *     if (collection_add(&collection, &capture.lists[0], 0, err)) ...
 *     ... a pass over token 6 ...
 *     if (collection_add(&collection, &capture.lists[0], 6, err)) ...
 *     struct kept_list all = collection_finish(&collection, 7);
 *
 * It takes its memory at the first pass: of attention heads · tokens² floats a layer and site,
 * whatever the text's length in the end.
 */
#ifndef ATTN_LENS_COLLECTION_H
#define ATTN_LENS_COLLECTION_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "lens/capture.h"

struct collection {
    struct kept *items; /* their rows and square columns: `tokens` until it is finished */
    size_t count;
    size_t tokens; /* the longest that the text can become */
    struct arena *arena;
};

/* Add what a pass kept of the tokens from `first` on. Every pass keeps the same tensors, but those
 * of a source alone come with the first one. What a query cannot see, because it comes later, is 0
 * in `weights` and -infinity in `masked`; of raw scores it is not known: they cannot be collected.
 */
int collection_add(struct collection *collection, const struct kept_list *list, size_t first,
                   struct err *err);

/* The tensors of the whole text, which has `count` tokens, in the order of the pass. They are the
 * arena's; nothing can be added any more. */
struct kept_list collection_finish(struct collection *collection, size_t count);

#endif
