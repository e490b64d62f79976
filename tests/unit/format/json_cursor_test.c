#include "format/json.h"

#include <string.h>

#include "../unit.h"

static struct json_cursor opened(const char *json)
{
    struct json_cursor cursor;
    struct err err = {0};
    ck_assert_msg(!json_cursor_open(&cursor, NULL, json, strlen(json), &err), "%s", err.text);
    return cursor;
}

TEST(members_and_items_are_counted)
{
    static const struct {
        const char *json;
        size_t count;
    } cases[] = {
        {"[]", 0},
        {" [ ]", 0},
        {"{}", 0},
        {"[[]]", 1},
        {"[1, 2, 3]", 3},
        {"[[1, 2], {\"a\": 1, \"b\": 2}]", 2},
        {"{\"a\": 1}", 1},
        {"{\"a,b\": [1], \"c\": \"}, {\"}", 2},
        {"3", 0},
        {"\"a, b\"", 0},
        {"[\"\\\"\", null , true]", 3},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct json_cursor cursor = opened(cases[i].json);
        size_t count = 77;
        json_cursor_count(&cursor, &count);
        ck_assert_msg(count == cases[i].count, "'%s' has %zu", cases[i].json, count);
        ck_assert_ptr_eq(cursor.at, cases[i].json + strlen(cases[i].json));
    }
}

TEST(texts_are_decoded_to_bytes)
{
    static const struct {
        const char *json;
        const char *text;
    } cases[] = {
        {"\"\"", ""},
        {"\"Life\"", "Life"},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
        {"\"\\u0120the\"", "Ġthe"},
        {"\"\\u0041\\u00e9\\u00E9\\u7231\"", "Aéé爱"},
        {"\"\\ud83c\\udf70\"", "🍰"},
        {"\"\\uDBFF\\uDFFF\"", "\xF4\x8F\xBF\xBF"},
        {"\"\\u007f\\u0080\\u07ff\\u0800\\uffff\"", "\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF"},
        {"\"爱🍰\"", "爱🍰"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char out[64];
        struct json_cursor cursor = opened(cases[i].json);
        struct json_span span = json_cursor_text(&cursor);
        ck_assert_ptr_eq(cursor.at, cases[i].json + strlen(cases[i].json));
        ck_assert_uint_eq(json_unescape(out, span), strlen(cases[i].text));
        ck_assert_mem_eq(out, cases[i].text, strlen(cases[i].text));
        cursor = opened(cases[i].json);
        ck_assert_uint_eq(json_cursor_read(&cursor, out), strlen(cases[i].text));
        ck_assert_mem_eq(out, cases[i].text, strlen(cases[i].text));
        ck_assert_ptr_eq(cursor.at, cases[i].json + strlen(cases[i].json));
    }
}

TEST(whole_numbers_are_read_up_to_a_maximum)
{
    static const struct {
        const char *json;
        size_t max;
        long long value; /* -1: refused */
    } cases[] = {
        {"0", 0, 0},
        {"7", 9, 7},
        {"50257", 50257, 50257},
        {"50258", 50257, -1},
        {"10", 9, -1},
        {"-1", 9, -1},
        {"1.0", 9, -1},
        {"1e3", 9999, -1},
        {"true", 9, -1},
        {"\"1\"", 9, -1},
        {"null", 9, -1},
        {"[1]", 9, -1},
        {"99999999999999999999999999", 10000000, -1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct json_cursor cursor = opened(cases[i].json);
        const char *before = cursor.at;
        size_t value = 77;
        bool read = json_cursor_number(&cursor, cases[i].max, &value);
        ck_assert_msg(read == (cases[i].value >= 0), "%s", cases[i].json);
        ck_assert_uint_eq(value, read ? (size_t)cases[i].value : 77);
        ck_assert_ptr_eq(cursor.at, before + (read ? strlen(cases[i].json) : 0));
    }
}
