#include "base/num.h"

#include "../unit.h"

TEST(large_numbers_have_three_digits)
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
        ck_assert_str_eq(bar_draw(bar, cases[i].share, BAR_COLUMNS), cases[i].bar);
    }
}

TEST(median_is_the_middle_value_or_the_mean_of_two)
{
    static const struct {
        size_t count;
        double values[6];
        double expected;
    } cases[] = {
        {1, {7}, 7},
        {2, {7, 1}, 4},
        {3, {9, 1, 2}, 2},
        {4, {9, 1, 2, 4}, 3},
        {5, {1e9, 5, 5, 4, -1e9}, 5},
        {6, {6, 5, 4, 3, 2, 1}, 3.5},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        double sorted[6];
        double found = median(cases[i].values, sizeof(double), cases[i].count, sorted);
        ck_assert_double_eq(found, cases[i].expected);
    }
}

TEST(median_of_one_member_leaves_the_array_unchanged)
{
    static const struct row {
        double other, value;
    } rows[] = {{100, 3}, {200, 1}, {300, 2}};
    double sorted[3];
    ck_assert_double_eq(median(&rows[0].value, sizeof *rows, 3, sorted), 2);
    ck_assert_double_eq(median(&rows[0].other, sizeof *rows, 3, sorted), 200);
    ck_assert_double_eq(rows[0].value, 3);
}
