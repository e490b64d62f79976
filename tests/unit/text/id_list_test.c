#include "text/token_list.h"

#include <string.h>

#include "../unit.h"

static struct id_list list_of(const char *text, size_t limit)
{
    return (struct id_list){.at = text, .end = text + strlen(text), .limit = limit};
}

TEST(ids_are_separated_by_white_space_or_commas)
{
    static const struct {
        const char *text;
        size_t count;
        uint32_t ids[4];
    } cases[] = {
        {"", 0, {0}},
        {" \n,", 0, {0}},
        {"15496 995\n", 2, {15496, 995}},
        {"15496,995", 2, {15496, 995}},
        {" 1,\t2\r\n3  0007", 4, {1, 2, 3, 7}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct id_list list = list_of(cases[i].text, 50257);
        uint32_t id = 0;
        for (size_t n = 0; n < cases[i].count; n++) {
            ck_assert(id_list_next(&list, &id, NULL));
            ck_assert_uint_eq(id, cases[i].ids[n]);
        }
        ck_assert(!id_list_next(&list, &id, NULL));
        ck_assert(!list.failed);
        ck_assert_uint_eq(list.count, cases[i].count);
    }
}

TEST(invalid_ids_are_named_with_the_range)
{
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"1 10", "id 2 of the list: expected a whole number from 0 to 9, found '10'"},
        {"-1", "id 1 of the list: expected a whole number from 0 to 9, found '-1'"},
        {"1 3x 4", "id 2 of the list: expected a whole number from 0 to 9, found '3x'"},
        {"[1,2]", "id 1 of the list: expected a whole number from 0 to 9, found '[1'"},
        {"99999999999999999999999", "id 1 of the list: expected a whole number from 0 to 9, found "
                                    "'99999999999999999999999'"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct id_list list = list_of(cases[i].text, 10);
        struct err err = {0};
        uint32_t id = 0;
        while (id_list_next(&list, &id, &err))
            ck_assert_uint_lt(id, 10);
        ck_assert(list.failed);
        ck_assert_str_eq(err.text, cases[i].message);
        ck_assert_int_eq(err.kind, ERR_USAGE);
        ck_assert(!id_list_next(&list, &id, &err));
    }
}

TEST(ids_have_at_most_32_bits)
{
    struct id_list list = list_of("4294967295 4294967296", SIZE_MAX);
    uint32_t id = 0;
    ck_assert(id_list_next(&list, &id, NULL));
    ck_assert_uint_eq(id, UINT32_MAX);
    ck_assert(!id_list_next(&list, &id, NULL));
    ck_assert(list.failed);
}
