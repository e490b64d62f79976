#include "text/token_list.h"

#include <string.h>

#include "../rigs/starve.h"
#include "../unit.h"
#include "base/memory.h"

enum { MANY = 2 * TOKEN_PORTION + 10 };

/* The calls of a sink. */
struct taken {
    size_t count;
    size_t portions;
    size_t fail_at; /* the portion to refuse, from 1; 0: none */
};

static int take(void *context, const struct token *tokens, size_t count, struct err *err)
{
    struct taken *taken = context;
    ck_assert_uint_ge(count, 1);
    ck_assert_uint_le(count, TOKEN_PORTION);
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_eq(tokens[i].id, taken->count + i);
    taken->count += count;
    taken->portions++;
    return taken->portions == taken->fail_at ? err_set(err, "no more") : 0;
}

static int add(struct token_list *list, size_t count, struct err *err)
{
    for (uint32_t i = 0; i < count; i++)
        if (token_list_add(list, (struct token){i, false, i, i + 1}, err))
            return -1;
    return 0;
}

TEST(all_tokens_and_counts_of_dropped_characters_are_kept)
{
    static const size_t counts[] = {0, 1, 64, 65, MANY};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct token_list list = {.dropped_count = i % 3, .dropped_first = {.start = 4, .end = 5}};
        struct arena arena = {0};
        struct tokens tokens = {0};
        ck_assert_int_eq(add(&list, counts[i], NULL), 0);
        ck_assert_int_eq(token_list_keep(&list, &tokens, &arena, NULL), 0);
        token_list_release(&list);
        ck_assert_uint_eq(tokens.count, counts[i]);
        for (size_t n = 0; n < tokens.count; n++)
            ck_assert_uint_eq(tokens.items[n].id, n);
        ck_assert_uint_eq(tokens.dropped_count, i % 3);
        ck_assert(i % 3 ? tokens.dropped_first->start == 4 : !tokens.dropped_first);
        arena_release(&arena);
    }
}

TEST(a_sink_gets_portions_in_order)
{
    struct taken taken = {0};
    struct token_sink sink = {take, &taken};
    struct token_list list = {.sink = &sink};
    ck_assert_int_eq(add(&list, MANY, NULL), 0);
    ck_assert_uint_eq(taken.count, 2 * TOKEN_PORTION);
    ck_assert_int_eq(token_list_flush(&list, NULL), 0);
    ck_assert_uint_eq(taken.count, MANY);
    ck_assert_uint_eq(taken.portions, 3);
    ck_assert_int_eq(token_list_flush(&list, NULL), 0);
    ck_assert_uint_eq(taken.portions, 3);
    ck_assert_uint_le(list.capacity, TOKEN_PORTION);
    token_list_release(&list);
}

TEST(an_error_of_the_sink_is_returned)
{
    struct taken taken = {.fail_at = 2};
    struct token_sink sink = {take, &taken};
    struct token_list list = {.sink = &sink};
    struct err err = {0};
    ck_assert_int_eq(add(&list, MANY, &err), -1);
    ck_assert_str_eq(err.text, "no more");
    ck_assert_uint_eq(taken.count, 2 * TOKEN_PORTION);
    token_list_release(&list);
}

TEST(a_failed_allocation_is_an_error)
{
    struct starve starve = {.least = 3};
    while (starve_next(&starve)) {
        struct token_list list = {.dropped_count = 1};
        struct arena arena = {0};
        struct tokens tokens = {0};
        struct err err = {0};
        int failed = add(&list, 100, &err) || token_list_keep(&list, &tokens, &arena, &err);
        starve_check(&starve, failed, &err);
        token_list_release(&list);
        arena_release(&arena);
    }
}
