#include "measure/pair_counts.h"

#include <string.h>

#include "../unit.h"
#include "math/rng.h"

static struct pair_counts counts;
static struct err err;

static void leave(void)
{
    pair_counts_release(&counts);
}

FIXTURE(NULL, leave)

static void add(uint32_t query, uint32_t key, double weight)
{
    ck_assert_int_eq(pair_counts_add(&counts, query, key, weight, &err), 0);
}

TEST(few_pairs_are_counted_exactly)
{
    struct pair_count best[4];
    for (uint32_t i = 0; i < 90; i++)
        add(i % 10 ? i : 7, 3, 0.5);
    add(2, 9, 0.25);
    add(2, 9, 0.5);
    ck_assert_uint_eq(pair_counts_best(&counts, best, 3), 3);
    ck_assert(best[0].query == 7 && best[0].key == 3 && best[0].count == 10 && !best[0].over);
    ck_assert(best[1].query == 2 && best[1].count == 2);
    ck_assert_double_eq(best[1].weight, 0.75);
    ck_assert(best[2].query == 1 && best[2].count == 1); /* of equal ones the lower id */
    ck_assert_uint_eq(counts.total, 92);
}

TEST(exact_counts_of_parts_are_merged_exactly)
{
    struct pair_count best[4];
    struct pair_counts whole = {0};
    for (uint32_t part = 0; part < 3; part++) {
        for (uint32_t i = 0; i < 900; i++)
            add(i % (100 + part), part < 2, 0.5);
        ck_assert_int_eq(pair_counts_merge(&whole, &counts, &err), 0);
        pair_counts_release(&counts);
    }
    counts = whole;
    ck_assert_uint_eq(counts.count, 101 + 102);
    ck_assert_uint_eq(counts.total, 2700);
    ck_assert_uint_eq(pair_counts_best(&counts, best, 1), 1);
    ck_assert(best[0].query == 0 && best[0].key == 1 && best[0].count == 18 && !best[0].over);
    ck_assert_double_eq(best[0].weight, 9);
}

/* Pair i of 20,000 is drawn with a share of about 1 / i; in one part, and in several. */
static void count_many(uint64_t parts)
{
    enum { DIFFERENT = 20000, DRAWN = 300000 };
    static uint32_t exact[DIFFERENT];
    static struct pair_count best[PAIRS_MAX];
    struct pair_counts whole = {0};
    memset(exact, 0, sizeof exact);
    for (uint64_t i = 0; i < DRAWN; i++) {
        uint32_t pair = (uint32_t)rng_below(1, i, 1 + rng_below(2, i, DIFFERENT));
        exact[pair]++;
        add(pair, ~pair, 1);
        if ((i + 1) % (DRAWN / parts) || parts == 1)
            continue;
        ck_assert_int_eq(pair_counts_merge(&whole, &counts, &err), 0);
        pair_counts_release(&counts);
    }
    counts = parts == 1 ? counts : whole;
    ck_assert_uint_eq(counts.total, DRAWN);
    ck_assert_uint_eq(pair_counts_best(&counts, best, PAIRS_MAX), PAIRS_MAX);
    static bool is_found[DIFFERENT];
    memset(is_found, 0, sizeof is_found);
    for (size_t i = 0; i < PAIRS_MAX; i++) {
        const uint32_t pair = best[i].query;
        is_found[pair] = true;
        ck_assert_uint_eq(best[i].key, ~pair);
        ck_assert_uint_ge(best[i].count, exact[pair]);
        ck_assert_uint_le(best[i].count - best[i].over, exact[pair]);
        ck_assert_uint_le(best[i].over, DRAWN / PAIRS_MAX);
        ck_assert_double_eq(best[i].weight, best[i].count - best[i].over);
    }
    for (size_t pair = 0; pair < DIFFERENT; pair++)
        ck_assert(is_found[pair] || exact[pair] <= counts.least);
    ck_assert_uint_le(counts.least, DRAWN / PAIRS_MAX);
}

TEST(of_many_pairs_the_frequent_ones_are_found)
{
    count_many(1);
}

TEST(of_many_pairs_in_parts_the_frequent_ones_are_found)
{
    count_many(5);
}
