#include "base/buf.h"

#include <stdint.h>

#include "../unit.h"
#include "base/memory.h"

TEST(a_text_that_printf_cannot_write_is_an_error)
{
    struct buf buf = {0};
    buf_format(&buf, "%ls", L"\xFFFFFFF"); /* not a character */
    buf_text(&buf, "more");
    ck_assert_int_eq(buf_check(&buf, NULL), -1);
    ck_assert_ptr_null(buf.bytes);
    buf_release(&buf);
}

TEST(a_fill_that_overflows_adds_nothing)
{
    struct buf buf = {0};
    buf_repeat(&buf, "-", 1, 3);
    buf_repeat(&buf, "=", 1, 0);
    ck_assert_str_eq(buf.bytes, "---");
    buf_repeat(&buf, " ", 1, SIZE_MAX - 7);
    ck_assert_int_eq(buf_check(&buf, NULL), -1);
    ck_assert_str_eq(buf.bytes, "---");
    buf_release(&buf);
}

TEST(bytes_are_added_several_times)
{
    struct buf buf = {0};
    buf_text(&buf, "<");
    buf_repeat(&buf, "ab", 2, 5);
    buf_repeat(&buf, "c", 1, 1);
    buf_repeat(&buf, "d", 1, 0);
    buf_repeat(&buf, "", 0, 9);
    ck_assert_str_eq(buf.bytes, "<abababababc");
    ck_assert_uint_eq(buf.size, 12);
    buf_repeat(&buf, "ab", 2, SIZE_MAX);
    ck_assert_int_eq(buf_check(&buf, NULL), -1);
    buf_release(&buf);
}

TEST(a_megabyte_of_single_bytes_takes_few_allocations)
{
    struct buf buf = {0};
    heap_fail_at(20, 1);
    for (int i = 0; i < 1000000; i++)
        buf_char(&buf, (char)('0' + i % 10));
    heap_fail_at(0, 0);
    ck_assert_int_eq(buf_check(&buf, NULL), 0);
    ck_assert_uint_eq(buf.size, 1000000);
    ck_assert_str_eq(buf.bytes + 999990, "0123456789");
    buf_release(&buf);
}

TEST(the_first_addition_without_memory_marks_the_buffer)
{
    struct buf buf = {0};
    struct err err = {0};
    buf_text(&buf, "kept");
    heap_fail_at(1, 0);
    buf_format(&buf, "%*d", 999, 1);
    buf_text(&buf, "later");
    ck_assert_str_eq(buf.bytes, "kept");
    ck_assert_int_eq(buf_check(&buf, &err), -1);
    ck_assert_str_eq(err.text, "out of memory: cannot allocate 1024 bytes");
    buf_release(&buf);
}

TEST(a_size_that_overflows_is_refused)
{
    struct buf buf = {0};
    buf_text(&buf, "kept");
    buf_bytes(&buf, "", SIZE_MAX - 2);
    ck_assert_int_eq(buf_check(&buf, NULL), -1);
    ck_assert_str_eq(buf.bytes, "kept");
    buf_release(&buf);
    buf_bytes(&buf, "", SIZE_MAX);
    ck_assert_int_eq(buf_check(&buf, NULL), -1);
    buf_release(&buf);
}

TEST(buf_keep_copies_the_text_to_the_arena)
{
    struct arena arena = {0};
    struct buf buf = {0};
    ck_assert_str_eq(buf_keep(&buf, &arena, NULL), "");
    buf_text(&buf, "Life");
    ck_assert_str_eq(buf_keep(&buf, &arena, NULL), "Life");
    ck_assert_ptr_null(buf.bytes);
    heap_fail_at(1, 0);
    buf_text(&buf, "is");
    heap_fail_at(0, 0);
    ck_assert_ptr_null(buf_keep(&buf, &arena, NULL));
    ck_assert(!buf.out_of_memory);
    arena_release(&arena);
}
