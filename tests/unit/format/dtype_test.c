#include "format/safetensors.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "../unit.h"

/* The value of 16 bits, by the definition of IEEE 754, as a double. */
static double meaning(unsigned bits, int exponent_bits, int fraction_bits)
{
    int exponent = (int)(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
    int fraction = (int)bits & ((1 << fraction_bits) - 1);
    int bias = (1 << (exponent_bits - 1)) - 1;
    double sign = bits >> 15 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1)
        return fraction ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - bias - fraction_bits);
    return sign * ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

/* Read all values at once, from an odd address. */
static void check_all_values(enum dtype dtype, int exponent_bits, int fraction_bits)
{
    enum { VALUES = 1 << 16 };
    static char file[1 + 2 * VALUES];
    static float out[VALUES];
    for (unsigned bits = 0; bits < VALUES; bits++)
        memcpy(file + 1 + 2 * bits, &(uint16_t){(uint16_t)bits}, 2);
    dtype_to_float(out, file + 1, dtype, VALUES);
    for (unsigned bits = 0; bits < VALUES; bits++) {
        double expected = meaning(bits, exponent_bits, fraction_bits);
        if (isnan(expected))
            ck_assert_msg(isnan(out[bits]), "0x%04x: expected nan, found %a", bits, out[bits]);
        else
            ck_assert_msg(out[bits] == expected && !signbit(out[bits]) == !signbit(expected),
                          "0x%04x: expected %a, found %a", bits, expected, out[bits]);
    }
}

TEST(every_f16_is_read_exactly)
{
    check_all_values(DTYPE_F16, 5, 10);
}

TEST(every_bf16_is_read_exactly)
{
    check_all_values(DTYPE_BF16, 8, 7);
}

TEST(f32_keeps_its_bits)
{
    static const uint32_t bits[] = {0,          0x80000000, 1,          0x007fffff, 0x3f800000,
                                    0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc12345, 0x7f812345};
    char file[1 + sizeof bits];
    float out[COUNT(bits)];
    memcpy(file + 1, bits, sizeof bits);
    dtype_to_float(out, file + 1, DTYPE_F32, COUNT(bits));
    ck_assert_mem_eq(out, bits, sizeof bits);
}

TEST(f64_is_rounded_to_the_nearest)
{
    static const struct {
        double from;
        float to;
    } cases[] = {
        {0.0, 0.0f},
        {-1.5, -1.5f},
        {0.1, 0.1f},
        {1 + 0x1p-24, 1.0f},                      /* a tie: to the even one */
        {1 + 3 * 0x1p-24, 1 + 0x1p-22f},          /* a tie: to the even one */
        {1 + 0x1p-24 + 0x1p-40, 1 + 0x1p-23f},    /* just above the tie */
        {0x1.fffffefffffffp127, 0x1.fffffep127f}, /* just below rounding to infinity */
        {0x1.ffffffp127, INFINITY},
        {-1e300, -INFINITY},
        {INFINITY, INFINITY},
        {0x1p-149, 0x1p-149f},
        {0x1p-150, 0.0f},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char file[1 + sizeof(double)];
        float out = -7;
        memcpy(file + 1, &cases[i].from, sizeof(double));
        dtype_to_float(&out, file + 1, DTYPE_F64, 1);
        ck_assert_msg(out == cases[i].to, "%a: expected %a, found %a", cases[i].from, cases[i].to,
                      out);
    }
}
