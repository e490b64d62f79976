/* pattern.h: which keys a query of sparse attention sees: any of four parts, joined.
 *
 *     window   the last `window` keys up to the query's own; without a mask as many after it
 *     stride   every key that is a multiple of `stride` away
 *     global   the first `global` keys; and that many first queries see all
 *     random   the query's own, and `random` others, drawn by the seed for each query
 *
 * What comes of that for one query is its sight: keys in rising order, mostly in two ranges.
 *
 *     uint32_t *singles = ...                       (pattern_singles of them)
 *     struct view view = {.query = 9, .visible = 10, .drawn = ..., .drawn_count = ...};
 *     struct sight sight;
 *     pattern_look(&sight, &pattern, &view, singles);
 */
#ifndef ATTN_MODEL_PATTERN_H
#define ATTN_MODEL_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A set of keys that is filled in any order and emptied in rising order: a bit a key, and a bit for
 * each word of those, so that a long text costs hardly more than a short one. */
struct bitset {
    uint64_t *marks;  /* a bit a key */
    uint64_t *marked; /* a bit for each word of marks that is not 0 */
    size_t words;     /* of the latter */
};

/* The words that a set of keys below `limit` takes; and the empty set that they are when all of
 * them are 0. They belong to the caller. Put a key in; false, if it is there already. Take all keys
 * out, in rising order; returns how many there were. */
size_t bitset_words(size_t limit);
struct bitset bitset_of(uint64_t *words, size_t limit);
bool bitset_add(struct bitset *set, size_t key);
size_t bitset_empty(struct bitset *set, uint32_t *keys);

struct pattern {
    size_t window, stride, global, random; /* 0: it has no such part */
    uint64_t seed;                         /* of the random keys */
};

/* A query, and what the mask lets it see: keys 0 … visible - 1. */
struct view {
    size_t query;
    size_t visible;
    const uint32_t *drawn; /* the random part, as pattern_draw gave it */
    size_t drawn_count;
};

struct sight {
    size_t low;              /* keys 0 … low - 1, */
    size_t first, end;       /* keys first … end - 1, not below low, */
    const uint32_t *singles; /* and these, rising, in neither range */
    size_t single_count;
};

/* How many single keys a query that sees at most `keys` can have. */
size_t pattern_singles(const struct pattern *pattern, size_t keys);

/* The keys of the random part that a view draws, rising, the query's own among them; fewer where
 * the mask leaves fewer. Returns how many; `drawn` has room for pattern->random + 1. The set, which
 * has room for all keys that are visible, is empty before and afterwards. */
size_t pattern_draw(const struct pattern *pattern, const struct view *view, struct bitset *set,
                    uint32_t *drawn);

/* What a query sees; `singles` is room for them. The two ranges of that, no single keys. */
void pattern_look(struct sight *sight, const struct pattern *pattern, const struct view *view,
                  uint32_t *singles);
void pattern_ranges(struct sight *sight, const struct pattern *pattern, const struct view *view);

#endif
