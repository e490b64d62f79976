#include "base/amount.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/memory_stream.h"

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

TEST(columns_are_counted_as_they_are_seen)
{
    struct stream out = {0};
    memory_stream_open(&out);
    amount_right(&out, "1 µs", 6);
    amount_right(&out, "too wide", 3);
    struct file file = memory_stream_take(&out);
    ck_assert_uint_eq(file.size, strlen("  1 µstoo wide"));
    ck_assert_mem_eq(file.bytes, "  1 µstoo wide", file.size);
    file_release(&file);
}
