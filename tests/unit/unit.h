/* unit.h: Check's assertions, and tests that register themselves; a file x_test.c is the suite x.
 *
 *     FIXTURE(scratch_enter, scratch_leave)
 *
 *     TEST(a_file_is_mapped_whole)
 *     {
 *         ck_assert_int_eq(...);
 *     }
 *
 * FIXTURE and SKIP_UNLESS go for all tests below them in their file.
 */
#ifndef ATTN_TESTS_UNIT_H
#define ATTN_TESTS_UNIT_H

#include <check.h>
#include <stdbool.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* A test; its name is a sentence. */
#define TEST(sentence) TEST_LOOP(sentence, 1)

/* The same so many times, each a process and a case of its own; `_i` counts from 0. */
#define TEST_LOOP(sentence, count)                                                      \
    static void sentence(int);                                                          \
    static const TTest sentence##_test = {#sentence, sentence, __FILE__, __LINE__};     \
    UNIT_REGISTER(sentence##_register, .test = &sentence##_test, .times = (int)(count)) \
    static void sentence(int _i CK_ATTRIBUTE_UNUSED)

/* A test that is there only where the condition holds when the program starts. */
#define TEST_IF(sentence, condition) TEST_LOOP(sentence, (condition) ? 1 : 0)

/* What is called before and after each test, in its process; either may be NULL. It takes the place
 * of the fixture above it. FIXTURE_ONCE: once before and after all of them, in the parent. */
#define FIXTURE(before, after)                                                                \
    UNIT_REGISTER(UNIT_NAME(__LINE__), .fixture = tcase_add_checked_fixture, .setup = before, \
                  .teardown = after)
#define FIXTURE_ONCE(before, after)                                                             \
    UNIT_REGISTER(UNIT_NAME(__LINE__), .fixture = tcase_add_unchecked_fixture, .setup = before, \
                  .teardown = after)

/* Unless the function returns true, the tests are left out, and the reason is printed. */
#define SKIP_UNLESS(function, reason) \
    UNIT_REGISTER(UNIT_NAME(__LINE__), .wanted = function, .unwanted_because = reason)

/* What one line of a file says. */
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

#endif
