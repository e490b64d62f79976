/* unit.h: tests that register themselves, with Check's assertions. The file x_test.c is the suite
 * x.
 *
 *     FIXTURE(scratch_enter, scratch_leave)
 *
 *     TEST(a_file_is_mapped_whole)
 *     {
 *         ck_assert_int_eq(...);
 *     }
 *
 * FIXTURE and SKIP_UNLESS apply to all tests below them in the file.
 */
#pragma once

#include <stdbool.h>

#include "rigs/asserts.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* A test; its name is a sentence. */
#define TEST(sentence) TEST_LOOP(sentence, 1)

/* A test that runs `count` times, each in its own process, with `_i` from 0. */
#define TEST_LOOP(sentence, count)                                                      \
    static void sentence(int);                                                          \
    static const TTest sentence##_test = {#sentence, sentence, __FILE__, __LINE__};     \
    UNIT_REGISTER(sentence##_register, .test = &sentence##_test, .times = (int)(count)) \
    static void sentence(int _i CK_ATTRIBUTE_UNUSED)

/* A test that exists only if the condition is true when the program starts. */
#define TEST_IF(sentence, condition) TEST_LOOP(sentence, (condition) ? 1 : 0)

/* Functions that are called before and after each test, in its process; either may be NULL.
 * Replaces the fixture above it. FIXTURE_ONCE: called once before and after all tests, in the
 * parent. */
#define FIXTURE(before, after)                                                                \
    UNIT_REGISTER(UNIT_NAME(__LINE__), .fixture = tcase_add_checked_fixture, .setup = before, \
                  .teardown = after)
#define FIXTURE_ONCE(before, after)                                                             \
    UNIT_REGISTER(UNIT_NAME(__LINE__), .fixture = tcase_add_unchecked_fixture, .setup = before, \
                  .teardown = after)

/* Skip the tests and print the reason unless the function returns true. */
#define SKIP_UNLESS(function, reason) \
    UNIT_REGISTER(UNIT_NAME(__LINE__), .wanted = function, .unwanted_because = reason)

/* One of the macros above in a file. */
struct unit_item {
    const char *file;
    int line;
    const TTest *test;
    int times;
    void (*fixture)(TCase *tests, SFun setup, SFun teardown);
    SFun setup, teardown;
    bool (*wanted)(void);
    const char *unwanted_because;
};

/* The item is copied. */
void unit_register(const struct unit_item *item);

#define UNIT_REGISTER(name, ...)                                                             \
    __attribute__((constructor)) static void name(void)                                      \
    {                                                                                        \
        unit_register(&(struct unit_item){.file = __FILE__, .line = __LINE__, __VA_ARGS__}); \
    }
#define UNIT_NAME(line) UNIT_PASTE(unit_line_, line)
#define UNIT_PASTE(a, b) a##b
