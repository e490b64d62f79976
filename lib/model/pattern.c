#include "model/pattern.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "math/rng.h"

/* The window and stride of `sqrt`; 0 without it. */
static size_t root_of(const struct pattern *pattern, size_t keys)
{
    return pattern->root ? (size_t)ceil(sqrt((double)keys)) : 0;
}

size_t pattern_most(const struct pattern *pattern, size_t keys)
{
    size_t window = num_min(pattern->window, keys);
    size_t strided = pattern->stride ? keys / pattern->stride + 1 : 0;
    size_t random = pattern->random ? num_min(pattern->random, keys) + 1 : 0;
    size_t root = root_of(pattern, keys);
    size_t others =
        (root ? 2 * root + keys / root + 1 : 0) + (pattern->log ? 2 * sizeof keys * CHAR_BIT : 0);
    return pattern->global ? keys : num_min(keys, 2 * window + strided + random + others);
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

/* The first key from one on that is in the window of a query, or at a multiple of the stride. */
static size_t next_near(size_t window, size_t stride, size_t query, size_t from)
{
    size_t next = SIZE_MAX;
    if (window && from < query + window)
        next = num_max(from, query < window ? 0 : query - window + 1);
    if (stride) {
        size_t beyond = (from + stride - query % stride) % stride;
        next = num_min(next, beyond ? from + stride - beyond : from);
    }
    return next;
}

/* The first key from one on at a distance of 0 or a power of two. */
static size_t next_power(size_t query, size_t from)
{
    size_t distance = from < query ? query - from : from - query;
    size_t power = 1;
    while (power <= distance / 2)
        power *= 2;
    if (from <= query)
        return distance ? query - power : query;
    return query + (power < distance ? 2 * power : power);
}

/* The first key from one on that is seen, or one that is not below view->visible; `drawn`, if it is
 * not NULL, is the first random key that is not below it. */
static size_t next_key(const struct pattern *pattern, const struct view *view, size_t root,
                       size_t from, const uint32_t *drawn)
{
    size_t query = view->query;
    size_t next = drawn ? *drawn : view->visible;
    if (from < pattern->global || query < pattern->global)
        return from;
    next = num_min(next, next_near(pattern->window, pattern->stride, query, from));
    if (root)
        next = num_min(next, next_near(root, root, query, from));
    return pattern->log ? num_min(next, next_power(query, from)) : next;
}

size_t pattern_keys(const struct pattern *pattern, const struct view *view, uint32_t *keys)
{
    size_t count = 0;
    size_t drawn = 0;
    size_t root = root_of(pattern, view->keys);
    for (size_t key = view->first; key < view->visible; key++) {
        while (drawn < view->drawn_count && view->drawn[drawn] < key)
            drawn++;
        key = next_key(pattern, view, root, key,
                       drawn < view->drawn_count ? view->drawn + drawn : NULL);
        if (key < view->visible)
            keys[count++] = (uint32_t)key;
    }
    return count;
}
