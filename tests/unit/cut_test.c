#include "math/cut.h"

#include <check.h>
#include <stdbool.h>

Suite *cut_suite(void);

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct {
    size_t size, part, first;
    size_t count, sizes[6]; /* of the parts */
} cases[] = {
    {0, 4, 4, 0, {0}},
    {1, 4, 4, 1, {1}},
    {4, 4, 4, 1, {4}},
    {5, 4, 4, 2, {4, 1}},
    {8, 4, 4, 2, {4, 4}},
    {11, 4, 4, 3, {4, 4, 3}},
    {100, 32, 8, 4, {8, 32, 32, 28}},
    {8, 32, 8, 1, {8}},
    {9, 32, 8, 2, {8, 1}},
    {40, 32, 8, 2, {8, 32}},
    {5, 32, 8, 1, {5}},
    {3, 1, 1, 3, {1, 1, 1}},
};

START_TEST(parts_follow_each_other_and_have_the_sizes_they_should)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cut cut = cut_into(cases[i].size, cases[i].part, cases[i].first);
        size_t start = 0;
        ck_assert_uint_eq(cut.count, cases[i].count);
        for (size_t part = 0; part < cut.count; part++) {
            ck_assert_uint_eq(cut_start(&cut, part), start);
            ck_assert_uint_eq(cut_size(&cut, part), cases[i].sizes[part]);
            start += cut_size(&cut, part);
        }
        ck_assert_uint_eq(start, cases[i].size);
    }
}
END_TEST

START_TEST(each_part_has_the_size_that_its_kind_stands_for)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct cut cut = cut_into(cases[i].size, cases[i].part, cases[i].first);
        bool seen[CUT_SIZES] = {false};
        for (size_t part = 0; part < cut.count; part++) {
            enum cut_which which = cut_which(&cut, part);
            ck_assert_uint_eq(cut_size_of(&cut, which), cut_size(&cut, part));
            seen[which] = true;
        }
        for (int which = 0; which < CUT_SIZES; which++)
            ck_assert(seen[which] == (cut_size_of(&cut, (enum cut_which)which) > 0));
    }
}
END_TEST

Suite *cut_suite(void)
{
    Suite *suite = suite_create("cut");
    TCase *tests = tcase_create("cut");
    tcase_add_test(tests, parts_follow_each_other_and_have_the_sizes_they_should);
    tcase_add_test(tests, each_part_has_the_size_that_its_kind_stands_for);
    suite_add_tcase(suite, tests);
    return suite;
}
