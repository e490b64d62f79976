/* capture.h: collects the selected tensors of a pass.
 *
 * capture_sink copies the selected heads and queries of each tensor that the pass hands to its tap;
 * capture_lend lends the memory to which the pass writes attention maps.
 *
 *     struct capture capture;
 *     struct tap tap = {.sink = capture_sink, .lend = capture_lend, .context = &capture};
 *     if (capture_init(&capture, &selection, config, text_count, &arena, err) ||
 *         viewer_run(&viewer, &selection, &texts, tap, err)) ...
 *     capture.lists[text].items[i] ...
 */
#pragma once

#include "lens/report.h"
#include "pass/forward.h"
#include "pass/tap.h"

/* The captured tensors of one text, in the order in which they were added. */
struct array_list {
    struct array *items;
    size_t count;
    const char *wanted;    /* the selected queries, such as "0,3-5"; NULL: all */
    const size_t *queries; /* [query_count] the indices that `wanted` lists; NULL: all queries are
                            * selected, or `wanted` was not parsed yet */
    size_t query_count;
    size_t *rows; /* [tokens] row of each query in a lent map, ATTENTION_NO_ROW if it is not
                   * selected; NULL: all queries are selected, or no map was lent yet */
};

struct capture_heads {
    const size_t *items;
    size_t count;
};

struct capture {
    const struct selection *selection;
    const struct config *config;
    struct array_list *lists; /* [texts] a list for each text */
    size_t capacity;          /* maximum number of arrays in each list */
    /* `query_heads`: the selected heads; `key_heads`: the key/value heads that they use in the
     * layer captured last, each shared by `shared_by` query heads; `all_heads`: all query heads */
    struct capture_heads query_heads, key_heads, all_heads;
    size_t shared_by;
    struct arena *arena;  /* owns the lists, and the names and labels in them */
    struct arena *values; /* owns the arrays' numbers; capture_init sets it to `arena` */
};

/* Make a list for each of `texts` texts, with room for all selected tensors, in `arena`. */
int capture_init(struct capture *capture, const struct selection *selection,
                 const struct config *config, size_t texts, struct arena *arena, struct err *err);

/* capture_sink is a tap_sink, and capture_lend a tap_lender; `context` is the struct capture. */
int capture_sink(void *context, const struct announcement *seen, struct err *err);
int capture_lend(void *context, struct attention_map_loan *loan, struct err *err);

/* Append a tensor of the shape of `item` to the list of a text, with the heads and queries of its
 * site that the selection keeps; allocate its values if `has_values`. Selected heads that the
 * tensor's layer does not have are left out. Returns the array; NULL with `err`. */
struct array *capture_add(struct capture *capture, size_t text, struct array item, bool has_values,
                          struct err *err);
