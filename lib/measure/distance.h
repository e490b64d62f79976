/* distance.h: how far the heads of one pass are from those of another over the same text: what they
 * give, and where they look.
 *
 *     struct distances distances = {0};
 *     if (distances_open(&distances, layers, heads, &arena, err)) ...
 *     distances_add(&distances, 3, &dense_report, &other_report);     (its first layer is number 3)
 *     struct distance one = distance_of(&distances.sums[layer * heads + head]);
 *
 * Both reports keep weights and contexts of the same layers and heads, and nothing else.
 */
#ifndef ATTN_MEASURE_DISTANCE_H
#define ATTN_MEASURE_DISTANCE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "lens/report.h"

struct distance {
    double max, mean; /* of the contexts: |a - b| over all tokens and dimensions */
    double kept;      /* the first one's weight on keys that have any in the second: a mean over
                         queries */
    double overlap;   /* Σ of the smaller weight of each key: 1 where both look alike */
};

/* What it is made of. */
struct distance_sum {
    double max, sum, kept, overlap;
    size_t numbers, queries;
};

struct distances {
    struct distance_sum *sums; /* [layers, heads] */
    size_t layers, heads;
};

/* Nothing is added yet. */
int distances_open(struct distances *distances, size_t layers, size_t heads, struct arena *arena,
                   struct err *err);

/* Add what two passes gave of layers from `first` on, counted among those that are compared. */
void distances_add(struct distances *distances, size_t first, const struct report *a,
                   const struct report *b);

/* Of one sum; of all together. */
struct distance distance_of(const struct distance_sum *sum);
struct distance distance_of_all(const struct distances *distances);

#endif
