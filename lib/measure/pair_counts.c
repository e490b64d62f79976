#include "measure/pair_counts.h"

#include <string.h>

#include "base/memory.h"

enum { FIRST_CAPACITY = 64 };

static uint16_t *chain_of(const struct pair_counts *counts, uint32_t query, uint32_t key)
{
    uint64_t mixed = ((uint64_t)query << 32 | key) * 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio */
    return &counts->first[(mixed >> 40) % counts->capacity];
}

int pair_counts_resize(struct pair_counts *counts, size_t count, struct err *err)
{
    size_t capacity = FIRST_CAPACITY;
    while (capacity < count)
        capacity *= 2;
    struct pair_count *items = heap_resize(counts->items, capacity, sizeof *items, err);
    counts->items = items ? items : counts->items;
    uint16_t *next = items ? heap_resize(counts->next, capacity, sizeof *next, err) : NULL;
    counts->next = next ? next : counts->next;
    uint16_t *first = next ? heap_resize(counts->first, capacity, sizeof *first, err) : NULL;
    counts->first = first ? first : counts->first;
    if (!first)
        return -1;
    counts->capacity = capacity;
    return 0;
}

static void chain(struct pair_counts *counts, size_t index)
{
    uint16_t *first = chain_of(counts, counts->items[index].query, counts->items[index].key);
    counts->next[index] = *first;
    *first = (uint16_t)(index + 1);
}

void pair_counts_chain(struct pair_counts *counts)
{
    memset(counts->first, 0, counts->capacity * sizeof *counts->first);
    for (size_t i = 0; i < counts->count; i++)
        chain(counts, i);
}

static void unchain(struct pair_counts *counts, size_t index)
{
    uint16_t *link = chain_of(counts, counts->items[index].query, counts->items[index].key);
    while (*link != index + 1)
        link = &counts->next[*link - 1];
    *link = counts->next[index];
}

/* Find a counter with the smallest count. The hand goes around the counters and stops at each
 * counter whose count is `least`; the caller then raises this count. After a round, all counts are
 * above the old `least`. A round looks twice at each counter, but there are only total / PAIRS_MAX
 * rounds. */
static size_t find_smallest(struct pair_counts *counts)
{
    const struct pair_count *items = counts->items;
    while (items[counts->hand].count > counts->least) {
        if (++counts->hand < counts->count)
            continue;
        counts->hand = 0;
        counts->least = items->count;
        for (size_t i = 1; i < counts->count; i++)
            counts->least = items[i].count < counts->least ? items[i].count : counts->least;
    }
    return counts->hand;
}

/* Find the counter of a pair; NULL: it has none. */
static struct pair_count *find(const struct pair_counts *counts, uint32_t query, uint32_t key)
{
    size_t at = counts->capacity ? *chain_of(counts, query, key) : 0;
    while (at && (counts->items[at - 1].query != query || counts->items[at - 1].key != key))
        at = counts->next[at - 1];
    return at ? &counts->items[at - 1] : NULL;
}

static int append(struct pair_counts *counts, struct pair_count item, struct err *err)
{
    if (counts->count == counts->capacity) {
        if (pair_counts_resize(counts, counts->count + 1, err))
            return -1;
        pair_counts_chain(counts);
    }
    counts->items[counts->count] = item;
    chain(counts, counts->count++);
    return 0;
}

int pair_counts_add(struct pair_counts *counts, uint32_t query, uint32_t key, double weight,
                    struct err *err)
{
    struct pair_count *item = find(counts, query, key);
    counts->total++;
    if (item) {
        item->count++;
        item->weight += weight;
        return 0;
    }
    if (counts->count == PAIRS_MAX) {
        size_t index = find_smallest(counts);
        uint32_t over = counts->items[index].count;
        unchain(counts, index);
        counts->items[index] = (struct pair_count){query, key, over + 1, over, weight};
        chain(counts, index);
        return 0;
    }
    return append(counts, (struct pair_count){query, key, 1, 0, weight}, err);
}

/* Drop all but the PAIRS_MAX largest counts; of equal counts, drop the later ones. */
static int prune(struct pair_counts *counts, struct err *err)
{
    struct pair_count *items = counts->items;
    uint32_t largest = 0; /* the largest dropped count, found bit by bit */
    size_t kept = 0, above = 0;
    for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
        size_t reach = 0;
        for (size_t i = 0; i < counts->count; i++)
            reach += items[i].count >= (largest | bit);
        largest |= reach > PAIRS_MAX ? bit : 0;
    }
    for (size_t i = 0; i < counts->count; i++)
        above += items[i].count > largest;
    for (size_t i = 0, equal = PAIRS_MAX - above; i < counts->count; i++)
        if (items[i].count > largest || (items[i].count == largest && equal && equal--))
            items[kept++] = items[i];
    counts->count = kept;
    counts->least = largest;
    if (pair_counts_resize(counts, kept, err))
        return -1;
    pair_counts_chain(counts);
    return 0;
}

/* A pair that lacks a counter in either `counts` or `segment` may have occurred up to `least` times
 * there, so this number is added to its count. */
int pair_counts_merge(struct pair_counts *counts, const struct pair_counts *segment,
                      struct err *err)
{
    const uint32_t least = counts->least;
    for (size_t i = 0; i < counts->count; i++) {
        counts->items[i].count += segment->least;
        counts->items[i].over += segment->least;
    }
    for (size_t i = 0; i < segment->count; i++) {
        struct pair_count other = segment->items[i];
        struct pair_count *item = find(counts, other.query, other.key);
        if (item) {
            item->count += other.count - segment->least;
            item->over += other.over - segment->least;
            item->weight += other.weight;
            continue;
        }
        other.count += least;
        other.over += least;
        if (append(counts, other, err))
            return -1;
    }
    counts->total += segment->total;
    counts->least += segment->least;
    return counts->count > PAIRS_MAX ? prune(counts, err) : 0;
}

static bool is_before(const struct pair_count *one, const struct pair_count *other)
{
    if (one->count != other->count)
        return one->count > other->count;
    return one->query != other->query ? one->query < other->query : one->key < other->key;
}

size_t pair_counts_best(const struct pair_counts *counts, struct pair_count *best, size_t most)
{
    size_t found = 0;
    for (size_t i = 0; i < counts->count; i++) {
        size_t at = found;
        for (; at && is_before(&counts->items[i], &best[at - 1]); at--)
            if (at < most)
                best[at] = best[at - 1];
        if (at < most)
            best[at] = counts->items[i];
        found += found < most;
    }
    return found;
}

void pair_counts_release(struct pair_counts *counts)
{
    heap_free(counts->items);
    heap_free(counts->first);
    heap_free(counts->next);
    *counts = (struct pair_counts){0};
}
