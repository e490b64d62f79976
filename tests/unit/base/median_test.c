#include "base/amount.h"

#include "../unit.h"

TEST(the_middle_one_is_found_or_the_mean_of_two)
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

TEST(it_is_that_of_one_member_and_moves_nothing)
{
    static const struct row {
        double other, value;
    } rows[] = {{100, 3}, {200, 1}, {300, 2}};
    double sorted[3];
    ck_assert_double_eq(median(&rows[0].value, sizeof *rows, 3, sorted), 2);
    ck_assert_double_eq(median(&rows[0].other, sizeof *rows, 3, sorted), 200);
    ck_assert_double_eq(rows[0].value, 3);
}
