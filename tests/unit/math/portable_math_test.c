#include "math/portable_math.h"
#include "math/soft_fmaf.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/dice.h"
#include "../rigs/patience.h"

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Error of a result in units in the last place (of the smallest, if it is subnormal). */
static double units_off(double found, double expected)
{
    int exponent = 0;
    frexp(expected, &exponent);
    int last = exponent - FLT_MANT_DIG;
    return fabs(found - expected) / ldexp(1.0, last > -149 ? last : -149);
}

static double share_below(double x)
{
    return erfc(-x / sqrt(2)) / 2;
}

/* Every few hundredth float of either sign; the step is odd, so that every bit varies. */
TEST(functions_have_the_documented_accuracy)
{
    static const struct {
        float (*function)(float);
        double (*exact)(double);
        float low, high;
        double units;
    } cases[] = {
        {exp_float, exp, -87.33f, 88.72f, 1},
        {exp_negative, exp, -87.33f, 0, 1},
        {tanh_float, tanh, -FLT_MAX, FLT_MAX, 2},
        {normal_share, share_below, -13.0f, FLT_MAX, 5},
    };
    const uint32_t step = 251 * (uint32_t)(one_of(4) | 1);
    for (size_t i = 0; i < 2 * COUNT(cases); i++)
        for (uint32_t bits = 0; bits < 0x7f800000; bits += step) {
            float x = i % 2 ? -float_of(bits) : float_of(bits);
            double expected = cases[i / 2].exact((double)x);
            float found = cases[i / 2].function(x);
            if (x < cases[i / 2].low || x > cases[i / 2].high)
                break;
            if (!(units_off((double)found, expected) <= cases[i / 2].units))
                ck_abort_msg("function %zu of %.9g is %.9g, not %.9g", i / 2, (double)x,
                             (double)found, expected);
        }
}

TEST(functions_are_exact_at_the_ends_of_their_ranges)
{
    static const float ends[] = {88.7228394f, 89, FLT_MAX, INFINITY};
    for (size_t i = 0; i < COUNT(ends); i++) {
        ck_assert_float_eq(exp_float(ends[i]), INFINITY);
        ck_assert_float_eq(exp_float(-ends[i]), 0);
        ck_assert_float_eq(exp_negative(-ends[i]), 0);
        ck_assert_float_eq(tanh_float(ends[i]), 1);
        ck_assert_float_eq(tanh_float(-ends[i]), -1);
    }
    ck_assert(isfinite(exp_float(88.7228317f)));
    ck_assert(exp_float(-87.33f) >= FLT_MIN && exp_float(-87.3301f) == 0);
    ck_assert(exp_float(0) == 1 && exp_negative(0) == 1 && signbit(tanh_float(-0.0f)));
    ck_assert(isnan(exp_float(NAN)) && isnan(exp_negative(NAN)) && isnan(tanh_float(NAN)));
}

/* Softmax relies on this: a larger score never has a smaller weight. */
TEST(exp_float_is_monotonic)
{
    for (float x = -87.3f, before = 0; x < 88.7f; x += 0.0005f) {
        float here = exp_float(x);
        if (here < before)
            ck_abort_msg("e^%.9g is %.9g, smaller than before it", (double)x, (double)here);
        before = here;
    }
}

TEST(logarithms_are_within_a_few_units)
{
    uint32_t state = 1;
    for (size_t i = 0; i < 2000000; i += one_of(10)) {
        uint64_t bits = (uint64_t)dice_bits(&state) << 40 ^ (uint64_t)dice_bits(&state) << 20 ^
                        dice_bits(&state);
        double x;
        bits = bits % 0x7fe0000000000000u;
        memcpy(&x, &bits, sizeof x);
        if (x >= DBL_MIN && fabs(log_double(x) - log(x)) > 3 * DBL_EPSILON * fabs(log(x)))
            ck_abort_msg("ln %a is %a, expected %a", x, log_double(x), log(x));
    }
    ck_assert(log_double(1) == 0 && log_double(2) == log(2));
}

/* --- fused multiply-add in software ----------------------------------------------------------- */

static void expect_same(float a, float b, float c)
{
    float found = soft_fmaf(a, b, c);
    float expected = fmaf(a, b, c);
    bool same = memcmp(&found, &expected, sizeof found) == 0;
    ck_assert_msg(same || (isnan(found) && isnan(expected)), "%a * %a + %a: expected %a, found %a",
                  (double)a, (double)b, (double)c, (double)expected, (double)found);
}

TEST(fused_multiply_add_is_exact_at_the_ends_of_its_range)
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

/* Sums near the middle of two floats; rounding twice would give a wrong result. */
TEST(fused_multiply_add_rounds_once)
{
    for (int bits = 24; bits < 140; bits++) {
        float half = ldexpf(1.0f, -24);
        float little = ldexpf(1.0f, -bits);
        expect_same(half, 1.0f + FLT_EPSILON, 1.0f);
        expect_same(little, little, 1.0f + half);
        expect_same(half + little, 1.0f, 1.0f);
        expect_same(1.0f + FLT_EPSILON, 1.0f - FLT_EPSILON, -little);
    }
}

/* Random bits; some sums nearly cancel. */
TEST(fused_multiply_add_is_exact_for_a_million_numbers)
{
    static const uint32_t masks[] = {0xffffffff, 0x80ffffff, 0xfff00000, 0xbfffffff};
    uint32_t dice = 7;
    for (size_t i = 0; i < 1000000; i += one_of(100)) {
        float numbers[3];
        for (size_t k = 0; k < 3; k++)
            numbers[k] = float_of((dice_bits(&dice) ^ dice_bits(&dice) << 13) &
                                  masks[(i >> 2 * k) % COUNT(masks)]);
        float c = i % 5 ? numbers[2] : -(numbers[0] * numbers[1]);
        expect_same(numbers[0], numbers[1], i % 10 ? c : nextafterf(c, 0));
    }
}
