#include "math/rng.h"

#include <string.h>

#include "../unit.h"

enum { COUNT = 100000 };

static void fill(float *x)
{
    for (size_t i = 0; i < COUNT; i++)
        x[i] = 3.0f;
}

TEST(the_rate_is_the_share_of_dropped_numbers)
{
    static float x[COUNT];
    const float rates[] = {0.05f, 0.1f, 0.5f, 0.9f};
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        size_t dropped = 0;
        fill(x);
        rng_dropout(x, COUNT, 7, r, rates[r]);
        for (size_t i = 0; i < COUNT; i++) {
            dropped += x[i] == 0.0f;
            ck_assert(x[i] == 0.0f || x[i] == 3.0f * (1.0f / (1.0f - rates[r])));
        }
        ck_assert_double_eq_tol((double)dropped / COUNT, (double)rates[r], 0.005);
    }
}

TEST(different_keys_and_rows_drop_different_numbers)
{
    static float one[COUNT], same[COUNT], other[COUNT], row[COUNT];
    fill(one), fill(same), fill(other), fill(row);
    rng_dropout(one, COUNT, 7, 1, 0.5f);
    rng_dropout(same, COUNT, 7, 1, 0.5f);
    rng_dropout(other, COUNT, 8, 1, 0.5f);
    rng_dropout(row, COUNT, 7, 2, 0.5f);
    ck_assert_mem_eq(one, same, sizeof one);
    ck_assert_mem_ne(one, other, sizeof one);
    ck_assert_mem_ne(one, row, sizeof one);
}

TEST(a_rate_of_0_changes_nothing)
{
    static float x[COUNT];
    fill(x);
    rng_dropout(x, COUNT, 7, 1, 0.0f);
    for (size_t i = 0; i < COUNT; i++)
        ck_assert_float_eq(x[i], 3.0f);
}

TEST(rng_below_is_uniform_and_in_range)
{
    enum { LIMIT = 7 };
    size_t counts[LIMIT] = {0};
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t found = rng_below(rng_fold_in(3, 4), i, LIMIT);
        ck_assert_uint_lt(found, LIMIT);
        counts[found]++;
    }
    for (size_t i = 0; i < LIMIT; i++)
        ck_assert_double_eq_tol((double)counts[i] / COUNT, 1.0 / LIMIT, 0.005);
    ck_assert_uint_lt(rng_below(1, 2, 4000000000u), 4000000000u);
}
