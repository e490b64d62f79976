#include "math/rng.h"

#include <math.h>
#include <string.h>

#include "../unit.h"

enum { COUNT = 100000 };

static float x[COUNT], y[COUNT];

/* On every machine and with every instruction set. */
TEST(a_seed_gives_the_same_numbers)
{
    static const float expected[] = {-0.338473082f, 0.0380825996f, 0.764221191f, -0.573056102f};
    rng_fill_uniform(x, 4, 7, 0.0f, 1.0f);
    for (size_t i = 0; i < 4; i++)
        ck_assert_float_eq(x[i], expected[i]);
}

TEST(a_number_depends_only_on_its_index)
{
    rng_fill_uniform(x, COUNT, 3, 0.5f, 2.0f);
    for (size_t count = 0; count < 70; count++) {
        memset(y, 0, sizeof y);
        rng_fill_uniform(y, count, 3, 0.5f, 2.0f);
        ck_assert_mem_eq(x, y, count * sizeof *x);
        ck_assert_float_eq(y[count], 0);
    }
}

TEST(numbers_are_uniform_around_the_middle)
{
    size_t tenths[10] = {0};
    double sum = 0;
    rng_fill_uniform(x, COUNT, 1, 1.0f, 0.05f);
    for (size_t i = 0; i < COUNT; i++) {
        ck_assert_float_ge(x[i], 0.95f);
        ck_assert_float_le(x[i], 1.05f);
        tenths[(size_t)fmin(9, ((double)x[i] - 0.95) / 0.01)]++;
        sum += (double)x[i];
    }
    ck_assert_double_eq_tol(sum / COUNT, 1.0, 3e-4); /* three standard deviations of the mean */
    for (size_t i = 0; i < 10; i++) {
        ck_assert_uint_gt(tenths[i], COUNT / 10 - 300);
        ck_assert_uint_lt(tenths[i], COUNT / 10 + 300);
    }
}

TEST(different_seeds_give_different_numbers)
{
    size_t same = 0;
    rng_fill_uniform(x, COUNT, 0, 0.0f, 1.0f);
    rng_fill_uniform(y, COUNT, 1, 0.0f, 1.0f);
    for (size_t i = 0; i < COUNT; i++)
        same += x[i] == y[i];
    ck_assert_uint_lt(same, 5);
}
