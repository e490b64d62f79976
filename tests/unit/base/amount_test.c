#include "base/amount.h"

#include "../unit.h"

TEST(three_digits_say_enough)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0.000 B"},    {0.31234, "0.312 B"}, {1.234, "1.23 B"},
                 {17.25, "17.2 B"}, {251.4, "251 B"},     {12345, "12345 B"}};
    char text[AMOUNT_BYTES];
    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_str_eq(amount_write(text, cases[i].value, "B"), cases[i].text);
}

TEST(times_take_the_unit_that_suits_them)
{
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {{4.5e-7, "0.450 µs"}, {9.9e-5, "99.0 µs"}, {1e-4, "0.100 ms"},
                 {0.0172, "17.2 ms"},  {0.9, "900 ms"},     {1.5, "1.50 s"}};
    char text[AMOUNT_BYTES];
    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_str_eq(amount_seconds(text, cases[i].seconds), cases[i].text);
}
