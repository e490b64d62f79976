#include "math/precision.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/dice.h"
#include "../rigs/guarded.h"

static float float_of(uint32_t bits)
{
    float value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

TEST(numbers_are_rounded_to_nearest_even)
{
    static const struct {
        float value;
        uint16_t expected;
    } cases[] = {
        {0.0f, 0x0000},
        {-0.0f, 0x8000},
        {1.0f, 0x3f80},
        {-2.5f, 0xc020},
        {0x1.02p0f, 0x3f81},
        {0x1.01p0f, 0x3f80},       /* halfway: the even one is below */
        {0x1.03p0f, 0x3f82},       /* halfway: the even one is above */
        {0x1.010002p0f, 0x3f81},   /* a little more than half */
        {0x1.02fffep0f, 0x3f81},   /* a little less */
        {0x1.fffffep0f, 0x4000},   /* carries into the exponent */
        {-0x1.01p-100f, 0x8d80},   /* negative */
        {0x1p-126f, 0x0080},       /* the smallest normal number */
        {0x1.fcp-127f, 0x007f},    /* the largest subnormal one */
        {0x1p-133f, 0x0001},       /* the smallest */
        {0x1p-134f, 0x0000},       /* halfway to 0 */
        {0x1.0008p-134f, 0x0001},  /* more than that */
        {-0x1.8p-133f, 0x8002},    /* halfway between subnormal ones */
        {0x1p-149f, 0x0000},       /* the smallest float */
        {0x1.fep127f, 0x7f7f},     /* the largest finite number */
        {0x1.fefffep127f, 0x7f7f}, /* less than halfway to 2^128 */
        {0x1.ffp127f, 0x7f80},     /* halfway: infinity */
        {-0x1.fffffep127f, 0xff80},
        {INFINITY, 0x7f80},
        {-INFINITY, 0xff80},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_msg(bf16_round(cases[i].value) == cases[i].expected, "%a: %04x", cases[i].value,
                      bf16_round(cases[i].value));
}

/* Also if all bits of its mantissa are truncated. */
TEST(nan_stays_nan)
{
    static const uint32_t all[] = {0x7fc00000, 0x7f800001, 0x7fffffff, 0x7f80ffff, 0x7fbfffff,
                                   0xffc00000, 0xff800001, 0xffffffff, 0xff808000, 0xffff8000};
    for (size_t i = 0; i < COUNT(all); i++) {
        uint16_t rounded = bf16_round(float_of(all[i]));
        ck_assert_msg(isnan(bf16_value(rounded)), "%08x: %04x", all[i], rounded);
        ck_assert_uint_eq(rounded >> 15, all[i] >> 31);
    }
}

/* As a double, which can represent 2^128. */
static double exactly(uint32_t bits)
{
    return bits == 0x7f800000 ? 0x1p128 : (double)float_of(bits);
}

/* The nearer of the numbers below and above; at equal distances the even one. */
static uint32_t nearest(uint32_t bits)
{
    uint32_t below = bits & 0xffff0000;
    uint32_t above = below + 0x10000;
    double to_below = exactly(bits) - exactly(below);
    double to_above = exactly(above) - exactly(bits);
    bool below_is_even = (below >> 16) % 2 == 0;
    return to_below < to_above || (to_below == to_above && below_is_even) ? below : above;
}

/* Every number of 16 bits, and floats after it. */
TEST(rounding_agrees_with_exact_distances)
{
    static const uint32_t lower[] = {0, 1, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff};
    for (uint32_t upper = 0; upper < 0x7f80; upper++) {
        for (size_t i = 0; i < COUNT(lower); i++) {
            uint32_t bits = upper << 16 | lower[i];
            if (bf16_round(float_of(bits)) != nearest(bits) >> 16)
                ck_abort_msg("%08x: %04x", bits, bf16_round(float_of(bits)));
            if (bf16_round(float_of(bits | 0x80000000)) != (nearest(bits) >> 16 | 0x8000))
                ck_abort_msg("-%08x", bits);
        }
    }
}

TEST(numbers_of_bf16_are_unchanged)
{
    for (uint32_t number = 0; number < 0x10000; number++) {
        float value = bf16_value((uint16_t)number);
        if (!isnan(value))
            ck_assert_uint_eq(bf16_round(value), number);
    }
}

enum { LONGEST = 70 };

TEST(a_row_is_packed_in_pairs_of_neighbours)
{
    struct guarded row_memory = guarded_open(LONGEST);
    struct guarded pair_memory = guarded_open(LONGEST);
    uint32_t dice = 5;
    for (size_t count = 0; count <= LONGEST; count++) {
        float *row = guarded_take(&row_memory, count);
        uint32_t *pairs = (void *)guarded_take(&pair_memory, bf16_pairs(count));
        dice_fill(row, count, &dice);
        bf16_pair_row(pairs, row, count);
        for (size_t i = 0; i < count; i++)
            ck_assert_uint_eq(pairs[i / 2] >> (i % 2 ? 16 : 0) & 0xffff, bf16_round(row[i]));
        if (count % 2)
            ck_assert_uint_eq(pairs[count / 2] >> 16, 0);
    }
    guarded_close(&row_memory);
    guarded_close(&pair_memory);
}
