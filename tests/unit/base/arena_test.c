#include "base/arena.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unit.h"
#include "base/heap.h"

enum { LARGE_BYTES = 1000000 };

TEST(pieces_are_zero_aligned_and_apart)
{
    static const char zeros[3000];
    struct arena arena = {0};
    for (size_t size = 0; size < sizeof zeros; size += 7) {
        char *piece = arena_alloc(&arena, size, 1, NULL);
        ck_assert_ptr_nonnull(piece);
        ck_assert_uint_eq((uintptr_t)piece % ARENA_ALIGN_BYTES, 0);
        ck_assert_mem_eq(piece, zeros, size);
        memset(piece, 0xff, size);
    }
    arena_release(&arena);
}

TEST(a_large_piece_leaves_the_block_in_use)
{
    struct arena arena = {0};
    char *first = arena_alloc(&arena, 1, 1, NULL);
    char *large = arena_alloc(&arena, LARGE_BYTES, 1, NULL);
    char *second = arena_alloc(&arena, 1, 1, NULL);
    ck_assert_ptr_nonnull(large);
    ck_assert_uint_eq((uintptr_t)large % ARENA_ALIGN_BYTES, 0);
    memset(large, 0xff, LARGE_BYTES);
    ck_assert_ptr_eq(second, first + ARENA_ALIGN_BYTES);
    ck_assert_int_eq(*second, 0);
    arena_release(&arena);
}

TEST(an_arena_may_begin_with_a_large_piece)
{
    struct arena arena = {0};
    char *large = arena_alloc(&arena, LARGE_BYTES, 1, NULL);
    char *small = arena_alloc(&arena, 1, 1, NULL);
    ck_assert_ptr_nonnull(large);
    ck_assert(small < large || small >= large + LARGE_BYTES);
    arena_release(&arena);
}

TEST(what_is_expected_stands_in_one_block_from_a_large_page_on)
{
    enum { LARGE_PAGE = 1 << 21 };
    struct arena arena = {0};
    arena_expect(&arena, LARGE_PAGE + 1);
    char *first = arena_alloc(&arena, LARGE_PAGE, 1, NULL);
    char *second = arena_alloc(&arena, LARGE_PAGE, 1, NULL);
    ck_assert_uint_eq((uintptr_t)first % LARGE_PAGE, 0);
    ck_assert_ptr_eq(second, first + LARGE_PAGE);
    ck_assert_int_eq(second[LARGE_PAGE - 1], 0);
    arena_release(&arena);
}

TEST(what_was_taken_is_counted)
{
    struct arena arena = {0};
    arena_alloc(&arena, 10, 4, NULL);
    arena_alloc(&arena, 65, 1, NULL);
    ck_assert_uint_eq(arena.taken_bytes, 64 + 128);
    arena_release(&arena);
    ck_assert_uint_eq(arena.taken_bytes, 0);
}

TEST(a_text_is_copied_with_a_0_behind_it)
{
    struct arena arena = {0};
    const char *copy = arena_text(&arena, "wordless", 4, NULL);
    ck_assert_str_eq(copy, "word");
    ck_assert_str_eq(arena_text(&arena, NULL, 0, NULL), "");
    arena_release(&arena);
}

TEST(a_released_arena_can_be_used_again)
{
    struct arena arena = {0};
    arena_release(&arena);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 8, 8, NULL));
    arena_release(&arena);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 8, 8, NULL));
    arena_release(&arena);
}

TEST(a_cleared_arena_hands_out_the_same_memory_zeroed)
{
    static const char zeros[1000];
    struct arena arena = {0};
    char *first = arena_alloc(&arena, 600, 1, NULL);
    memset(first, 0xff, 600);
    arena_clear(&arena);
    ck_assert_uint_eq(arena.taken_bytes, 0);
    struct arena_block *block = arena.newest;
    char *small = arena_alloc(&arena, 64, 1, NULL);
    char *again = arena_alloc(&arena, 1000, 1, NULL); /* partly fresh */
    ck_assert_ptr_eq(arena.newest, block);
    ck_assert_ptr_eq(small, first);
    ck_assert_mem_eq(small, zeros, 64);
    ck_assert_mem_eq(again, zeros, 1000);
    arena_release(&arena);
}

TEST(a_cleared_arena_soon_takes_nothing_from_the_heap)
{
    struct arena arena = {0};
    struct arena_block *block = NULL;
    for (int round = 0; round < 4; round++) {
        for (size_t size = 1; size <= LARGE_BYTES; size *= 10) {
            char *piece = arena_alloc(&arena, size, 1, NULL);
            ck_assert_ptr_nonnull(piece);
            ck_assert_int_eq(piece[0] | piece[size / 2] | piece[size - 1], 0);
            memset(piece, 0xff, size);
        }
        if (round == 1) /* the first found how much it takes, this one had it in one */
            block = arena.newest;
        ck_assert(round == 0 || arena.newest == block);
        arena_clear(&arena);
    }
    arena_release(&arena);
}

TEST(a_piece_of_a_block_that_is_there_can_be_made_to_fail)
{
    struct arena arena = {0};
    struct err err = {0};
    char *first = arena_alloc(&arena, 16, 1, NULL);
    heap_fail_at(2, 0);
    char *second = arena_alloc(&arena, 16, 1, &err);
    ck_assert_ptr_null(arena_alloc(&arena, 16, 1, &err));
    heap_fail_at(0, 0);
    ck_assert_str_eq(err.text, "out of memory: 64 bytes more could not be had");
    ck_assert_ptr_eq(arena_alloc(&arena, 16, 1, NULL), second + (second - first));
    arena_release(&arena);
}

TEST(room_is_the_memory_as_it_was_left)
{
    struct arena arena = {0};
    char *first = arena_room(&arena, 100, 1, NULL);
    memset(first, 'x', 100);
    arena_clear(&arena);
    char *again = arena_room(&arena, 50, 2, NULL);
    ck_assert_ptr_eq(again, first);
    ck_assert_int_eq(again[0] & again[99], 'x');
    ck_assert_uint_eq(arena.taken_bytes, 128);
    ck_assert_ptr_null(arena_room(&arena, SIZE_MAX, 2, NULL));
    arena_release(&arena);
}

TEST(an_array_grows_by_one_and_keeps_what_it_has)
{
    struct arena arena = {0};
    int *numbers = NULL;
    size_t moves = 0;
    for (size_t count = 0; count < 100; count++) {
        int *grown = arena_grow(&arena, numbers, count, sizeof *numbers, NULL);
        ck_assert_ptr_nonnull(grown);
        moves += grown != numbers;
        numbers = grown;
        for (size_t i = 0; i < count; i++)
            ck_assert_int_eq(numbers[i], (int)i);
        numbers[count] = (int)count;
    }
    ck_assert_uint_eq(moves, 8); /* 1, 2, 4, … 128 */
    arena_release(&arena);
}

TEST(an_empty_arena_may_be_cleared)
{
    struct arena arena = {0};
    arena_clear(&arena);
    ck_assert_ptr_nonnull(arena_alloc(&arena, 8, 8, NULL));
    arena_release(&arena);
}

TEST(a_size_that_overflows_is_refused)
{
    static const size_t counts[] = {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 8 - 4, SIZE_MAX - 96};
    static const size_t sizes[] = {1, 3, 8, 1};
    struct arena arena = {0};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct err err = {0};
        ck_assert_ptr_null(arena_alloc(&arena, counts[i], sizes[i], &err));
        ck_assert_msg(strncmp(err.text, "out of memory: 184467440737095", 30) == 0, "%s", err.text);
    }
    ck_assert_ptr_null(arena_text(&arena, "", SIZE_MAX, NULL));
    arena_release(&arena);
}

TEST(an_allocation_that_fails_leaves_the_arena_as_it_was)
{
    struct arena arena = {0};
    struct err err = {0};
    heap_fail_at(1, 0);
    ck_assert_ptr_null(arena_alloc(&arena, 8, 1, &err));
    ck_assert_int_eq(strncmp(err.text, "out of memory: ", 15), 0);
    char *text = arena_text(&arena, "kept", 4, NULL);
    heap_fail_at(1, 0);
    ck_assert_ptr_null(arena_text(&arena, text, LARGE_BYTES, NULL));
    ck_assert_str_eq(text, "kept");
    ck_assert_uint_eq(arena.taken_bytes, 64);
    arena_release(&arena);
}

/* --- leaks: what unit_main.c leaves to a sanitizer -------------------------------------------- */

__attribute__((weak)) void __lsan_do_leak_check(void);

/* The status of a process that is made in a test and ends, with pieces of memory that nothing
 * points to; a register may still have the last one's address. */
static int status_with(size_t lost_count)
{
    int status = 0;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        char *volatile lost = NULL;
        for (size_t i = 0; i < lost_count; i++)
            lost = calloc(1, 1);
        lost = NULL;
        (void)lost;
        if (dup2(open("/dev/null", O_WRONLY), STDERR_FILENO) < 0)
            _exit(2);
        exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    return status;
}

TEST(a_leak_is_seen_where_a_sanitizer_looks)
{
    ck_assert_int_eq(status_with(0), 0);
    if (__lsan_do_leak_check)
        ck_assert_int_ne(status_with(16), 0);
}
