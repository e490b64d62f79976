#include "base/num.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit.h"

TEST(doubles_have_the_fewest_digits_that_read_back)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.1, "0.1"},
        {1e-3, "0.001"},
        {1.0 / 3, "0.3333333333333333"},
        {-0.0, "-0"},
        {1e38, "1e+38"},
        {0.1 + 0.2, "0.30000000000000004"},
        {(double)INFINITY, "inf"},
    };
    char text[NUM_DOUBLE_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        num_double(text, cases[i].value);
        ck_assert_str_eq(text, cases[i].text);
    }
}

TEST(sizes_are_added_and_multiplied_with_a_check)
{
    static const struct {
        size_t a, b;
        bool adds, multiplies;
    } cases[] = {
        {0, 0, true, true},
        {0, SIZE_MAX, true, true},
        {SIZE_MAX, 0, true, true},
        {1, SIZE_MAX, false, true},
        {SIZE_MAX, 1, false, true},
        {SIZE_MAX / 2, 2, true, true},
        {SIZE_MAX / 2 + 1, 2, true, false},
        {(size_t)1 << 32, (size_t)1 << 32, true, false},
        {SIZE_MAX, SIZE_MAX, false, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        size_t sum = 77;
        size_t product = 77;
        ck_assert_int_eq(num_add(&sum, cases[i].a, cases[i].b), cases[i].adds);
        ck_assert_uint_eq(sum, cases[i].adds ? cases[i].a + cases[i].b : 77);
        ck_assert_int_eq(num_multiply(&product, cases[i].a, cases[i].b), cases[i].multiplies);
        ck_assert_uint_eq(product, cases[i].multiplies ? cases[i].a * cases[i].b : 77);
    }
}

TEST(an_integer_is_the_whole_text_and_in_its_range)
{
    static const struct {
        const char *text;
        bool good;
        long long value;
    } cases[] = {
        {"0", true, 0},
        {"-5", true, -5},
        {"+7", true, 7},
        {"007", true, 7},
        {"100", true, 100},
        {"101", false, 0},
        {"-6", false, 0},
        {"99999999999999999999", false, 0},
        {"-99999999999999999999", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"+-1", false, 0},
        {" 1", false, 0},
        {"1 ", false, 0},
        {"3x", false, 0},
        {"0x1", false, 0},
        {"1.0", false, 0},
        {"1e2", false, 0},
        {"١", false, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        long long value = 77;
        ck_assert_msg(num_parse_integer(cases[i].text, -5, 100, &value) == cases[i].good, "'%s'",
                      cases[i].text);
        ck_assert_int_eq(value, cases[i].good ? cases[i].value : 77);
    }
    long long value = 0;
    ck_assert(num_parse_integer("9223372036854775807", LLONG_MIN, LLONG_MAX, &value));
    ck_assert_int_eq(value, LLONG_MAX);
    ck_assert(!num_parse_integer("9223372036854775808", LLONG_MIN, LLONG_MAX, &value));
}

TEST(a_double_is_the_whole_text_and_in_its_range)
{
    static const struct {
        const char *text;
        bool good;
        double value;
    } cases[] = {
        {"0", true, 0},          {"-0.5", true, -0.5}, {"+1.5", true, 1.5}, {".5", true, 0.5},
        {"1.", true, 1},         {"1e1", true, 10},    {"1E-1", true, 0.1}, {"10", true, 10},
        {"10.000001", false, 0}, {"-0.51", false, 0},  {"1e999", false, 0}, {"-1e999", false, 0},
        {"", false, 0},          {".", false, 0},      {"-", false, 0},     {"e5", false, 0},
        {"1e", false, 0},        {"1-2", false, 0},    {" 1", false, 0},    {"1 ", false, 0},
        {"3x", false, 0},        {"0x1", false, 0},    {"inf", false, 0},   {"nan", false, 0},
        {"1,5", false, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        double value = 77;
        ck_assert_msg(num_parse_double(cases[i].text, -0.5, 10, &value) == cases[i].good, "'%s'",
                      cases[i].text);
        ck_assert_double_eq(value, cases[i].good ? cases[i].value : 77);
    }
}

TEST(floats_are_written_for_readers)
{
    static const struct {
        float value;
        const char *text;
    } cases[] = {
        {0.0f, "0"},
        {-0.0f, "-0"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
        {NAN, "nan"},
        {-NAN, "nan"},
        {1.0f, "1"},
        {-12.0f, "-12"},
        {0.1f, "0.1"},
        {0.5f, "0.5"},
        {10.5f, "10.5"},
        {0.00001f, "0.00001"},
        {0.000001f, "1e-06"},
        {3.4e-8f, "3.4e-08"},
        {100000000.0f, "100000000"},
        {1000000000.0f, "1e+09"},
        {123456789.0f, "123456790"},
        {16777216.0f, "16777216"},
        {1.0f / 3, "0.33333334"},
        {0x1p-12f, "0.00024414062"},
        {4193831.25f, "4193831.2"},
        {FLT_MAX, "3.4028235e+38"},
        {-FLT_MAX, "-3.4028235e+38"},
        {FLT_MIN, "1.1754944e-38"},
        {FLT_TRUE_MIN, "1e-45"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[NUM_FLOAT_BYTES];
        ck_assert_uint_eq(num_float(text, cases[i].value), strlen(cases[i].text));
        ck_assert_str_eq(text, cases[i].text);
    }
}

/* The digits of a number's text, without the zeros at either end. */
static int count_digits(const char *text)
{
    int count = 0;
    int zeros = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text < '0' || *text > '9' || (*text == '0' && count == 0))
            continue;
        count++;
        zeros = *text == '0' ? zeros + 1 : 0;
    }
    return count - zeros;
}

/* The fewest digits with which printf writes a text that is read as `value`. */
static int fewest_digits(float value, int from)
{
    char text[64];
    for (int count = from;; count++) {
        snprintf(text, sizeof text, "%.*e", count - 1, (double)value);
        if (strtof(text, NULL) == value)
            return count;
    }
}

/* Not with ck_assert, which writes to a file at each of a million calls. */
static void expect_read_back(float value)
{
    char text[NUM_FLOAT_BYTES];
    num_float(text, value);
    float back = strtof(text, NULL);
    if (memcmp(&back, &value, sizeof value) != 0)
        ck_abort_msg("%a is written as %s", (double)value, text);
}

static void expect_shortest(float value, int from)
{
    char text[NUM_FLOAT_BYTES];
    expect_read_back(value);
    num_float(text, value);
    if (count_digits(text) != fewest_digits(value, from))
        ck_abort_msg("%a is written as %s", (double)value, text);
}

static float float_of(uint32_t bits)
{
    float value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* If n digits are not enough, fewer are not enough either, except for powers of two, whose
 * neighbours have different distances. */
static int enough_to_try(float value)
{
    char text[NUM_FLOAT_BYTES];
    num_float(text, value);
    int count = count_digits(text);
    return count > 1 ? count - 1 : 1;
}

TEST(floats_of_every_sign_and_exponent_are_read_back_exactly)
{
    uint32_t tried = 0;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 2777) {
        float value = float_of((uint32_t)bits);
        if (!isfinite(value))
            continue;
        tried++;
        if (tried % 8)
            expect_read_back(value);
        else
            expect_shortest(value, enough_to_try(value));
    }
    ck_assert_uint_gt(tried, 1500000);
}

TEST(powers_of_two_are_written_in_the_fewest_digits)
{
    for (int power = -149; power < 128; power++)
        expect_shortest(ldexpf(1, power), 1);
}

/* A decimal of few digits may lie halfway between two floats; it is read as one of them. */
TEST(short_decimals_and_their_neighbours_are_written_in_the_fewest_digits)
{
    for (int power = -45; power < 39; power++) {
        for (int digits = 1; digits < 400; digits += 2) {
            char text[32];
            snprintf(text, sizeof text, "%de%d", digits, power);
            float value = strtof(text, NULL);
            if (value == 0 || nextafterf(value, INFINITY) > FLT_MAX)
                continue;
            expect_shortest(value, enough_to_try(value));
            expect_shortest(nextafterf(value, INFINITY), 1);
        }
    }
}

TEST(sizes_are_written_for_people)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},
        {1, "1 B"},
        {1023, "1023 B"},
        {1024, "1.0 KiB"},
        {1536, "1.5 KiB"},
        {1048524, "1023.9 KiB"},
        {1048575, "1.0 MiB"},
        {497759232, "474.7 MiB"},
        {(uint64_t)1 << 40, "1.0 TiB"},
        {UINT64_MAX, "16.0 EiB"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[NUM_SIZE_BYTES];
        ck_assert_str_eq(num_size(text, cases[i].bytes), cases[i].text);
    }
}

TEST(numbers_that_round_to_zero_have_no_sign)
{
    static const double values[] = {0,        -0.0, 0.004,  -0.004,  -0.00499,
                                    -0.00501, -0.4, -0.501, -0.0625, -1e-9,
                                    -5e-324,  0.06, -0.5,   -1,      1234.5};
    for (size_t i = 0; i < COUNT(values); i++)
        for (int decimals = 0; decimals <= 9; decimals++) {
            char text[64];
            char expected[64];
            snprintf(expected, sizeof expected, "%.*f", decimals, values[i]);
            if (*expected == '-' && strspn(expected, "-0.") == strlen(expected))
                memmove(expected, expected + 1, strlen(expected));
            snprintf(text, sizeof text, "%.*f", decimals, num_shown(values[i], decimals));
            ck_assert_str_eq(text, expected);
        }
}

TEST(a_share_is_drawn_in_eighths_of_a_column)
{
    static const struct {
        double share;
        const char *bar;
    } cases[] = {
        {0, "                "},         {1, "████████████████"},
        {0.5, "████████        "},       {0.687, "███████████     "},
        {0.68, "██████████▉     "},      {1.0 / 128, "▏               "},
        {0.4 / 128, "                "}, {127.0 / 128, "███████████████▉"},
        {-1, "                "},        {7, "████████████████"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char bar[BAR_BYTES];
        ck_assert_str_eq(bar_draw(bar, cases[i].share), cases[i].bar);
    }
}
