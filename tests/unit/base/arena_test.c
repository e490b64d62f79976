#include "base/memory.h"

#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

#include "../unit.h"

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

TEST(expected_bytes_are_one_block_aligned_to_a_large_page)
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
        if (round == 1) /* the second round has one block of the size that the first needed */
            block = arena.newest;
        ck_assert(round == 0 || arena.newest == block);
        arena_clear(&arena);
    }
    arena_release(&arena);
}

TEST(arena_room_does_not_zero_memory)
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

TEST(an_array_grows_by_one_and_keeps_its_elements)
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

TEST(a_size_that_overflows_is_refused)
{
    static const size_t counts[] = {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 8 - 4, SIZE_MAX - 96};
    static const size_t sizes[] = {1, 3, 8, 1};
    struct arena arena = {0};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct err err = {0};
        ck_assert_ptr_null(arena_alloc(&arena, counts[i], sizes[i], &err));
        ck_assert_msg(strstr(err.text, "cannot allocate 184467440737095"), "%s", err.text);
    }
    ck_assert_ptr_null(arena_text(&arena, "", SIZE_MAX, NULL));
    arena_release(&arena);
}

TEST(a_failed_allocation_leaves_the_arena_unchanged)
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

/* --- leaks that unit_main.c leaves to a sanitizer --------------------------------------------- */

__attribute__((weak)) void __lsan_do_leak_check(void);
