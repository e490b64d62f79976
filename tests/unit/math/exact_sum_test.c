#include "math/exact_sum.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/dice.h"

/* The judge: a number in units of 2^-149 as decimal-like digits, one bit each, added by hand. */
enum { BITS = 320 };

struct bits {
    unsigned char of[BITS]; /* the lowest first; two's complement */
};

static void add_at(struct bits *bits, size_t place, int carry)
{
    for (; carry && place < BITS; place++) {
        int sum = bits->of[place] + carry;
        bits->of[place] = (unsigned char)(sum & 1);
        carry = sum >> 1;
    }
}

static void subtract_at(struct bits *bits, size_t place)
{
    for (; place < BITS; place++) {
        bits->of[place] ^= 1;
        if (bits->of[place] == 0) /* it was 1: nothing is borrowed */
            return;
    }
}

/* Bit by bit: what is left of a number's size after its highest power of two is taken away. */
static void judge_add(struct bits *bits, double value)
{
    double rest = fabs(value);
    while (rest >= 0x1p-149) {
        int exponent = 0;
        frexp(rest, &exponent);
        size_t place = (size_t)(exponent - 1 + 149);
        if (value < 0)
            subtract_at(bits, place);
        else
            add_at(bits, place, 1);
        rest -= ldexp(1, exponent - 1);
    }
}

static void expect_judged(const struct exact_sum *sum, const struct bits *bits)
{
    for (size_t place = 0; place < BITS; place++)
        ck_assert_msg((sum->limbs[place / 64] >> place % 64 & 1) == bits->of[place],
                      "bit %zu is wrong", place);
}

static float any_float(uint32_t *state)
{
    float value;
    do {
        uint32_t bits = dice_bits(state) << 16 ^ dice_bits(state);
        memcpy(&value, &bits, sizeof value);
    } while (!isfinite(value));
    return value;
}

TEST(sums_are_those_of_big_integers)
{
    uint32_t state = 1;
    struct exact_sum sum = {0};
    struct bits judge = {0};
    for (int i = 0; i < 3000; i++) {
        float value = any_float(&state);
        exact_sum_add(&sum, value);
        judge_add(&judge, (double)value);
        if (i % 100 == 0)
            expect_judged(&sum, &judge);
    }
    expect_judged(&sum, &judge);
}

TEST(numbers_at_the_ends_of_the_range_are_exact)
{
    static const float values[] = {
        0,        -0.0f,        1,         -1,         FLT_MIN,          -FLT_MIN,
        FLT_MAX,  -FLT_MAX,     0x1p-149f, -0x1p-149f, 0x1.fffffcp-127f, FLT_EPSILON,
        0x1p-86f, 0x1p-85f,     0x1p-22f,  0x1.8p+42f, 0x1p+106f,        0x1.fffffep-86f,
        3e38f,    0x1.000002p0f};
    struct exact_sum sum = {0};
    struct bits judge = {0};
    for (int round = 0; round < 50; round++) {
        for (size_t i = 0; i < COUNT(values); i++) {
            exact_sum_add(&sum, values[i]);
            judge_add(&judge, (double)values[i]);
            expect_judged(&sum, &judge);
        }
    }
}

TEST(a_double_is_exact_down_to_the_unit)
{
    static const double values[] = {
        0.1,      -0.1,      1.0 / 3, 0x1.fffffffffffffp-97, 0x1.fffffffffffffp-98, -0x1.8p-149,
        0x1p-150, -0x1p-300, 5e-324,  0x1.fffffffffffffp127, -12345.678901234567,   0};
    struct exact_sum sum = {0};
    struct bits judge = {0};
    for (size_t i = 0; i < COUNT(values); i++) {
        exact_sum_add_double(&sum, values[i]);
        judge_add(&judge, values[i]);
        expect_judged(&sum, &judge);
    }
}

TEST(the_order_and_the_parts_do_not_matter)
{
    enum { VALUES = 1000, PARTS = 7 };
    static float values[VALUES];
    uint32_t state = 2;
    struct exact_sum forth = {0};
    struct exact_sum back = {0};
    struct exact_sum parts[PARTS] = {0};
    struct exact_sum merged = {0};
    for (size_t i = 0; i < VALUES; i++)
        values[i] = any_float(&state);
    for (size_t i = 0; i < VALUES; i++) {
        exact_sum_add(&forth, values[i]);
        exact_sum_add(&back, values[VALUES - 1 - i]);
        exact_sum_add(&parts[dice_bits(&state) % PARTS], values[i]);
    }
    for (size_t i = 0; i < PARTS; i++)
        exact_sum_merge(&merged, &parts[i]);
    ck_assert_mem_eq(&forth, &back, sizeof forth);
    ck_assert_mem_eq(&forth, &merged, sizeof forth);
}

TEST(what_is_added_and_taken_away_is_gone)
{
    uint32_t state = 3;
    struct exact_sum sum = {0};
    struct exact_sum nothing = {0};
    for (int i = 0; i < 1000; i++) {
        float value = any_float(&state);
        exact_sum_add(&sum, 1e-30f);
        exact_sum_add(&sum, value);
        exact_sum_add(&sum, -1e-30f);
        exact_sum_add(&sum, -value);
        ck_assert_mem_eq(&sum, &nothing, sizeof sum);
    }
}

TEST(the_value_is_the_nearest_double)
{
    static const struct {
        double parts[4];
        double value;
    } cases[] = {
        {{0}, 0},
        {{1}, 1},
        {{-1}, -1},
        {{0x1p-149}, 0x1p-149},
        {{0x1p127, 0x1p127}, 0x1p128},
        {{-0x1p127, -0x1p127, -0x1p127}, -0x1.8p128},
        {{1, 0x1p-52}, 1 + 0x1p-52},
        {{1, 0x1p-53}, 1},                     /* a tie goes to the even one … */
        {{1, 0x1p-52, 0x1p-53}, 1 + 0x1p-51},  /* … which may be above */
        {{1, 0x1p-53, 0x1p-149}, 1 + 0x1p-52}, /* the smallest unit decides */
        {{1, 0x1p-53, -0x1p-149}, 1},
        {{-1, -0x1p-53, -0x1p-149}, -1 - 0x1p-52},
        {{0x1p100, 0x1p47, 0x1p-149}, 0x1p100 + 0x1p48},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct exact_sum sum = {0};
        for (size_t k = 0; k < COUNT(cases[i].parts); k++)
            exact_sum_add_double(&sum, cases[i].parts[k]);
        ck_assert_msg(exact_sum_value(&sum) == cases[i].value, "case %zu: %a", i,
                      exact_sum_value(&sum));
    }
}

TEST(single_floats_come_back_as_they_were)
{
    uint32_t state = 4;
    for (int i = 0; i < 20000; i++) {
        float value = any_float(&state);
        struct exact_sum sum = {0};
        exact_sum_add(&sum, value);
        ck_assert(exact_sum_value(&sum) == (double)value);
    }
}

TEST(a_text_reads_back_to_the_same_sum)
{
    uint32_t state = 5;
    struct exact_sum sum = {0};
    char text[EXACT_SUM_BYTES];
    for (int i = 0; i < 2000; i++) {
        struct exact_sum back;
        size_t size = exact_sum_text(text, &sum);
        ck_assert_uint_eq(size, strlen(text));
        ck_assert(exact_sum_parse(&back, text, size));
        ck_assert_mem_eq(&sum, &back, sizeof sum);
        exact_sum_add(&sum, any_float(&state));
    }
}

TEST(texts_are_units_in_hexadecimal)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {0x1p-149, "1"},
        {-0x1.fp-145, "-1f"},
        {1, "20000000000000000000000000000000000000"},
        {-0x1p127, "-1000000000000000000000000000000000000000000000000000000000000000000000"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct exact_sum sum = {0};
        char text[EXACT_SUM_BYTES];
        exact_sum_add_double(&sum, cases[i].value);
        exact_sum_text(text, &sum);
        ck_assert_str_eq(text, cases[i].text);
    }
}

TEST(anything_else_is_no_text_of_a_sum)
{
    static const char *const texts[] = {
        "",    "-",
        "--1", "+1",
        " 1",  "1 ",
        "0x1", "1F",
        "g",   "1.0",
        "1\n", "111111111111111111111111111111111111111111111111111111111111111111111111111111111"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct exact_sum sum;
        ck_assert_msg(!exact_sum_parse(&sum, texts[i], strlen(texts[i])), "'%s'", texts[i]);
    }
}
