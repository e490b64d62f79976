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

#endif
