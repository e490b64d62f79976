/* pair_counts.h: the most frequent pairs in a stream of token pairs, in bounded memory
 * (Space-Saving: Metwally, Agrawal and El Abbadi, 2005).
 *
 * There are at most PAIRS_MAX counters. When all are used, a new pair takes over the counter with
 * the smallest count, so a count is too high by at most `over`, and every pair with more than total
 * / PAIRS_MAX occurrences has a counter. While there are at most PAIRS_MAX different pairs, counts
 * are exact.
 *
 * Counts of consecutive segments of a stream are merged as Cafaro, Pulimeno and Tempesta (2016) do,
 * with the same bound.
 *
 *     struct pair_counts counts = {0};
 *     if (pair_counts_add(&counts, query_id, key_id, weight, err)) ...
 *     size_t found = pair_counts_best(&counts, best, 20);
 *     pair_counts_release(&counts);
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

enum { PAIRS_MAX = 4096 };

struct pair_count {
    uint32_t query, key; /* token ids */
    uint32_t count, over;
    double weight; /* sum of the weights of the (count - over) occurrences that were seen */
};

struct pair_counts {
    struct pair_count *items; /* [count] the counters */
    uint16_t *first, *next;   /* [capacity] links of chains of counters whose pairs have one hash:
                             * index + 1, or 0 at the end */
    size_t count, capacity;
    size_t hand;    /* counter at which the search for the smallest continues */
    uint32_t least; /* no count is below `least`; a pair without a counter occurred at most `least`
                * times */
    uint64_t total; /* number of pairs that were added, with repetitions */
};

int pair_counts_add(struct pair_counts *counts, uint32_t query, uint32_t key, double weight,
                    struct err *err);

/* Add the counts of the next segment. */
int pair_counts_merge(struct pair_counts *counts, const struct pair_counts *segment,
                      struct err *err);

/* Copy the pairs with the highest counts, at most `most` pairs; of equal counts, the pair with the
 * lower ids comes first. Returns the number of pairs. */
size_t pair_counts_best(const struct pair_counts *counts, struct pair_count *best, size_t most);

/* `pair_counts_resize` makes room for `count` counters, which the caller fills; then
 * `pair_counts_chain` puts them into chains. */
int pair_counts_resize(struct pair_counts *counts, size_t count, struct err *err);
void pair_counts_chain(struct pair_counts *counts);

void pair_counts_release(struct pair_counts *counts);
