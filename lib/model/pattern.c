#include "model/pattern.h"

#include "base/num.h"
#include "math/rng.h"

size_t pattern_singles(const struct pattern *pattern, size_t keys, size_t window)
{
    size_t strided = pattern->stride ? keys / pattern->stride + 1 : 0;
    size_t random = pattern->random ? num_min(pattern->random, keys) + 1 : 0;
    size_t low = pattern->window ? num_min(pattern->global, window) : 0;
    return num_min(keys, strided + random + low);
}

/* Floyd's way to draw some of a number of things, each as likely: as many draws as there are
 * things to draw. The others are counted without the query's own key. */
size_t pattern_draw(const struct pattern *pattern, const struct view *view, struct bitset *set,
                    uint32_t *drawn)
{
    size_t others = view->visible - 1;
    size_t count = num_min(pattern->random, others);
    uint64_t row = splitmix64(splitmix64(pattern->seed) + view->query);
    for (size_t i = 0; i < count; i++) {
        size_t last = others - count + i;
        size_t pick = (splitmix64(row + i) >> 32) * (last + 1) >> 32;
        if (!bitset_add(set, pick + (pick >= view->query)))
            bitset_add(set, last + (last >= view->query));
    }
    bitset_add(set, view->query);
    return bitset_empty(set, drawn);
}

/* What is left from a key on: one range, but for keys low before it, which become single keys. */
static void cut(struct sight *sight, size_t from)
{
    bool one = sight->first == sight->end;
    size_t end = one ? sight->low : sight->end;
    sight->first = one ? from : num_max(from, sight->first);
    sight->end = num_max(sight->first, end);
    sight->low = 0;
}

void pattern_ranges(struct sight *sight, const struct pattern *pattern, const struct view *view)
{
    sight->low =
        view->query < pattern->global ? view->visible : num_min(pattern->global, view->visible);
    sight->first = sight->end = view->visible;
    if (pattern->window) {
        sight->first = view->query < pattern->window ? 0 : view->query - pattern->window + 1;
        sight->end = num_min(view->visible, view->query + pattern->window);
    }
    if (sight->first <= sight->low) { /* they are one */
        sight->low = sight->low > sight->end ? sight->low : sight->end;
        sight->first = sight->end = sight->low;
    }
    if (view->first)
        cut(sight, view->first);
    sight->single_count = 0;
}

/* Keep a key that is in neither range: written first, and counted where it is, there is nothing
 * to guess wrong. */
static void keep_single(struct sight *sight, uint32_t *singles, size_t key)
{
    singles[sight->single_count] = (uint32_t)key;
    sight->single_count += (key >= sight->low) & ((key < sight->first) | (key >= sight->end));
}

void pattern_look(struct sight *sight, const struct pattern *pattern, const struct view *view,
                  uint32_t *singles)
{
    size_t step = pattern->stride;
    size_t low = num_min(pattern->global, view->visible);
    size_t strided = step ? view->query % step : view->visible; /* the next one of each part */
    size_t drawn = 0;
    pattern_ranges(sight, pattern, view);
    sight->singles = singles;
    if (view->first) {
        size_t from = num_max(low, view->first);
        for (size_t key = view->first; pattern->window && key < low; key++)
            keep_single(sight, singles, key);
        while (drawn < view->drawn_count && view->drawn[drawn] < from)
            drawn++;
        if (strided < from)
            strided += (from - strided + step - 1) / step * step;
    }
    for (; strided < view->visible; strided += step) {
        for (; drawn < view->drawn_count && view->drawn[drawn] < strided; drawn++)
            keep_single(sight, singles, view->drawn[drawn]);
        drawn += drawn < view->drawn_count && view->drawn[drawn] == strided;
        keep_single(sight, singles, strided);
    }
    for (; drawn < view->drawn_count; drawn++)
        keep_single(sight, singles, view->drawn[drawn]);
}

/* --- a set of keys --------------------------------------------------------------------------- */

enum { BITS = 64 }; /* of a word */

static size_t words_for(size_t bits)
{
    return bits / BITS + 1;
}

size_t bitset_words(size_t limit)
{
    return words_for(limit) + words_for(words_for(limit));
}

struct bitset bitset_of(uint64_t *words, size_t limit)
{
    size_t marks = words_for(limit);
    return (struct bitset){words, words + marks, words_for(marks)};
}

bool bitset_add(struct bitset *set, size_t key)
{
    size_t word = key / BITS;
    uint64_t bit = (uint64_t)1 << key % BITS;
    bool fresh = (set->marks[word] & bit) == 0;
    set->marks[word] |= bit;
    set->marked[word / BITS] |= (uint64_t)1 << word % BITS;
    return fresh;
}

/* The bits of a word, which becomes 0. */
static uint64_t take(uint64_t *word)
{
    uint64_t bits = *word;
    *word = 0;
    return bits;
}

static size_t lowest(uint64_t bits)
{
    return (size_t)__builtin_ctzll(bits);
}

size_t bitset_empty(struct bitset *set, uint32_t *keys)
{
    size_t count = 0;
    for (size_t i = 0; i < set->words; i++)
        for (uint64_t words = take(&set->marked[i]); words; words &= words - 1) {
            size_t word = i * BITS + lowest(words);
            for (uint64_t bits = take(&set->marks[word]); bits; bits &= bits - 1)
                keys[count++] = (uint32_t)(word * BITS + lowest(bits));
        }
    return count;
}
