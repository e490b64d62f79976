/* reduction.h: what rows of attention weights say in numbers, and what those come to over any
 * number of texts, in memory that does not grow with them.
 *
 * A measure of rows is a number for each query, a measure of cells one for each query and key.
 * Their arithmetic has one order and no library's functions, and sums are exact (exact_sum.h):
 * texts may come in any order, on any number of machines, and the merged reduction has the same
 * bits.
 *
 *     struct reduction reduction;
 *     struct reduction_size size = {.layers = 2, .heads = 4, .queries = 40, .keys = 40};
 *     if (reduction_init(&reduction, 1u << MEASURE_ENTROPY, &size, &arena, err)) ...
 *     if (reduction_add(&reduction, layer, head, &weights, NULL, err)) ...  (once for each text)
 *     struct reduction_walk walk = {.reduction = &reduction};
 *     while (reduction_next(&walk))
 *         use(&walk.entry, reduction_value(&walk.entry));
 */
#ifndef ATTN_MEASURE_REDUCTION_H
#define ATTN_MEASURE_REDUCTION_H

#include "base/stream.h"
#include "lens/measured.h"
#include "lens/selection.h"
#include "math/exact_sum.h"

/* --- measures: a row of the table each (measure.c) -------------------------------------------- */

enum measure {
    MEASURE_MEAN,
    MEASURE_MAX,
    MEASURE_ENTROPY,
    MEASURE_FIRST_TOKEN,
    MEASURE_PREVIOUS_TOKEN,
    MEASURE_DISTANCE,
    MEASURE_COUNT, /* those that --reduce takes; the others are scores of heads */
    MEASURE_SELF = MEASURE_COUNT,
    MEASURE_DUPLICATE_TOKEN,
    MEASURE_INDUCTION,
    MEASURE_SINK,
    MEASURE_OFFSET,
    MEASURE_NEEDLE,
    MEASURE_NEEDLE_TOP,
    MEASURE_COPYING,
    MEASURE_SUCCESSOR,
    MEASURE_ALL,
};

/* What some measures must be told. */
struct reduction_marks {
    long long bos;    /* the token that begins texts; -1: none does */
    long long offset; /* of a key from its query: -1 is the one before */
    const bool *keys; /* [keys] of the text that is counted now: those in the needle */
};

/* How a query looks at each key. */
struct attention_row {
    const float *weights; /* [keys] those that the query may see; the others are 0 */
    size_t keys;
    size_t query;        /* its place in the text */
    const uint32_t *ids; /* [keys] of the text; NULL where no measure needs them */
    const struct reduction_marks *marks;
};

struct measure_row {
    const char *name;
    const char *about;                              /* a line for help */
    double (*of_row)(const struct attention_row *); /* NaN: nothing; NULL: a measure of cells */
    size_t first_query;                             /* that it can be said of */
    bool one_text; /* keys are places in the query's own text: not in cross-attention */
};

extern const struct measure_row measure_rows[MEASURE_ALL];

/* Whether a measure is from 0 to 1: all but nats and numbers of tokens. */
static inline bool measure_is_fraction(enum measure measure)
{
    return measure != MEASURE_ENTROPY && measure != MEASURE_DISTANCE;
}

/* The measure of that name, of those that --reduce takes; false when there is none. */
bool measure_find(const char *name, size_t size, enum measure *measure);

/* --- reductions ------------------------------------------------------------------------------- */

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
    struct reduction_marks marks;  /* for those of its measures that need them */
    struct head_reduction **heads; /* [layers, heads]; NULL: not seen yet */
    struct arena *arena;
};

/* Nothing is counted yet; memory is taken from the arena when a head is first seen. */
int reduction_init(struct reduction *reduction, unsigned measures,
                   const struct reduction_size *size, struct arena *arena, struct err *err);

/* About what it takes when every head was seen; false: 64 bits are few. */
bool reduction_bytes(size_t *bytes, unsigned measures, const struct reduction_size *size);

/* Count a text's attention of one head: weights [T, S], not more than the size. The ids of the text
 * may be NULL where no measure needs them. */
int reduction_add(struct reduction *reduction, size_t layer, size_t head,
                  const struct tensor *weights, const uint32_t *ids, struct err *err);

#define NO_PLACE SIZE_MAX

struct reduction_entry {
    enum measure measure;
    size_t layer, head;
    size_t query, key; /* NO_PLACE: a measure of rows */
    struct reduction_cell cell;
};

/* What was counted at the place of an entry; and its value: the mean, of the largest the largest.
 */
struct reduction_cell reduction_find(const struct reduction *reduction,
                                     const struct reduction_entry *at);
double reduction_value(const struct reduction_entry *entry);

/* Measures, of each the layers, of each the heads, of each queries and keys, but for those that
 * nothing was counted of. */
struct reduction_walk {
    const struct reduction *reduction;
    struct reduction_entry entry; /* the one that reduction_next found */
    size_t next;
};

bool reduction_next(struct reduction_walk *walk);

/* Has an entry of another reduction a place in this one? Then count it. */
bool reduction_fits(const struct reduction *reduction, const struct reduction_entry *entry);
int reduction_merge(struct reduction *reduction, const struct reduction_entry *entry,
                    struct err *err);

/* --- a sink that counts the attention it sees and keeps none of it ---------------------------- */

/* Where one text of the batch is counted, and what of it. */
struct reduction_text {
    struct reduction *reduction;
    const struct selection *selection; /* its layers and heads */
    const uint32_t *ids;
};

struct reduction_sink {
    const struct reduction_text *texts; /* [count], borrowed */
    size_t layers;
    bool *counted; /* [count, layers] */
};

int reduction_sink_init(struct reduction_sink *sink, const struct reduction_text *texts,
                        size_t count, size_t layers, struct arena *arena, struct err *err);

/* A tap_sink; `context` is the sink. A layer of a text counts once: when a pass failed, because of
 * one of its texts, the others can be run again, alone, and nothing counts twice. The text that
 * failed counts up to the layer at which it did, in whatever company. */
int reduction_sink_see(void *context, const struct announcement *seen, struct err *err);

/* The same sink for a pass over text `index` alone. */
struct reduction_sink reduction_sink_only(const struct reduction_sink *sink, size_t index);

/* --- on the way out --------------------------------------------------------------------------- */

/* All measures as sheets, in the order of their table: fills in `measured`'s items. */
int reduction_measure(struct measured *measured, const struct reduction *reduction,
                      struct arena *arena, struct err *err);

/* Lines of text, for machines that go on counting: a line for each entry with its exact sum; and
 * read one, without its end, and count it. What is no such line, or has no place here, is refused.
 *
 *     entropy,0,3,,,220000,1f3a…        measure, layer, head, query, key, count, sum
 */
void reduction_write_sums(struct stream *out, const struct reduction *reduction);
int reduction_read_sum(struct reduction *reduction, const char *line, size_t size, struct err *err);

#endif
