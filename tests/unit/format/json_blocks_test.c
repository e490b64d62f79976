#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "base/buf.h"
#include "base/memory.h"
#include "format/json.h"

/* Long lists and texts are checked in blocks, with the same result at every position of a block.
 * `*at`: the index of the error in `text`. */
static int check_at(const char *text, size_t before, size_t after, bool is_object, size_t *at)
{
    struct buf document = {0};
    struct err err = {0};
    char expected[64];
    buf_text(&document, is_object ? "{\"a\":0,\n  \"b\": 12,\n  \"" : "[\"a\",\n  \"b\",\n  \"");
    for (size_t i = 0; i < before; i++)
        buf_char(&document, 'x');
    size_t start = document.size;
    buf_text(&document, text);
    for (size_t i = 0; i < after; i++)
        buf_char(&document, 'x');
    buf_text(&document, is_object ? "\": 3,\n  \"c\": 4}" : "\",\n  \"c\"]");
    char *copy = heap_alloc(document.size, 1, NULL);
    memcpy(copy, document.bytes, document.size);
    int failed = json_cursor_open(&(struct json_cursor){0}, NULL, copy, document.size, &err);
    if (failed) {
        ck_assert_int_eq(sscanf(err.text, "byte %zu%63s", at, expected), 2);
        *at -= start;
    }
    heap_free(copy);
    buf_release(&document);
    return failed;
}

TEST(a_text_is_checked_at_every_position_of_a_block)
{
    static const char *const texts[] = {
        "a",
        "\x7F",
        "\\n",
        "\xC2\x80",
        "\xDF\xBF",
        "\xE0\xA0\x80",
        "\xE1\x80\x80",
        "\xEC\xBF\xBF",
        "\xED\x9F\xBF",
        "\xEF\xBF\xBF",
        "\xF0\x90\x80\x80",
        "\x1F",
        "\x80",
        "\xBF",
        "\xC0\x80",
        "\xC1\xBF",
        "\xC2",
        "\xC2\x80\x80",
        "\xE0\x80\x80",
        "\xE1\x80",
        "\xE1",
        "\xE1\x80\xC2",
        "\xED\xA0\x80",
        "\xF4\x90\x80\x80",
        "\xF5",
        "\xFF",
        "\\x",
        "\xC2\xE1\x80\x80",
    };
    enum { REFUSED = 11, PLACES = 40 };
    for (size_t i = 0; i < COUNT(texts); i++) {
        for (size_t place = 0; place < 3 * PLACES; place++) {
            size_t alone = 0;
            size_t at = 0;
            ck_assert_int_eq(check_at(texts[i], 0, 0, false, &alone), i < REFUSED ? 0 : -1);
            ck_assert_int_eq(
                check_at(texts[i], place % PLACES, place / PLACES * 40, place % 2, &at),
                i < REFUSED ? 0 : -1);
            ck_assert_uint_eq(at, alone);
        }
    }
}

TEST(an_item_is_checked_in_a_long_list)
{
    static const struct {
        const char *first, *item;
        int result;
    } cases[] = {
        {"{\"a\": 1", "\"b\" : 2", 0},
        {"{\"a\": 1", "\"b\":  0", 0},
        {"{\"a\": 1", "\"b\": -1.5", 0},
        {"{\"a\": 1", "\"b\": \"c\"", 0},
        {"{\"a\": 1", "\"b\": 01", -1},
        {"{\"a\": 1", "\"b\": ", -1},
        {"{\"a\": 1", "\"b\" 1", -1},
        {"{\"a\": 1", "\"b\"", -1},
        {"{\"a\": 1", "1", -1},
        {"{\"a\": 1", "[\"b\", \"c\"]: 1", -1},
        {"[\"a\"", "[\"b\", \"c\"]", 0},
        {"[\"a\"", "[ \"b\"\n,\"\\n\" ]", 0},
        {"[\"a\"", "[\"b\", \"c\", \"d\"]", 0},
        {"[\"a\"", "[\"b\"]", 0},
        {"[\"a\"", "[\"b\" \"c\"]", -1},
        {"[\"a\"", "[\"b\",, \"c\"]", -1},
        {"[\"a\"", "[\"b\", ]", -1},
        {"[\"a\"", "[\"b\", \"c\"", -1},
        {"[\"a\"", "[\"b\", \"c\"}", -1},
        {"[\"a\"", "[\"b\", \"\x01\"]", -1},
        {"[\"a\"", "null", 0},
        {"[\"a\"", "\"b\": 1", -1},
        {"[\"a\"", "", -1},
        {"[\"a\"", "\"b\" \"c\"", -1},
        {"[\"a\"", "\"b\",", -1},
    };
    static const char *const gaps[] = {"", " ", "\n      ", "\r\n\t", "\n          "};
    for (size_t i = 0; i < COUNT(cases) * COUNT(gaps); i++) {
        struct buf list = {0};
        bool is_object = *cases[i % COUNT(cases)].first == '{';
        buf_text(&list, cases[i % COUNT(cases)].first);
        for (size_t k = 0; k < 20; k++) {
            buf_format(&list, ",%s%s", gaps[(i + k / 5) % COUNT(gaps)],
                       k == 7      ? cases[i % COUNT(cases)].item
                       : is_object ? "\"word\": 12"
                                   : "\"word\"");
        }
        buf_text(&list, is_object ? "}" : "]");
        ck_assert_int_eq(
            json_cursor_open(&(struct json_cursor){0}, NULL, list.bytes, list.size, NULL),
            cases[i % COUNT(cases)].result);
        buf_release(&list);
    }
}

/* A list of pairs at the maximum depth, and deeper. */
TEST(depth_is_limited)
{
    static const char *const pairs[] = {"[\"ab\", \"c\"]", "[ \"ab\" , \"c\" ]"};
    for (size_t depth = JSON_DEPTH_MAX - 1; depth <= JSON_DEPTH_MAX; depth++)
        for (size_t i = 0; i < COUNT(pairs); i++) {
            struct buf list = {0};
            for (size_t k = 0; k < depth; k++)
                buf_char(&list, '[');
            for (size_t k = 0; k < 20; k++)
                buf_format(&list, "%s%s", k ? ", " : "", pairs[i]);
            for (size_t k = 0; k < depth; k++)
                buf_char(&list, ']');
            ck_assert_int_eq(
                json_cursor_open(&(struct json_cursor){0}, NULL, list.bytes, list.size, NULL),
                depth < JSON_DEPTH_MAX ? 0 : -1);
            buf_release(&list);
        }
}

/* The last whole block may end inside of the blanks. */
TEST(blanks_at_the_end_of_the_last_block_are_skipped)
{
    for (size_t blanks = 0; blanks < 12; blanks++)
        for (size_t after = 40; after < 90; after++) {
            struct buf document = {0};
            struct err err = {0};
            buf_text(&document, "{\"a\": 1,");
            for (size_t i = 0; i < blanks; i++)
                buf_char(&document, ' ');
            buf_text(&document, "\"b\": \"");
            for (size_t i = 0; i < after; i++)
                buf_char(&document, 'x');
            buf_text(&document, "\"}");
            ck_assert_msg(!json_cursor_open(&(struct json_cursor){0}, NULL, document.bytes,
                                            document.size, &err),
                          "%s", err.text);
            buf_release(&document);
        }
}
