#include "model/pattern.h"

#include <stdbool.h>
#include <string.h>

#include "math/chance.h"

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t pattern_singles(const struct pattern *pattern, size_t keys)
{
    size_t strided = pattern->stride ? keys / pattern->stride + 1 : 0;
    size_t random = pattern->random ? smaller(pattern->random, keys) + 1 : 0;
    return smaller(keys, strided + random);
}

/* Put a key into its place among rising ones; false, if it is there already. */
static bool insert(uint32_t *keys, size_t count, uint32_t key)
{
    size_t low = 0;
    for (size_t high = count; low < high;) {
        size_t middle = (low + high) / 2;
        if (keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < count && keys[low] == key)
        return false;
    memmove(keys + low + 1, keys + low, (count - low) * sizeof *keys);
    keys[low] = key;
    return true;
}

/* Floyd's way to draw some of a number of things, each as likely: as many draws as there are
 * things to draw. The others are counted without the query's own key. */
size_t pattern_draw(const struct pattern *pattern, size_t query, size_t visible, uint32_t *drawn)
{
    size_t others = visible - 1;
    size_t count = smaller(pattern->random, others);
    uint64_t row = chance(chance(pattern->seed) + query);
    for (size_t i = 0; i < count; i++) {
        uint32_t last = (uint32_t)(others - count + i);
        uint32_t pick = chance_below(chance(row + i), last + 1);
        if (!insert(drawn, i, pick))
            insert(drawn, i, last);
    }
    for (size_t i = 0; i < count; i++)
        drawn[i] += drawn[i] >= query;
    insert(drawn, count, (uint32_t)query);
    return count + 1;
}

void pattern_stretches(struct sight *sight, const struct pattern *pattern, const struct view *view)
{
    sight->low =
        view->query < pattern->global ? view->visible : smaller(pattern->global, view->visible);
    sight->first = sight->end = view->visible;
    if (pattern->window) {
        sight->first = view->query < pattern->window ? 0 : view->query - pattern->window + 1;
        sight->end = smaller(view->visible, view->query + pattern->window);
    }
    if (sight->first <= sight->low) { /* they are one */
        sight->low = sight->low > sight->end ? sight->low : sight->end;
        sight->first = sight->end = sight->low;
    }
    sight->single_count = 0;
}

void pattern_look(struct sight *sight, const struct pattern *pattern, const struct view *view,
                  uint32_t *singles)
{
    size_t step = pattern->stride;
    size_t strided = step ? view->query % step : view->visible; /* the next one of each part */
    size_t drawn = 0;
    pattern_stretches(sight, pattern, view);
    sight->singles = singles;
    while (strided < view->visible || drawn < view->drawn_count) {
        size_t random = drawn < view->drawn_count ? view->drawn[drawn] : view->visible;
        size_t key = smaller(strided, random);
        strided += strided == key ? step : 0;
        drawn += random == key;
        if (key >= sight->low && (key < sight->first || key >= sight->end))
            singles[sight->single_count++] = (uint32_t)key;
    }
}
