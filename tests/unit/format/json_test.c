#include "format/json.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "../unit.h"
#include "base/buf.h"
#include "base/heap.h"

static struct json *parsed(const char *text)
{
    struct json *root = NULL;
    struct err err = {0};
    ck_assert_msg(!json_parse(&root, text, strlen(text), &err), "%s: %s", text, err.text);
    return root;
}

TEST(texts_come_without_their_escapes)
{
    static const struct {
        const char *json;
        const char *text;
    } cases[] = {
        {"\"\"", ""},
        {"\"plain\"", "plain"},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u0041\\u00e9\\u7231\"", "A\xC3\xA9\xE7\x88\xB1"},
        {"\"\\uD83C\\udf70\"", "\xF0\x9F\x8D\xB0"},
        {"\"\\\\u0000\"", "\\u0000"},
        {"\"\\uFFFF\"", "\xEF\xBF\xBF"},
        {"\"\xE7\x88\xB1\"", "\xE7\x88\xB1"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *text = NULL;
        struct json *root = parsed(cases[i].json);
        ck_assert(json_get_text(root, &text));
        ck_assert_str_eq(text, cases[i].text);
        json_free(root);
    }
}

TEST(numbers_come_as_the_nearest_double)
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

TEST(an_integer_is_whole_and_in_its_range)
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
        {"9007199254740992", 0, INT64_MAX, false, 0}, /* or was it ...993? */
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

TEST(a_value_of_another_type_leaves_the_result_alone)
{
    static const char *const cases[] = {"null", "true", "1", "\"a\"", "[]", "{}"};
    enum { NOTHING, TRUTH, NUMBER, TEXT, ARRAY, OBJECT };
    for (int i = 0; i < (int)COUNT(cases); i++) {
        const char *text = "default";
        double number = 0.5;
        bool truth = false;
        struct json *root = parsed(cases[i]);
        ck_assert_int_eq(json_is_null(root), i == NOTHING);
        ck_assert_int_eq(json_is_array(root), i == ARRAY);
        ck_assert_int_eq(json_is_object(root), i == OBJECT);
        ck_assert_int_eq(json_get_bool(root, &truth), i == TRUTH);
        ck_assert_int_eq(json_get_number(root, &number), i == NUMBER);
        ck_assert_int_eq(json_get_text(root, &text), i == TEXT);
        ck_assert_int_eq(truth, i == TRUTH);
        ck_assert_double_eq(number, i == NUMBER ? 1 : 0.5);
        ck_assert_str_eq(text, i == TEXT ? "a" : "default");
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

TEST(a_description_stays_within_its_room)
{
    static const char *const cases[] = {"\"a longer text\"", "1.2345678901234567", "[]"};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct json *root = parsed(cases[i]);
        for (size_t size = 1; size < 32; size++) {
            char *text = heap_alloc(size, 1, NULL);
            ck_assert_uint_lt(strlen(json_describe(root, text, size)), size);
            heap_free(text);
        }
        json_free(root);
    }
}

TEST(members_are_found_by_their_exact_name)
{
    struct json *root =
        parsed("{\"n_head\":1,\"N_HEAD\":2,\"a.b\":{\"c\":3},\"\":4,\"\\u00e9\":5}");
    static const struct {
        const char *name;
        double number;
    } cases[] = {{"n_head", 1}, {"N_HEAD", 2}, {"", 4}, {"\xC3\xA9", 5}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        double number = 0;
        ck_assert(json_get_number(json_member(root, cases[i].name), &number));
        ck_assert_double_eq(number, cases[i].number);
    }
    ck_assert_ptr_nonnull(json_member(json_member(root, "a.b"), "c"));
    ck_assert_ptr_null(json_member(root, "N_head"));
    ck_assert_ptr_null(json_member(root, "c"));
    ck_assert_ptr_null(json_member(json_member(root, ""), "a"));
    ck_assert_ptr_null(json_member(NULL, "a"));
    json_free(root);
}

TEST(containers_are_walked_in_order)
{
    struct json *root = parsed("{\"b\":[10,11,12],\"a\":[],\"c\":3}");
    const struct json *member = json_first(root);
    double expected = 10;
    ck_assert_uint_eq(json_count(root), 3);
    ck_assert_str_eq(json_key(member), "b");
    ck_assert_uint_eq(json_count(member), 3);
    for (const struct json *item = json_first(member); item; item = json_next(item)) {
        double number = 0;
        ck_assert(json_get_number(item, &number));
        ck_assert_double_eq(number, expected);
        expected++;
    }
    ck_assert_double_eq(expected, 13);
    member = json_next(member);
    ck_assert_str_eq(json_key(member), "a");
    ck_assert_ptr_null(json_first(member));
    ck_assert_uint_eq(json_count(member), 0);
    member = json_next(member);
    ck_assert_str_eq(json_key(member), "c");
    ck_assert_ptr_null(json_first(member));
    ck_assert_ptr_null(json_next(member));
    ck_assert_uint_eq(json_count(NULL), 0);
    json_free(root);
}

TEST(a_name_that_stands_twice_is_named)
{
    static const struct {
        const char *json;
        const char *message;
    } cases[] = {
        {"{}", ""},
        {"{\"a\":1,\"A\":1,\"b\":{\"a\":1}}", ""},
        {"{\"a\":1,\"b\":2,\"a\":1}", "field 'a': expected once, found twice"},
        {"{\"b\":1,\"\\u0062\":2}", "field 'b': expected once, found twice"},
        {"{\"\":1,\"\":2}", "field '': expected once, found twice"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct err err = {0};
        struct json *root = parsed(cases[i].json);
        ck_assert_int_eq(json_unique_keys(root, &err), *cases[i].message ? -1 : 0);
        ck_assert_str_eq(err.text, cases[i].message);
        json_free(root);
    }
}

static const char fields[] =
    "{\"n\":12,\"x\":0.5,\"t\":true,\"s\":\"gelu\",\"z\":null,\"w\":\"twelve\"}";

TEST(typed_members_are_read_or_keep_their_default)
{
    struct json *root = parsed(fields);
    long long n = 0, n_default = 7;
    double x = 0, x_default = 0.25;
    bool t = false, t_default = true;
    const char *s = NULL, *s_default = "none";
    ck_assert_int_eq(json_integer(root, "n", 1, 12, &n, NULL), 0);
    ck_assert_int_eq(json_integer(root, "z", 1, 12, &n_default, NULL), 0);
    ck_assert_int_eq(json_integer(root, "N", 1, 12, &n_default, NULL), 0);
    ck_assert_int_eq(json_double(root, "x", 0, 1, &x, NULL), 0);
    ck_assert_int_eq(json_double(root, "z", 0, 1, &x_default, NULL), 0);
    ck_assert_int_eq(json_bool(root, "t", &t, NULL), 0);
    ck_assert_int_eq(json_bool(root, "z", &t_default, NULL), 0);
    ck_assert_int_eq(json_text(root, "s", &s, NULL), 0);
    ck_assert_int_eq(json_text(root, "absent", &s_default, NULL), 0);
    ck_assert_int_eq(n, 12);
    ck_assert_int_eq(n_default, 7);
    ck_assert_double_eq(x, 0.5);
    ck_assert_double_eq(x_default, 0.25);
    ck_assert(t && t_default);
    ck_assert_str_eq(s, "gelu");
    ck_assert_str_eq(s_default, "none");
    json_free(root);
}

TEST(a_member_of_the_wrong_type_or_range_is_named)
{
    struct json *root = parsed(fields);
    struct err err[6] = {0};
    long long n = 7;
    double x = 7;
    bool t = true;
    const char *s = "none";
    ck_assert_int_eq(json_integer(root, "w", 1, 4096, &n, &err[0]), -1);
    ck_assert_int_eq(json_integer(root, "x", -1, 1, &n, &err[1]), -1);
    ck_assert_int_eq(json_double(root, "n", 0, 1.5, &x, &err[2]), -1);
    ck_assert_int_eq(json_double(root, "t", 0, 1e30, &x, &err[3]), -1);
    ck_assert_int_eq(json_bool(root, "n", &t, &err[4]), -1);
    ck_assert_int_eq(json_text(root, "n", &s, &err[5]), -1);
    ck_assert_str_eq(err[0].text,
                     "field 'w': expected an integer from 1 to 4096, found \"twelve\"");
    ck_assert_str_eq(err[1].text, "field 'x': expected an integer from -1 to 1, found 0.5");
    ck_assert_str_eq(err[2].text, "field 'n': expected a number from 0 to 1.5, found 12");
    ck_assert_str_eq(err[3].text, "field 't': expected a number from 0 to 1e+30, found true");
    ck_assert_str_eq(err[4].text, "field 'n': expected true or false, found 12");
    ck_assert_str_eq(err[5].text, "field 'n': expected a text, found 12");
    ck_assert(n == 7 && x == 7 && t && strcmp(s, "none") == 0);
    json_free(root);
}

TEST(an_infinite_number_is_in_no_range)
{
    struct json *root = parsed("{\"x\":1e999}");
    struct err err = {0};
    double x = 7;
    ck_assert_int_eq(json_double(root, "x", -INFINITY, INFINITY, &x, &err), -1);
    ck_assert_str_eq(err.text, "field 'x': expected a number from -inf to inf, "
                               "found a number that is too large");
    ck_assert_double_eq(x, 7);
    json_free(root);
}

/* Comparing each name with each other would run into the time limit of the suite. */
TEST(fifty_thousand_members_take_no_time)
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

TEST(an_allocation_that_fails_is_an_error)
{
    static const char text[] = "{\"a\":[1,\"two\",{\"three\":null}],\"b\":1.5}";
    struct json *root = NULL;
    size_t nth = 1;
    for (;; nth++) {
        struct err err = {0};
        heap_fail_at(nth, 0);
        int failed = json_parse(&root, text, strlen(text), &err) || json_unique_keys(root, &err);
        heap_fail_at(0, 0);
        if (!failed)
            break;
        ck_assert_msg(strncmp(err.text, "out of memory: ", 15) == 0, "%s", err.text);
        json_free(root);
        root = NULL;
    }
    ck_assert_uint_gt(nth, 10);
    json_free(root);
}
