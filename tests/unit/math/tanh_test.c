#include "math/portable_math.h"

#include <float.h>
#include <math.h>

#include "../unit.h"

/* How many units in the last place the result is off. */
static double error_of(float x)
{
    int exponent = 0;
    double expected = tanh((double)x);
    frexp(expected, &exponent);
    int last = exponent - FLT_MANT_DIG;
    return fabs((double)tanh_float(x) - expected) / ldexp(1.0, last > -149 ? last : -149);
}

TEST(results_are_within_two_units)
{
    for (uint32_t bits = 0; bits < 0x7f800000u; bits += 1009) { /* every positive number's turn */
        float x;
        memcpy(&x, &bits, sizeof x);
        if (!(error_of(x) <= 2 && tanh_float(-x) == -tanh_float(x)))
            ck_abort_msg("tanh %.9g is %.9g, off by %.3f units", x, tanh_float(x), error_of(x));
    }
}

TEST(ends_are_exact)
{
    ck_assert_float_eq(tanh_float(INFINITY), 1);
    ck_assert_float_eq(tanh_float(-INFINITY), -1);
    ck_assert(signbit(tanh_float(-0.0f)));
    ck_assert(isnan(tanh_float(NAN)));
}
