#include "base/err.h"

#include <string.h>

#include "../unit.h"

TEST(the_first_message_stays)
{
    struct err err = {0};
    err_output(&err, "the cause");
    ck_assert_int_eq(err_set(&err, "the consequence"), -1);
    ck_assert_str_eq(err.text, "the cause");
    ck_assert_int_eq(err.kind, ERR_OUTPUT);
}

TEST(a_prefix_precedes_the_message)
{
    struct err err = {0};
    err_usage(&err, "expected 3, found 4");
    ck_assert_int_eq(err_prefix(&err, "tensor '%s'", "wte"), -1);
    ck_assert_int_eq(err_prefix(&err, "'%s'", "model"), -1);
    ck_assert_str_eq(err.text, "'model': tensor 'wte': expected 3, found 4");
    ck_assert_int_eq(err.kind, ERR_USAGE);
}

TEST(a_prefix_that_cannot_be_written_leaves_the_message)
{
    struct err err = {0};
    err_set(&err, "expected 4");
    ck_assert_int_eq(err_prefix(&err, "%ls", L"\xd800"), -1); /* half a character */
    ck_assert_str_eq(err.text, "expected 4");
}

TEST(a_prefix_without_a_message_is_ignored)
{
    struct err err = {0};
    ck_assert_int_eq(err_prefix(&err, "'%s'", "model"), -1);
    ck_assert_int_eq(err.kind, ERR_NONE);
    ck_assert_str_eq(err.text, "");
    ck_assert_int_eq(err_prefix(NULL, "'%s'", "model"), -1);
}

TEST(err_adopt_copies_a_message_unless_there_is_one)
{
    struct err part = {0};
    struct err err = {0};
    err_memory(&part, 7);
    ck_assert_int_eq(err_adopt(&err, &part), -1);
    ck_assert(err.out_of_memory);
    ck_assert_int_eq(err.kind, ERR_INPUT);
    err_clear(&part);
    err_usage(&part, "another");
    ck_assert_int_eq(err_adopt(&err, &part), -1);
    ck_assert_str_eq(err.text, "out of memory: cannot allocate 7 bytes");
    ck_assert_int_eq(err_adopt(NULL, &part), -1);
}

TEST(only_a_message_that_is_too_long_is_truncated)
{
    static char text[ERR_TEXT_BYTES + 1];
    struct err err = {0};
    memset(text, 'x', ERR_TEXT_BYTES);
    err_set(&err, "%s", text);
    ck_assert_uint_eq(strlen(err.text), ERR_TEXT_BYTES - 1);
    ck_assert_str_eq(err.text + ERR_TEXT_BYTES - 5, "x...");

    err_clear(&err);
    text[ERR_TEXT_BYTES - 1] = '\0';
    err_set(&err, "%s", text);
    ck_assert_str_eq(err.text, text);
}

TEST(a_message_is_not_truncated_inside_a_character)
{
    for (size_t head = 0; head < 3; head++) {
        static char text[ERR_TEXT_BYTES + 3];
        struct err err = {0};
        memset(text, 'x', head);
        for (size_t at = head; at < ERR_TEXT_BYTES; at += 3)
            memcpy(text + at, "爱", 4);
        err_set(&err, "%s", text);
        size_t size = strlen(err.text);
        ck_assert_uint_ge(size, ERR_TEXT_BYTES - 3);
        ck_assert_uint_eq((size - 3 - head) % 3, 0);
        ck_assert_str_eq(err.text + size - 3, "...");
    }
}

TEST(a_message_that_is_too_long_with_its_prefix_is_truncated)
{
    static char text[ERR_TEXT_BYTES];
    struct err err = {0};
    memset(text, 'x', ERR_TEXT_BYTES - 4);
    err_set(&err, "%s", text);
    err_prefix(&err, "p");
    ck_assert_uint_eq(strlen(err.text), ERR_TEXT_BYTES - 1);
    ck_assert_int_eq(err.text[ERR_TEXT_BYTES - 2], 'x');
    err_prefix(&err, "p");
    ck_assert_uint_eq(strlen(err.text), ERR_TEXT_BYTES - 1);
    ck_assert_int_eq(strncmp(err.text, "p: p: xxx", 9), 0);
    ck_assert_str_eq(err.text + ERR_TEXT_BYTES - 5, "x...");
    err_prefix(&err, "%s", text);
    err_prefix(&err, "%s", text);
    ck_assert_uint_eq(strlen(err.text), ERR_TEXT_BYTES - 1);
}

TEST(text_is_appended_to_a_message_up_to_its_capacity)
{
    static char text[ERR_TEXT_BYTES];
    struct err err = {0};
    ck_assert_int_eq(err_append(&err, "more"), -1);
    ck_assert_int_eq(err_about(&err, ERR_ABOUT_WORD), -1);
    ck_assert_str_eq(err.text, "");
    ck_assert_int_eq(err.about, ERR_ABOUT_ANYTHING);
    ck_assert_int_eq(err_append(NULL, "more"), -1);
    ck_assert_int_eq(err_about(NULL, ERR_ABOUT_WORD), -1);

    err_set(&err, "word '%s'", "shrot");
    err_about(&err, ERR_ABOUT_WORD);
    ck_assert_int_eq(err_append(&err, ": '%s'", "short"), -1);
    ck_assert_str_eq(err.text, "word 'shrot': 'short'");
    ck_assert_int_eq(err.about, ERR_ABOUT_WORD);
    err_clear(&err);
    ck_assert_int_eq(err.about, ERR_ABOUT_ANYTHING);

    memset(text, 'x', sizeof text - 1);
    err_set(&err, "%s", "y");
    err_append(&err, "%s", text);
    ck_assert_uint_eq(strlen(err.text), ERR_TEXT_BYTES - 1);
    ck_assert_str_eq(err.text + ERR_TEXT_BYTES - 5, "x...");
}
