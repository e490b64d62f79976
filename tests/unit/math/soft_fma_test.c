#include "math/portable_math.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "../unit.h"
#include "../rigs/dice.h"
#include "../rigs/patience.h"

static void expect_same(float a, float b, float c)
{
    float found = soft_fmaf(a, b, c);
    float expected = fmaf(a, b, c);
    bool same = memcmp(&found, &expected, sizeof found) == 0;
    ck_assert_msg(same || (isnan(found) && isnan(expected)), "%a * %a + %a: expected %a, found %a",
                  (double)a, (double)b, (double)c, (double)expected, (double)found);
}

TEST(numbers_at_the_ends_of_their_range)
{
    static const float ends[] = {0.0f,    1.0f,      0x1p-149f,     0x1.fffffep-127f, FLT_MIN,
                                 FLT_MAX, 0x1p-75f,  0x1.000002p0f, 0x1.fffffep0f,    0x1p64f,
                                 3.0f,    0x1p-126f, HUGE_VALF,     0x1.8p-75f,       NAN};
    for (size_t i = 0; i < 8 * COUNT(ends) * COUNT(ends) * COUNT(ends); i++) {
        size_t rest = i / 8;
        float a = ends[rest % COUNT(ends)];
        float b = ends[rest / COUNT(ends) % COUNT(ends)];
        float c = ends[rest / COUNT(ends) / COUNT(ends)];
        expect_same(i & 1 ? -a : a, i & 2 ? -b : b, i & 4 ? -c : c);
    }
}

/* Sums whose exact value lies a little beside the middle of two floats: rounded twice, they would
 * be wrong. */
TEST(sums_beside_the_middle_of_two_floats)
{
    for (int bits = 24; bits < 140; bits++) {
        float half = ldexpf(1.0f, -24);
        float little = ldexpf(1.0f, -bits);
        expect_same(half, 1.0f + FLT_EPSILON, 1.0f);
        expect_same(half, 1.0f - FLT_EPSILON / 2, 1.0f);
        expect_same(little, little, 1.0f + half);
        expect_same(half + little, 1.0f, 1.0f);
        expect_same(1.0f + FLT_EPSILON, 1.0f + FLT_EPSILON, little);
        expect_same(1.0f + FLT_EPSILON, 1.0f - FLT_EPSILON, -little);
    }
}

static float any_float(uint32_t *dice, size_t kind)
{
    static const uint32_t masks[] = {0xffffffff, 0x80ffffff, 0xfff00000, 0xbfffffff};
    uint32_t bits = (dice_bits(dice) ^ dice_bits(dice) << 13) & masks[kind % COUNT(masks)];
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* Any bits; some sums nearly cancel. */
TEST(a_million_of_all_kinds)
{
    uint32_t dice = 7;
    for (size_t i = 0; i < 1000000; i += one_of(100)) {
        float a = any_float(&dice, i);
        float b = any_float(&dice, i / 4);
        float c = i % 5 ? any_float(&dice, i / 16) : -(a * b);
        expect_same(a, b, i % 10 ? c : nextafterf(c, 0));
    }
}
