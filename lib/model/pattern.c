#include "model/pattern.h"

#include <string.h>

#include "base/num.h"
#include "math/rng.h"

size_t pattern_most(const struct pattern *pattern, size_t keys)
{
    size_t window = num_min(pattern->window, keys);
    size_t strided = pattern->stride ? keys / pattern->stride + 1 : 0;
    size_t random = pattern->random ? num_min(pattern->random, keys) + 1 : 0;
    return pattern->global ? keys : num_min(keys, 2 * window + strided + random);
}

/* Put a key into a rising list; false: it is there already. */
static bool add_key(uint32_t *keys, size_t count, size_t key)
{
    size_t i = count;
    while (i > 0 && keys[i - 1] > key)
        i--;
    if (i > 0 && keys[i - 1] == key)
        return false;
    memmove(keys + i + 1, keys + i, (count - i) * sizeof *keys);
    keys[i] = (uint32_t)key;
    return true;
}

/* Floyd's algorithm draws some of a number of things, each as likely, with as many random numbers
 * as there are things to draw. The query's own key is added afterwards, and not counted before. */
size_t pattern_draw(const struct pattern *pattern, const struct view *view, uint32_t *drawn)
{
    if (!pattern->random)
        return 0;
    size_t others = view->visible - 1;
    size_t count = num_min(pattern->random, others);
    uint64_t row = splitmix64(splitmix64(pattern->seed) + view->query);
    for (size_t i = 0; i < count; i++) {
        size_t last = others - count + i;
        size_t pick = (splitmix64(row + i) >> 32) * (last + 1) >> 32;
        if (!add_key(drawn, i, pick + (pick >= view->query)))
            add_key(drawn, i, last + (last >= view->query));
    }
    add_key(drawn, count, view->query);
    return count + 1;
}

/* The first key from one on that is seen, view->visible if there is none; `drawn`, if it is not
 * NULL, is the first random key that is not below it. */
static size_t next_key(const struct pattern *pattern, const struct view *view, size_t from,
                       const uint32_t *drawn)
{
    size_t query = view->query;
    size_t next = drawn ? *drawn : view->visible;
    if (from < pattern->global || query < pattern->global)
        return from;
    if (pattern->window) {
        size_t first = query < pattern->window ? 0 : query - pattern->window + 1;
        if (from < query + pattern->window)
            next = num_min(next, num_max(from, first));
    }
    if (pattern->stride) {
        size_t beyond = (from + pattern->stride - query % pattern->stride) % pattern->stride;
        next = num_min(next, beyond ? from + pattern->stride - beyond : from);
    }
    return next;
}

size_t pattern_keys(const struct pattern *pattern, const struct view *view, uint32_t *keys)
{
    size_t count = 0;
    size_t drawn = 0;
    for (size_t key = view->first; key < view->visible; key++) {
        while (drawn < view->drawn_count && view->drawn[drawn] < key)
            drawn++;
        key = next_key(pattern, view, key, drawn < view->drawn_count ? view->drawn + drawn : NULL);
        if (key < view->visible)
            keys[count++] = (uint32_t)key;
    }
    return count;
}
