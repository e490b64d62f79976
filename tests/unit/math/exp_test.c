#include "math/portable_math.h"

#include <float.h>
#include <math.h>

#include "../unit.h"

/* The gap between floats at a (double) value. */
static double unit_at(double value)
{
    int exponent = 0;
    frexp(value, &exponent);
    return ldexp(1.0, exponent - FLT_MANT_DIG);
}

/* How many units in the last place the result is off. */
static double error_of(float x)
{
    double expected = exp((double)x);
    return fabs((double)exp_float(x) - expected) / unit_at(expected);
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Walk the floats from 0 to `end`, away from 0, a few hundred apart. */
static void sweep(float sign, float end)
{
    for (uint32_t bits = 0; bits <= bits_of(end); bits += 251) {
        float x = sign * float_of(bits);
        if (!(error_of(x) <= 1.0))
            ck_abort_msg("e^%.9g is %.9g, off by %.3f units", x, exp_float(x), error_of(x));
    }
}

TEST(growing_results_are_within_a_unit)
{
    sweep(1, 88.72f);
}

TEST(falling_results_are_within_a_unit_as_long_as_they_are_normal)
{
    sweep(-1, 87.33f);
}

TEST(whole_numbers_and_their_neighbours_are_within_a_unit)
{
    for (int n = -87; n <= 88; n++) {
        float x = (float)n;
        ck_assert_double_le(error_of(x), 1.0);
        ck_assert_double_le(error_of(nextafterf(x, -100)), 1.0);
        ck_assert_double_le(error_of(nextafterf(x, 100)), 1.0);
    }
}

/* Where n = round(x / ln 2) changes, r is largest. */
TEST(half_way_between_powers_of_two_is_within_a_unit)
{
    for (int n = -125; n <= 127; n++) {
        float x = (float)((n + 0.5) * 0.69314718055994531);
        for (int step = -50; step <= 50 && x > -87.33f && x < 88.72f; step++)
            if (!(error_of(x + (float)step * fabsf(x) * FLT_EPSILON) <= 1.0))
                ck_abort_msg("around %.9g", x);
    }
}

TEST(zero_gives_exactly_one)
{
    ck_assert(exp_float(0.0f) == 1.0f);
    ck_assert(exp_float(-0.0f) == 1.0f);
    ck_assert(exp_float(FLT_MIN) == 1.0f);
    ck_assert(exp_float(-1e-45f) == 1.0f);
}

TEST(what_is_too_large_is_infinite)
{
    static const float large[] = {88.7229f, 88.73f, 88.74f,  89,      100,
                                  1e4f,     1e30f,  FLT_MAX, INFINITY};
    for (size_t i = 0; i < COUNT(large); i++)
        ck_assert_msg(exp_float(large[i]) == INFINITY, "e^%g is %g", large[i], exp_float(large[i]));
    ck_assert(isfinite(exp_float(88.7228f)));
    ck_assert(isfinite(exp_float(88.7228317f))); /* the last one below 128 ln 2 … */
    ck_assert(isinf(exp_float(88.7228394f)));    /* … and the first one above */
}

TEST(what_is_too_small_is_exactly_zero)
{
    static const float small[] = {-87.3301f, -87.4f, -88, -103, -1e4f, -1e30f, -FLT_MAX, -INFINITY};
    for (size_t i = 0; i < COUNT(small); i++) {
        float result = exp_float(small[i]);
        ck_assert_msg(result == 0 && !signbit(result), "e^%g is %g", small[i], result);
    }
    ck_assert(exp_float(-87.33f) >= FLT_MIN);
}

TEST(nan_stays_nan)
{
    ck_assert(isnan(exp_float(NAN)));
    ck_assert(isnan(exp_float(-NAN)));
    ck_assert(isnan(exp_float(float_of(0x7f800001))));
}

TEST(the_short_way_for_negative_numbers_gives_the_same_bits)
{
    for (uint32_t bits = 0; bits <= bits_of(INFINITY); bits += 251) {
        float x = -float_of(bits);
        if (bits_of(exp_negative(x)) != bits_of(exp_float(x)))
            ck_abort_msg("e^%.9g is %.9g, not %.9g", x, exp_negative(x), exp_float(x));
    }
    ck_assert(exp_negative(0.0f) == 1.0f);
    ck_assert(exp_negative(-INFINITY) == 0.0f);
    ck_assert(isnan(exp_negative(NAN)));
}

/* Softmax counts on it: a larger score never gets a smaller weight. */
TEST(a_larger_number_has_no_smaller_result)
{
    float before = 0;
    for (float x = -87.3f; x < 88.7f; x += 0.0005f) {
        float here = exp_float(x);
        if (here < before)
            ck_abort_msg("e^%.9g is %.9g, smaller than before it", x, here);
        before = here;
    }
}
