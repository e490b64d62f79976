#include "out/typing.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "base/heap.h"
#include "memory_stream.h"

Suite *typing_suite(void);

/* Pieces with tildes between them; what stands in the stream behind each but the last, then at the
 * end of all. */
struct typed {
    const char *pieces;
    const char *shown;
    bool to_people;
};

static void type(const struct typed *typed)
{
    struct stream out = {0};
    memory_stream_open(&out);
    struct typing typing = {.out = &out, .to_people = typed->to_people};
    for (const char *at = typed->pieces; *at;) {
        size_t size = strcspn(at, "~");
        typing_add(&typing, at, size);
        ck_assert_uint_eq(out.used, 0); /* nothing waits in the stream */
        at += size + (at[size] == '~');
    }
    typing_end(&typing);
    struct file written = memory_stream_take(&out);
    ck_assert_msg(written.size == strlen(typed->shown) &&
                      memcmp(written.bytes, typed->shown, written.size) == 0,
                  "expected '%s', found '%.*s'", typed->shown, (int)written.size, written.bytes);
    file_release(&written);
}

START_TEST(programs_get_every_byte)
{
    static const struct typed cases[] = {
        {"Life~ is~ short", "Life is short", false},
        {"\x1b[2J~\xf0\x9f~\x8d~\xb0~\xff", "\x1b[2J\xf0\x9f\x8d\xb0\xff", false},
        {"", "", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        type(&cases[i]);
}
END_TEST

START_TEST(people_see_characters)
{
    static const struct typed cases[] = {
        {"Life~ is~ short,\n\tfirst ", "Life is short,\n\tfirst ", true},
        {"\x1b[2J~a\rb", "\\x1b[2Ja\\x0db", true},
        {"\xe7\x88~\xb1", "爱", true},
        {"\xf0~\x9f~\x8d~\xb0", "🍰", true},
        {"a\xf0\x9f~\x8d\xb0"
         "b",
         "a🍰b", true},
        {"caf\xc3", "caf\\xc3", true}, /* the rest never came */
        {"\xc3~x", "\\xc3x", true},
        {"\x80\x80\x80\x80~\xff~\xfe", "\\x80\\x80\\x80\\x80\\xff\\xfe", true},
        {"\xe2\x80\xae~right to left", "\\xe2\\x80\\xaeright to left", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        type(&cases[i]);
}
END_TEST

START_TEST(a_character_comes_as_soon_as_it_is_whole)
{
    struct stream out = {0};
    memory_stream_open(&out);
    struct typing typing = {.out = &out, .to_people = true};
    static const char cake[] = "\xf0\x9f\x8d\xb0";
    for (size_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(out.written_bytes, 0);
        typing_add(&typing, cake + i, 1);
    }
    ck_assert_uint_eq(out.written_bytes, 4);
    stream_discard(&out);
}
END_TEST

START_TEST(without_memory_the_stream_fails)
{
    for (size_t nth = 1; nth <= 2; nth++) {
        struct stream out = {0};
        memory_stream_open(&out);
        struct typing typing = {.out = &out, .to_people = true};
        heap_fail_at(nth, 0);
        typing_add(&typing, "Life", 4);
        heap_fail_at(0, 0);
        ck_assert_int_eq(out.failure, ENOMEM);
        stream_discard(&out);
    }
}
END_TEST

Suite *typing_suite(void)
{
    Suite *suite = suite_create("typing");
    TCase *tests = tcase_create("typing");
    tcase_add_test(tests, programs_get_every_byte);
    tcase_add_test(tests, people_see_characters);
    tcase_add_test(tests, a_character_comes_as_soon_as_it_is_whole);
    tcase_add_test(tests, without_memory_the_stream_fails);
    suite_add_tcase(suite, tests);
    return suite;
}
