#include "lens/sheet.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/dice.h"
#include "base/buf.h"

TEST(the_range_of_a_tensor_determines_the_format)
{
    static const struct {
        float low, high;
        int digits;
        const char *written; /* `low` */
    } cases[] = {
        {-0.4246f, 2.4542f, 4, "-0.4246"},
        {0.038641f, 0.687f, 4, "0.0386"},
        {0.038641f, 0.687f, 6, "0.038641"},
        {0.038641f, 0.687f, 2, "0.04"},
        {0.038641f, 0.687f, 1, "0.0"},
        {0.038641f, 0.05f, 2, "0.04"},
        {0.038641f, 0.05f, 1, "3.9e-02"},
        {0, 0, 4, "0.0000"},
        {0, 0.0009f, 4, "0.00e+00"},
        {-0.0009f, 0, 4, "-9.00e-04"},
        {0.001f, 0.001f, 4, "0.0010"},
        {0.01f, 0.01f, 3, "0.010"},
        {-999.5f, 9999, 4, "-999.5000"},
        {-1000, 0, 4, "-1.00e+03"},
        {1, 10000, 4, "1.00e+00"},
        {-1000, 0, 9, "-1.0000000e+03"},
        {-FLT_MAX, FLT_MAX, 9, "-3.4028235e+38"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[NUMERAL_BYTES];
        struct numeral numeral = numeral_between(cases[i].low, cases[i].high, cases[i].digits);
        size_t size = numeral_write(text, numeral, cases[i].low);
        ck_assert_str_eq(text, cases[i].written);
        ck_assert_uint_eq(size, strlen(text));
    }
}

TEST(numbers_that_are_not_finite_do_not_change_the_format)
{
    static const float values[] = {NAN, -INFINITY, 0.25f, INFINITY, 2000};
    char text[NUMERAL_BYTES];
    struct numeral few = numeral_of(values, 4, 4);
    ck_assert(!few.scientific);
    ck_assert(!numeral_of(values, 5, 4).scientific);
    ck_assert(!numeral_of(values, 2, 4).scientific);
    numeral_write(text, few, -INFINITY);
    ck_assert_str_eq(text, "-inf");
}

TEST(latex_has_a_symbol_for_infinity_and_exponents_without_blanks)
{
    static const char *const cases[][2] = {
        {"-0.0386", "-0.0386"},
        {"3.86e-05", "3.86\\mathrm{e}{-05}"},
        {"-1.00e+10", "-1.00\\mathrm{e}{+10}"},
        {"-inf", "-\\infty"},
        {"", ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf latex = {0};
        buf_text(&latex, "");
        numeral_latex(&latex, cases[i][0]);
        ck_assert_str_eq(latex.bytes, cases[i][1]);
        buf_release(&latex);
    }
}

/* All sizes, signs and numbers of decimals; many are halfway between two numerals. */
TEST(decimals_agree_with_printf_except_for_minus_0)
{
    static const float edges[] = {0,       -0.0f,   0.5f,        1.5f,   2.5f,
                                  -0.125f, 0.375f,  999.9995f,   1e6f,   999999.94f,
                                  FLT_MIN, -1e-45f, 0.09999999f, FLT_MAX};
    uint32_t dice = 5;
    for (size_t i = 0; i < 40000; i++) {
        float value = i < COUNT(edges) ? edges[i] : (float)((int)dice_bits(&dice) >> i % 24) / 4096;
        char text[NUMERAL_BYTES];
        char expected[NUMERAL_BYTES];
        struct numeral numeral = {.digits = (int)(i % (NUMERAL_DIGITS_MAX + 1))};
        for (int step = 0; step < 3; step++, value /= 97) {
            snprintf(expected, sizeof expected, "%.*f", numeral.digits, (double)value);
            if (*expected == '-' && strspn(expected, "-0.") == strlen(expected))
                memmove(expected, expected + 1, strlen(expected));
            ck_assert_uint_eq(numeral_write(text, numeral, value), strlen(expected));
            ck_assert_str_eq(text, expected);
        }
    }
}
