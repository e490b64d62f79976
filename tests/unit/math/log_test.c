#include "math/portable_math.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/dice.h"

/* How far a result is off, in units of the right one's last place. */
static double units_off(double x)
{
    long double right = logl((long double)x);
    long double unit =
        nextafterl((long double)fabs((double)right), INFINITY) == 0
            ? 1
            : (long double)(nextafter(fabs((double)right), INFINITY) - fabs((double)right));
    return (double)(fabsl((long double)log_double(x) - right) / unit);
}

/* Two; or three where the right ones are none: under valgrind long doubles are doubles. */
static double allowed(void)
{
    volatile long double more = 1;
    more += LDBL_EPSILON;
    return more > 1 ? 2 : 3;
}

TEST(logarithms_are_within_two_units)
{
    uint32_t state = 1;
    double worst = 0;
    for (int i = 0; i < 2000000; i++) {
        uint64_t bits = (uint64_t)dice_bits(&state) << 40 ^ (uint64_t)dice_bits(&state) << 20 ^
                        dice_bits(&state);
        double x;
        bits = bits % 0x7fe0000000000000u;
        memcpy(&x, &bits, sizeof x);
        if (x < DBL_MIN)
            continue;
        double off = units_off(x);
        worst = off > worst ? off : worst;
    }
    ck_assert_msg(worst < allowed(), "off by %g units", worst);
}

TEST(weights_of_attention_are_within_two_units)
{
    double worst = 0;
    for (float x = 1; x > 1e-30f; x = x * 0.99999f) {
        double off = units_off((double)x);
        worst = off > worst ? off : worst;
    }
    ck_assert_msg(worst < allowed(), "off by %g units", worst);
}

TEST(one_has_none_and_powers_of_two_are_multiples)
{
    ck_assert(log_double(1) == 0);
    ck_assert(log_double(2) == log(2));
    ck_assert(log_double(0.5) == -log(2));
    ck_assert(log_double(0x1p-149) == log(0x1p-149));
}
