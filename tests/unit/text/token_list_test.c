#include "text/token_list.h"

#include <string.h>

#include "../unit.h"
#include "base/heap.h"

enum { MANY = 8202 };

static int add(struct token_list *list, size_t count, struct err *err)
{
    for (uint32_t i = 0; i < count; i++)
        if (token_list_add(list, (struct token){i, i, i + 1}, err))
            return -1;
    return 0;
}

TEST(all_tokens_are_kept)
{
    static const size_t counts[] = {0, 1, 64, 65, MANY};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct token_list list = {0};
        struct arena arena = {0};
        struct tokens tokens = {0};
        ck_assert_int_eq(add(&list, counts[i], NULL), 0);
        ck_assert_int_eq(token_list_keep(&list, &tokens, &arena, NULL), 0);
        token_list_release(&list);
        ck_assert_uint_eq(tokens.count, counts[i]);
        for (size_t n = 0; n < tokens.count; n++)
            ck_assert_uint_eq(tokens.items[n].id, n);
        ck_assert_uint_eq(tokens.dropped_count, 0);
        ck_assert_ptr_null(tokens.dropped_first);
        arena_release(&arena);
    }
}

TEST(what_was_dropped_is_kept_too)
{
    struct token_list list = {.dropped_count = 2, .dropped_first = {.start = 4, .end = 5}};
    struct arena arena = {0};
    struct tokens tokens = {0};
    ck_assert_int_eq(token_list_keep(&list, &tokens, &arena, NULL), 0);
    ck_assert_uint_eq(tokens.dropped_count, 2);
    ck_assert_uint_eq(tokens.dropped_first->start, 4);
    token_list_release(&list);
    arena_release(&arena);
}

TEST(an_allocation_that_fails_is_an_error)
{
    size_t nth = 1;
    for (;; nth++) {
        struct token_list list = {.dropped_count = 1};
        struct arena arena = {0};
        struct tokens tokens = {0};
        struct err err = {0};
        heap_fail_at(nth, 0);
        int failed = add(&list, 100, &err) || token_list_keep(&list, &tokens, &arena, &err);
        heap_fail_at(0, 0);
        token_list_release(&list);
        arena_release(&arena);
        if (!failed)
            break;
        ck_assert_ptr_nonnull(strstr(err.text, "out of memory: "));
    }
    ck_assert_uint_gt(nth, 3);
}
