#include "format/json_writer.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/memory_stream.h"
#include "base/memory.h"
#include "format/json.h"

#define BYTES(text) text, sizeof text - 1

/* Compare the bytes that were written to a stream. */
static void expect(struct stream *out, const char *json)
{
    struct file written = memory_stream_take(out);
    ck_assert_uint_eq(written.size, strlen(json));
    ck_assert_mem_eq(written.bytes, json, written.size);
    file_release(&written);
}

static const struct {
    const char *bytes;
    size_t size;
    const char *json;
} texts[] = {
    {BYTES(""), "\"\""},
    {BYTES("Life is short"), "\"Life is short\""},
    {BYTES("a/b 'c' <d> &"), "\"a/b 'c' <d> &\""},
    {BYTES("\x7f\xC2\x80\xC2\x9B\xC2\xA0"), "\"\\u007f\\u0080\\u009b\xC2\xA0\""},
    {BYTES("say \"hi\""), "\"say \\\"hi\\\"\""},
    {BYTES("a\\b"), "\"a\\\\b\""},
    {BYTES("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\""},
    {BYTES("a\0b"), "\"a\\u0000b\""},
    {BYTES("\x01\x0b\x1f"), "\"\\u0001\\u000b\\u001f\""},
    {BYTES("\xE7\x88\xB1 \xF0\x9F\x8D\xB0"), "\"\xE7\x88\xB1 \xF0\x9F\x8D\xB0\""},
    {BYTES("\xE2\x80\xA8"), "\"\xE2\x80\xA8\""},
    {BYTES("\xFF"), "\"\xEF\xBF\xBD\""},
    {BYTES("a\xE7\x88z"), "\"a\xEF\xBF\xBD\xEF\xBF\xBDz\""},
    {BYTES("\xC0\x80"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
    {BYTES("\xF0\x9F\x8D"), "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
};

TEST(texts_are_written_with_their_escapes)
{
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct stream out = {0};
        memory_stream_open(&out);
        json_put_bytes(&(struct json_writer){.stream = &out}, NULL, texts[i].bytes, texts[i].size);
        expect(&out, texts[i].json);
    }
}

TEST(texts_in_memory_have_the_same_escapes)
{
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct buf out = {0};
        json_append_text(&out, texts[i].bytes, texts[i].size);
        ck_assert_str_eq(out.bytes, texts[i].json);
        buf_release(&out);
    }
}

TEST(numbers_that_are_not_finite_are_null)
{
    static const struct {
        float value;
        const char *json;
    } cases[] = {
        {0, "0"},
        {-0.0f, "-0"},
        {1, "1"},
        {0.1f, "0.1"},
        {-12.5f, "-12.5"},
        {1e-20f, "1e-20"},
        {3.4028235e38f, "3.4028235e+38"},
        {1e-45f, "1e-45"},
        {INFINITY, "null"},
        {-INFINITY, "null"},
        {NAN, "null"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct stream out = {0};
        struct json *root = NULL;
        memory_stream_open(&out);
        json_put_float(&(struct json_writer){.stream = &out}, NULL, cases[i].value);
        struct file written = memory_stream_take(&out);
        ck_assert_uint_eq(written.size, strlen(cases[i].json));
        ck_assert_mem_eq(written.bytes, cases[i].json, written.size);
        ck_assert_int_eq(json_parse(&root, written.bytes, written.size, NULL), 0);
        json_free(root);
        file_release(&written);
    }
}

/* Write a value of every kind, with and without names. */
static void put_all(struct json_writer *json)
{
    static const size_t shape[] = {6, 4};
    json_put_open(json, NULL, '{');
    json_put_text(json, "text", "a\n");
    json_put_text(json, "none", NULL);
    json_put_bytes(json, "part", "abc", 2);
    json_put_bool(json, "\n yes", true);
    json_put_bool(json, "no", false);
    json_put_integer(json, "number", -3);
    json_put_integers(json, "shape", shape, 2);
    json_put_open(json, "\n  rows", '[');
    json_put_raw(json, NULL, "1e3");
    json_put_open(json, "\n   ", '[');
    json_put_close(json, ']');
    json_put_gap(json, "\n   ");
    json_put_open(json, NULL, '{');
    json_put_name(json, "\n", 1);
    json_put_float(json, NULL, 0.5f);
    json_put_name(json, "", 0);
    json_put_integers(json, NULL, NULL, 0);
    json_put_close(json, '}');
    json_put_close(json, ']');
    json_put_close(json, '}');
}

TEST(commas_and_blanks_are_added)
{
    struct stream out = {0};
    memory_stream_open(&out);
    put_all(&(struct json_writer){.stream = &out});
    expect(&out, "{\"text\": \"a\\n\", \"none\": null, \"part\": \"ab\",\n \"yes\": true, "
                 "\"no\": false, \"number\": -3, \"shape\": [6, 4],\n  \"rows\": [1e3,\n   [],"
                 "\n   {\"\\n\": 0.5, \"\": []}]}");
}

TEST(compact_json_has_no_blanks)
{
    struct buf out = {0};
    put_all(&(struct json_writer){.buf = &out, .one_line = true, .compact = true});
    ck_assert_str_eq(out.bytes, "{\"text\":\"a\\n\",\"none\":null,\"part\":\"ab\",\"yes\":true,"
                                "\"no\":false,\"number\":-3,\"shape\":[6,4],\"rows\":[1e3,[],"
                                "{\"\\n\":0.5,\"\":[]}]}");
    buf_release(&out);
}

TEST(texts_in_html_cannot_end_their_element)
{
    struct buf out = {0};
    json_put_text(&(struct json_writer){.buf = &out, .in_html = true}, NULL,
                  "</a>\xE2\x80\xA7\xE2\x80\xA8\xE2\x80\xA9&");
    ck_assert_str_eq(out.bytes, "\"\\u003c/a>\xE2\x80\xA7\\u2028\\u2029&\"");
    buf_release(&out);
}

TEST(a_failed_allocation_marks_the_buffer)
{
    struct buf out = {0};
    heap_fail_at(1, true);
    put_all(&(struct json_writer){.buf = &out});
    heap_fail_at(0, false);
    ck_assert_int_eq(buf_check(&out, NULL), -1);
    buf_release(&out);
}
