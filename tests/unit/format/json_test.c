#include "format/json.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "../unit.h"
#include "base/buf.h"

static struct json *parsed(const char *text)
{
    struct json *root = NULL;
    struct err err = {0};
    ck_assert_msg(!json_parse(&root, text, strlen(text), &err), "%s: %s", text, err.text);
    return root;
}

TEST(numbers_are_rounded_to_the_nearest_double)
{
    static const struct {
        const char *json;
        double number;
    } cases[] = {
        {"0", 0},
        {"-12", -12},
        {"0.1", 0.1},
        {"1e-5", 1e-5},
        {"1E+2", 100},
        {"9007199254740993", 9007199254740992.0},
        {"4.9e-324", 4.9e-324},
        {"1.7976931348623157e308", DBL_MAX},
        {"1e999", INFINITY},
        {"-1e999", -INFINITY},
        {"Infinity", INFINITY},
        {"1e-999", 0},
        {"0.1000000000000000000000000000000000000000000000000000000000000000000000000", 0.1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        double number = 7;
        struct json *root = parsed(cases[i].json);
        ck_assert(json_get_number(root, &number));
        ck_assert_msg(number == cases[i].number, "%s: %.17g", cases[i].json, number);
        json_free(root);
    }
}

TEST(texts_that_say_infinity_are_texts)
{
    struct json *root = parsed("[\"\\\"Infinity\", Infinity,1]");
    const char *text = NULL;
    double number = 0;
    ck_assert(json_get_text(json_first(root), &text));
    ck_assert_str_eq(text, "\"Infinity");
    ck_assert(json_get_number(json_next(json_first(root)), &number));
    ck_assert(isinf(number));
    ck_assert_uint_eq(json_count(root), 3);
    json_free(root);
}

TEST(an_integer_is_a_whole_number_in_its_range)
{
    static const struct {
        const char *json;
        long long min, max;
        bool is;
        long long integer;
    } cases[] = {
        {"1", 1, 12, true, 1},
        {"12", 1, 12, true, 12},
        {"0", 1, 12, false, 0},
        {"13", 1, 12, false, 0},
        {"-1", -1, 0, true, -1},
        {"-0", 0, 0, true, 0},
        {"12.0", 1, 12, true, 12},
        {"1.2e1", 1, 12, true, 12},
        {"1.5", 1, 12, false, 0},
        {"2147483648", 0, 4294967296, true, 2147483648},
        {"9007199254740991", 0, INT64_MAX, true, 9007199254740991},
        {"-9007199254740991", INT64_MIN, 0, true, -9007199254740991},
        {"9007199254740992", 0, INT64_MAX, false, 0}, /* 2^53: the text may have been ...993 */
        {"9223372036854775808", 0, INT64_MAX, false, 0},
        {"1e999", INT64_MIN, INT64_MAX, false, 0},
        {"\"1\"", 1, 12, false, 0},
        {"true", 0, 1, false, 0},
        {"null", 0, 1, false, 0},
        {"[1]", 0, 1, false, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        long long integer = 77;
        struct json *root = parsed(cases[i].json);
        bool is = json_get_integer(root, cases[i].min, cases[i].max, &integer);
        ck_assert_msg(is == cases[i].is, "%s", cases[i].json);
        ck_assert_int_eq(integer, is ? cases[i].integer : 77);
        json_free(root);
    }
}

TEST(values_are_described_for_messages)
{
    static const struct {
        const char *json;
        const char *description;
    } cases[] = {
        {"null", "null"},
        {"true", "true"},
        {"false", "false"},
        {"[1]", "an array"},
        {"{}", "an object"},
        {"3", "3"},
        {"-3.5", "-3.5"},
        {"0.1", "0.1"},
        {"0.30000000000000004", "0.30000000000000004"},
        {"1e999", "a number that is too large"},
        {"-1e999", "a number that is too large"},
        {"\"\"", "\"\""},
        {"\"twelve\"", "\"twelve\""},
        {"\"\xE7\x88\xB1\"", "\"\xE7\x88\xB1\""},
        {"\"a\\nb\\u001b[0m\\u202e\"", "\"a\\u000ab\\u001b[0m\\u202e\""},
        {"\"0123456789012345678901234567890\"", "\"0123456789012345678901234...\""},
        {"\"012345678901234567890123\xE7\x88\xB1 89\"", "\"012345678901234567890123...\""},
    };
    char text[31];
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct json *root = parsed(cases[i].json);
        ck_assert_str_eq(json_describe(root, text, sizeof text), cases[i].description);
        json_free(root);
    }
    ck_assert_str_eq(json_describe(NULL, text, sizeof text), "nothing");
}

/* Quadratic time would exceed the limit of the suite. */
TEST(fifty_thousand_members_take_linear_time)
{
    struct buf text = {0};
    struct json *root = NULL;
    struct err err = {0};
    for (int i = 0; i < 50257; i++)
        buf_format(&text, "%s\"\\u0120word%d\": %d", i ? ", " : "{", i, i);
    buf_text(&text, "}");
    ck_assert_msg(!json_parse(&root, text.bytes, text.size, &err), "%s", err.text);
    ck_assert_uint_eq(json_count(root), 50257);
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(json_unique_keys(root, &err), 0);
    json_free(root);
    buf_release(&text);
}
