#include "math/rng.h"

#include <math.h>
#include <string.h>

#include "../unit.h"

enum { COUNT = 100000 };

static float weights[COUNT], again[COUNT];

static void fill(float *row)
{
    for (size_t i = 0; i < COUNT; i++)
        row[i] = (float)(i + 1);
}

TEST(a_share_is_dropped_and_the_others_are_scaled)
{
    static const float shares[] = {0.0f, 0.1f, 0.5f, 0.9f};
    for (size_t s = 0; s < sizeof shares / sizeof *shares; s++) {
        size_t gone = 0;
        fill(weights);
        rng_dropout_part(weights, COUNT, 0, splitmix64(7), shares[s]);
        for (size_t i = 0; i < COUNT; i++) {
            double kept = (double)(i + 1) / (1 - (double)shares[s]);
            gone += weights[i] == 0;
            ck_assert(weights[i] == 0 || fabs((double)weights[i] - kept) <= 1e-6 * kept);
        }
        double expected = (double)shares[s] * COUNT; /* ± four standard deviations */
        ck_assert_double_le(fabs((double)gone - expected),
                            4 * sqrt(expected * (1 - (double)shares[s])));
    }
}

TEST(dropout_depends_only_on_row_and_key)
{
    fill(weights);
    fill(again);
    rng_dropout_part(weights, COUNT, 0, splitmix64(1), 0.3f);
    for (size_t first = 0, count = 1; first < COUNT; first += count, count = count * 2 + 1) {
        count = count < COUNT - first ? count : COUNT - first;
        rng_dropout_part(again + first, count, first, splitmix64(1), 0.3f);
    }
    ck_assert_mem_eq(weights, again, sizeof weights);
}

TEST(rows_drop_different_weights)
{
    size_t both = 0;
    fill(weights);
    fill(again);
    rng_dropout_part(weights, COUNT, 0, splitmix64(1), 0.5f);
    rng_dropout_part(again, COUNT, 0, splitmix64(2), 0.5f);
    for (size_t i = 0; i < COUNT; i++)
        both += weights[i] == 0 && again[i] == 0;
    ck_assert_uint_gt(both, COUNT / 4 - 600);
    ck_assert_uint_lt(both, COUNT / 4 + 600);
}

/* On every machine and in every version. */
TEST(a_seed_drops_the_same_weights)
{
    char kept[17] = "";
    fill(weights);
    rng_dropout_part(weights, 16, 0, splitmix64(0), 0.5f);
    for (size_t i = 0; i < 16; i++)
        kept[i] = weights[i] == 0 ? '.' : 'x';
    ck_assert_str_eq(kept, "x.xx..x.xxxx.x..");
}
