/* pattern.h: the keys that a query of sparse attention sees by a pattern (mechanism.h): its sight,
 * in rising order, mostly in two ranges.
 *
 *     uint32_t *singles = ...                       (pattern_singles of them)
 *     struct view view = {.query = 9, .visible = 10, .drawn = ..., .drawn_count = ...};
 *     pattern_look(&sight, &pattern, &view, singles);
 */
#ifndef ATTN_MODEL_PATTERN_H
#define ATTN_MODEL_PATTERN_H

#include "model/mechanism.h"

/* A set of keys that is filled in any order and emptied in rising order: a bit a key, and a bit for
 * each word of those. */
struct bitset {
    uint64_t *marks;  /* a bit a key */
    uint64_t *marked; /* a bit for each word of marks that is not 0 */
    size_t words;     /* of the latter */
};

/* The words that keys below `limit` take; the empty set that zeroed words of the caller are; put a
 * key in, false: it is there; take all out, rising, and return how many there were. */
size_t bitset_words(size_t limit);
struct bitset bitset_of(uint64_t *words, size_t limit);
bool bitset_add(struct bitset *set, size_t key);
size_t bitset_empty(struct bitset *set, uint32_t *keys);

/* A query, and what mask and window let it see: keys first … visible - 1. */
struct view {
    size_t query;
    size_t visible;
    size_t first;          /* not 0: there is a window, and the query's own is the last key */
    const uint32_t *drawn; /* the random part, as pattern_draw gave it */
    size_t drawn_count;
};

struct sight {
    size_t low;              /* keys 0 … low - 1, */
    size_t first, end;       /* keys first … end - 1, not below low, */
    const uint32_t *singles; /* and these, rising, in neither range */
    size_t single_count;
};

/* How many single keys a query that sees at most `keys`, and the last `window` of them where that
 * is not 0, can have. */
size_t pattern_singles(const struct pattern *pattern, size_t keys, size_t window);

/* The keys of the random part, the query's own among them, rising; returns how many. `drawn` has
 * room for pattern->random + 1; the set, empty before and after, for all visible keys. */
size_t pattern_draw(const struct pattern *pattern, const struct view *view, struct bitset *set,
                    uint32_t *drawn);

/* What a query sees; `singles` is room for them. The two ranges of that, no single keys. */
void pattern_look(struct sight *sight, const struct pattern *pattern, const struct view *view,
                  uint32_t *singles);
void pattern_ranges(struct sight *sight, const struct pattern *pattern, const struct view *view);

#endif
