/* reduction.h: what measures found over any number of texts, in memory that does not grow with
 * them.
 *
 * A reduction holds a sum and a count for each measure of each head, of measures of cells for each
 * query and key, too. Sums are exact (exact_sum.h): texts may come in any order, on any number of
 * machines, and the merged reduction has the same bits.
 *
 *     struct reduction reduction;
 *     struct reduction_size size = {.layers = 2, .heads = 4, .queries = 40, .keys = 40};
 *     if (reduction_init(&reduction, 1u << MEASURE_ENTROPY, &size, &arena, err)) ...
 *     if (reduction_add(&reduction, layer, head, &square, err)) ...              (once for each
 * text) struct reduction_walk walk = {.reduction = &reduction}; while (reduction_next(&walk))
 *         use(&walk.entry, reduction_value(&walk.entry));
 */
#ifndef ATTN_LENS_REDUCTION_H
#define ATTN_LENS_REDUCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "lens/measure.h"
#include "lens/selection.h"
#include "math/exact_sum.h"
#include "math/tensor.h"
#include "model/tap.h"

struct reduction_size {
    size_t layers, heads;
    size_t queries, keys; /* of the longest text */
    bool causal;          /* no query sees beyond itself */
};

/* A sum of so many numbers; of the largest, the sum is that number. */
struct reduction_cell {
    struct exact_sum sum;
    uint64_t count;
};

struct reduction {
    unsigned measures; /* one bit a measure */
    struct reduction_size size;
    size_t first_query;            /* those before it do not count */
    bool every_head;               /* has a place in sheets, be nothing counted of it */
    struct head_reduction **heads; /* [layers, heads]; NULL: not seen yet */
    struct arena *arena;
};

/* Nothing is counted yet; memory is taken from the arena when a head is first seen. */
int reduction_init(struct reduction *reduction, unsigned measures,
                   const struct reduction_size *size, struct arena *arena, struct err *err);

/* About what it takes when every head was seen; false: 64 bits are few. */
bool reduction_bytes(size_t *bytes, unsigned measures, const struct reduction_size *size);

/* Count a text's attention of one head: weights [T, S], not more than the size. */
int reduction_add(struct reduction *reduction, size_t layer, size_t head,
                  const struct tensor *weights, struct err *err);

#define NO_PLACE SIZE_MAX

struct reduction_entry {
    enum measure measure;
    size_t layer, head;
    size_t query, key; /* NO_PLACE: a measure of rows */
    struct reduction_cell cell;
};

/* What was counted at the place of an entry. */
struct reduction_cell reduction_find(const struct reduction *reduction,
                                     const struct reduction_entry *at);

/* The mean of the numbers that were counted; of the largest, the largest. */
double reduction_value(const struct reduction_entry *entry);

/* Walk through the measures, of each the layers, of each the heads, of each queries and keys; what
 * nothing was counted of is left out. */
struct reduction_walk {
    const struct reduction *reduction;
    struct reduction_entry entry; /* the one that reduction_next found */
    size_t next;
};

bool reduction_next(struct reduction_walk *walk);

/* Count what another reduction of the same measures and size has in an entry. False, and nothing
 * counted, when the entry has no place here; out of memory is an error. */
bool reduction_fits(const struct reduction *reduction, const struct reduction_entry *entry);
int reduction_merge(struct reduction *reduction, const struct reduction_entry *entry,
                    struct err *err);

/* Where one text of the batch is counted, and what of it. */
struct reduction_text {
    struct reduction *reduction;
    const struct selection *selection; /* its layers and heads */
    const uint32_t *ids;               /* NULL where no measure needs them */
};

/* A sink that counts the attention it sees and keeps none of it:
 *
 *     struct tap tap = {.sink = reduction_sink_see, .context = &sink};
 *     if (viewer_watch(&viewer, &look, tap, err)) ...
 */
struct reduction_sink {
    const struct reduction_text *texts; /* [count], borrowed */
    size_t layers;
    bool *counted; /* [count, layers] */
};

int reduction_sink_init(struct reduction_sink *sink, const struct reduction_text *texts,
                        size_t count, size_t layers, struct arena *arena, struct err *err);

/* A tap_sink; `context` is the sink. A layer of a text counts once: when a pass failed, because of
 * one of its texts, the others can be run again, alone (reduction_sink_only), and nothing counts
 * twice. The text that failed counts up to the layer at which it did, in whatever company. */
int reduction_sink_see(void *context, const struct announcement *seen, struct err *err);

/* The same sink for a pass over text `index` alone. */
struct reduction_sink reduction_sink_only(const struct reduction_sink *sink, size_t index);

/* All measures of a reduction as sheets, in the order of their table: fills in `measured`'s items.
 */
int reduction_measure(struct measured *measured, const struct reduction *reduction,
                      struct arena *arena, struct err *err);

#endif
