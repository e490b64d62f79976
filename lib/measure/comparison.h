/* comparison.h: ways to attend, side by side, over the same texts: how far every head is from dense
 * attention, how long attention takes, and what it works in. A way holds for all layers, so what
 * differs in one goes into the next. Of an encoder and its decoder, the decoder's look at its own
 * text is what is compared and timed.
 *
 *     struct comparison_plan plan = {&viewer, pairs, 1, ways, 2, &selection, .rounds = 5};
 *     struct comparison comparison;
 *     if (comparison_make(&comparison, &plan, &arena, err)) ...
 *     comparison.results[1].heads[layer * comparison.head_count + head].kept
 */
#ifndef ATTN_MEASURE_COMPARISON_H
#define ATTN_MEASURE_COMPARISON_H

#include "base/progress_sink.h"
#include "base/stream.h"
#include "lens/viewer.h"

/* How far the heads of one pass are from those of another over the same text: what they give, and
 * where they look. */
struct difference {
    double max, mean; /* of the contexts: |a - b| over all tokens and dimensions */
    double kept;      /* the first one's weight on keys that have any in the second: a mean over
                         queries */
    double overlap;   /* Σ of the smaller weight of each key: 1 where both look alike */
};

/* What it is made of, of one head. */
struct difference_sum {
    double max, sum, kept, overlap;
    size_t numbers, queries;
};

/* Add what two passes gave of some layers, the first of which begins at `sums`: [layers, heads].
 * Both reports keep weights and contexts of the same layers and heads, and nothing else. */
void difference_add(struct difference_sum *sums, const struct report *a, const struct report *b);

/* Of so many heads together. */
struct difference difference_of(const struct difference_sum *sums, size_t count);

struct comparison_plan {
    struct viewer *viewer; /* afterwards it attends as it did before, without edits */
    const struct text_pair *pairs;
    size_t pair_count;
    const struct mechanism *ways;
    size_t way_count;
    const struct edits *edits;            /* of each way, not of dense attention; NULL: none */
    const struct selection *selection;    /* its layers and heads are compared */
    size_t rounds;                        /* in which all ways are timed once */
    const struct progress_sink *progress; /* of the passes; NULL: not told */
    size_t most_cells; /* of squares that a pass keeps, where it can be had: layers beyond that take
                          further passes; 0: 64 million, 256 MiB */
};

struct comparison_result {
    const char *name; /* "window:8" */
    struct mechanism way;
    double seconds; /* of attention, in all layers, over all texts: the median of all rounds */
    size_t bytes;   /* that attention works in, for the longest text */
    struct difference all;
    const struct difference *heads; /* [layer_count, head_count] */
};

struct comparison {
    const struct comparison_plan *plan;
    struct comparison_result *results; /* [way_count] */
    struct comparison_result dense;    /* what they are held against */
    const size_t *layers, *heads;      /* the model's numbers */
    size_t layer_count, head_count;
    size_t threads;
    size_t longest; /* tokens of a text */
};

/* All of it lives as long as the arena, the plan and the viewer. Refused as wrong usage: a way that
 * is not for the model. */
int comparison_make(struct comparison *comparison, const struct comparison_plan *plan,
                    struct arena *arena, struct err *err);

/* Its tables, in memory of the arena. */
int comparison_report(struct report *report, const struct comparison *comparison,
                      struct arena *arena, struct err *err);

#endif
