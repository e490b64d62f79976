/* capture.h: a sink that keeps what it sees: dense, only the heads that were asked for. Squares are
 * written where they are kept, all else is copied.
 *
 *     struct capture capture;
 *     if (capture_init(&capture, &selection, config, sequence_count, &arena, err)) ...
 *     struct tap tap = {.watch = &watch, .sink = capture_sink, .lend = capture_lend,
 *                       .context = &capture};
 *     ... forward ...
 *     capture.lists[s].items[i] ...
 */
#ifndef ATTN_LENS_CAPTURE_H
#define ATTN_LENS_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "lens/report.h"
#include "lens/selection.h"
#include "model/config.h"
#include "model/tap.h"

/* What one text gave, in the order of the pass. */
struct kept_list {
    struct kept *items;
    size_t count;
};

struct capture_heads {
    const size_t *items;
    size_t count;
};

struct capture {
    struct kept_list *lists;            /* [text] */
    size_t room;                        /* items of each list */
    struct capture_heads queries, keys; /* that are kept; keys and values have their own */
    struct capture_heads all;           /* … of the sites of which all are … */
    uint64_t whole;                     /* … which are these */
    struct arena *arena;
};

/* Room for everything the selection can announce; all memory, now and later, is the arena's. */
int capture_init(struct capture *capture, const struct selection *selection,
                 const struct config *config, size_t texts, struct arena *arena, struct err *err);

/* A tap_sink and its tap_lender; `context` is the capture. */
int capture_sink(void *context, const struct announcement *seen, struct err *err);
int capture_lend(void *context, const struct attention_map_room *room, struct err *err);

/* What several passes over a text that grows gave, put together as one pass over the whole would
 * have given it. It takes its memory at the first pass: of attention heads · tokens² floats a layer
 * and site, whatever the text's length in the end.
 *
 *     struct capture_concat concat = {.tokens = 64, .arena = &arena};
 *     ... a pass over tokens 0 … 5, kept by a capture ...
 *     if (capture_concat_add(&concat, &capture.lists[0], 0, err)) ...
 *     ... a pass over token 6 ...
 *     if (capture_concat_add(&concat, &capture.lists[0], 6, err)) ...
 *     struct kept_list all = capture_concat_finish(&concat, 7);
 */
struct capture_concat {
    struct kept *items; /* their rows and square columns: `tokens` until it is finished */
    size_t count;
    size_t tokens; /* the longest that the text can become */
    struct arena *arena;
};

/* Add what a pass kept of the tokens from `first` on. Every pass keeps the same tensors, but those
 * of a source alone come with the first one. What a query cannot see, because it comes later, is 0
 * in `weights` and -infinity in `masked`; of raw scores it is not known: they cannot be added. */
int capture_concat_add(struct capture_concat *concat, const struct kept_list *list, size_t first,
                       struct err *err);

/* The tensors of the whole text, which has `count` tokens, in the order of the pass. They are the
 * arena's; nothing can be added any more. */
struct kept_list capture_concat_finish(struct capture_concat *concat, size_t count);

#endif
