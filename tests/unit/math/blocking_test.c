#include "math/blocking.h"

#include <stdbool.h>

#include "../unit.h"

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

TEST(parts_follow_each_other_and_have_the_sizes_they_should)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct blocking blocking = blocking_of(cases[i].size, cases[i].part, cases[i].first);
        size_t start = 0;
        ck_assert_uint_eq(blocking.count, cases[i].count);
        for (size_t part = 0; part < blocking.count; part++) {
            ck_assert_uint_eq(blocking_start(&blocking, part), start);
            ck_assert_uint_eq(blocking_size(&blocking, part), cases[i].sizes[part]);
            start += blocking_size(&blocking, part);
        }
        ck_assert_uint_eq(start, cases[i].size);
    }
}

TEST(each_part_has_the_size_that_its_kind_stands_for)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct blocking blocking = blocking_of(cases[i].size, cases[i].part, cases[i].first);
        bool seen[BLOCKING_KINDS] = {false};
        for (size_t part = 0; part < blocking.count; part++) {
            enum blocking_kind which = blocking_kind(&blocking, part);
            ck_assert_uint_eq(blocking_size_of(&blocking, which), blocking_size(&blocking, part));
            seen[which] = true;
        }
        for (int which = 0; which < BLOCKING_KINDS; which++)
            ck_assert(seen[which] == (blocking_size_of(&blocking, (enum blocking_kind)which) > 0));
    }
}
