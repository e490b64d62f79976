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

TEST(ids_have_at_most_32_bits)
{
    struct id_list list = list_of("4294967295 4294967296", SIZE_MAX);
    uint32_t id = 0;
    ck_assert(id_list_next(&list, &id, NULL));
    ck_assert_uint_eq(id, UINT32_MAX);
    ck_assert(!id_list_next(&list, &id, NULL));
    ck_assert(list.failed);
}

TEST(a_list_of_ids_is_read)
{
    static const struct {
        const char *list;
        size_t count;
        uint32_t ids[4];
    } cases[] = {
        {"0", 1, {0}},
        {"3,1,4", 3, {3, 1, 4}},
        {" 3 , 1\t,4\n", 3, {3, 1, 4}},
        {"9,9,9,9", 4, {9, 9, 9, 9}},
        {"007", 1, {7}},
        {"3 1  4", 3, {3, 1, 4}},
        {"3\t1, 4 9\n", 4, {3, 1, 4, 9}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct arena arena = {0};
        struct tokens tokens = {0};
        ck_assert_int_eq(tokens_from_ids(&tokens, cases[i].list, 10, &arena, NULL), 0);
        ck_assert_uint_eq(tokens.count, cases[i].count);
        for (size_t n = 0; n < tokens.count; n++) {
            ck_assert_uint_eq(tokens.items[n].id, cases[i].ids[n]);
            ck_assert_uint_eq(tokens.items[n].start, 0);
            ck_assert_uint_eq(tokens.items[n].end, 0);
        }
        ck_assert_uint_eq(tokens.dropped_count, 0);
        arena_release(&arena);
    }
}
