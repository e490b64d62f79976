#include "model/pattern.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../rigs/patience.h"
#include "../unit.h"

enum { KEYS = 40, ROOT = 7, DRAWN = 8 };

/* True if key j is visible to query i, by the definition in the header. */
static bool sees(const struct pattern *p, size_t i, size_t j, const uint32_t *drawn, size_t count)
{
    size_t distance = i > j ? i - j : j - i;
    if (p->window && distance < p->window)
        return true;
    if (p->stride && distance % p->stride == 0)
        return true;
    if (p->root && (distance < ROOT || distance % ROOT == 0))
        return true;
    if (p->log && (distance & (distance - 1)) == 0)
        return true;
    if (j < p->global || i < p->global)
        return true;
    for (size_t k = 0; k < count; k++)
        if (drawn[k] == j)
            return true;
    return false;
}

static const struct pattern patterns[] = {
    {.window = 1},
    {.window = 4},
    {.window = 100},
    {.stride = 1},
    {.stride = 3},
    {.stride = 39},
    {.global = 1},
    {.global = 5},
    {.global = 90},
    {.random = 1},
    {.random = 7, .seed = 3},
    {.window = 4, .global = 1},
    {.window = 4, .global = 6},
    {.window = 3, .stride = 5},
    {.window = 2, .stride = 7, .global = 3, .random = 5, .seed = 9},
    {.stride = 4, .random = 6},
    {.root = 1},
    {.log = 1},
    {.root = 1, .log = 1, .global = 2},
    {.window = 3, .stride = 9, .root = 1, .random = 2},
    {.window = 6, .log = 1},
};

/* The random keys of a query. */
static size_t draw(const struct pattern *pattern, size_t query, size_t visible, uint32_t *drawn)
{
    struct view view = {.query = query, .visible = visible};
    return pattern_draw(pattern, &view, drawn);
}

static void check(const struct pattern *pattern, size_t query, size_t visible, size_t window)
{
    uint32_t drawn[DRAWN], found[KEYS], expected[KEYS];
    size_t count = 0;
    struct view view = {.query = query, .keys = KEYS, .visible = visible, .drawn = drawn};
    view.first = window && visible > window ? visible - window : 0;
    view.drawn_count = draw(pattern, query, visible, drawn);
    for (size_t key = view.first; key < visible; key++)
        if (sees(pattern, query, key, drawn, view.drawn_count))
            expected[count++] = (uint32_t)key;
    ck_assert_uint_le(count, pattern_most(pattern, visible));
    ck_assert_uint_eq(pattern_keys(pattern, &view, found), count);
    ck_assert_mem_eq(found, expected, count * sizeof *found);
}

TEST(visible_keys_agree_with_the_definition)
{
    for (size_t i = 0; i < COUNT(patterns); i++)
        for (size_t query = 0; query < KEYS; query += one_of(2)) {
            check(&patterns[i], query, KEYS, 0);
            for (size_t window = 0; window < KEYS; window++) /* causal */
                check(&patterns[i], query, query + 1, window);
        }
}

TEST(random_keys_are_different_and_visible)
{
    struct pattern pattern = {.random = 7, .seed = 1};
    uint32_t drawn[DRAWN];
    for (size_t query = 0; query < KEYS; query++) {
        for (size_t visible = query + 1; visible <= KEYS; visible++) {
            size_t count = draw(&pattern, query, visible, drawn);
            bool own = false;
            ck_assert_uint_eq(count, visible < 8 ? visible : 8);
            for (size_t i = 0; i < count; i++) {
                ck_assert_uint_lt(drawn[i], visible);
                ck_assert(i == 0 || drawn[i] > drawn[i - 1]);
                own |= drawn[i] == query;
            }
            ck_assert(own);
        }
    }
}

TEST(random_keys_are_uniform)
{
    enum { ROUNDS = 20000 };
    size_t often[KEYS] = {0};
    for (size_t seed = 0; seed < ROUNDS; seed++) {
        struct pattern pattern = {.random = 4, .seed = seed};
        uint32_t drawn[DRAWN];
        size_t count = draw(&pattern, 17, KEYS, drawn);
        for (size_t i = 0; i < count; i++)
            often[drawn[i]]++;
    }
    for (size_t key = 0; key < KEYS; key++) {
        if (key == 17)
            ck_assert_uint_eq(often[key], ROUNDS);
        else /* 4 of 39; five standard deviations of 43 */
            ck_assert_uint_le(llabs((long long)often[key] - ROUNDS * 4 / 39), 215);
    }
}

TEST(a_seed_determines_the_random_keys)
{
    struct pattern pattern = {.random = 3, .seed = 5};
    uint32_t drawn[DRAWN], again[DRAWN];
    ck_assert_uint_eq(draw(&pattern, 20, 30, drawn), 4);
    ck_assert_mem_eq(drawn, ((uint32_t[]){3, 20, 21, 26}), 4 * sizeof *drawn);
    pattern.seed = 6;
    draw(&pattern, 20, 30, again);
    ck_assert_int_ne(memcmp(drawn, again, 4 * sizeof *drawn), 0);
}
