#include "base/stream.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/memory_stream.h"

/* Writes, separated by tildes, and the bytes that the stream has at the end. */
struct typed {
    const char *pieces;
    const char *shown;
    struct terminal terminal;
};

static void type(const struct typed *typed)
{
    struct stream out = {0};
    memory_stream_open(&out);
    out.terminal = typed->terminal;
    for (const char *at = typed->pieces; *at;) {
        size_t size = strcspn(at, "~");
        stream_bytes(&out, at, size);
        stream_flush(&out);
        at += size + (at[size] == '~');
    }
    struct file written = memory_stream_take(&out);
    ck_assert_msg(written.size == strlen(typed->shown) &&
                      memcmp(written.bytes, typed->shown, written.size) == 0,
                  "expected '%s', found '%.*s'", typed->shown, (int)written.size, written.bytes);
    file_release(&written);
}

TEST(control_characters_and_invalid_bytes_are_escaped)
{
    static const struct typed cases[] = {
        {"Life~ is~ short,\n\tfirst ", "Life is short,\n\tfirst ", {.shows = true}},
        {"\x1b[2J~a\rb", "\\x1b[2Ja\\x0db", {.shows = true}},
        {"\xe7\x88~\xb1", "爱", {.shows = true}},
        {"\xf0~\x9f~\x8d~\xb0", "🍰", {.shows = true}},
        {"a\xf0\x9f~\x8d\xb0"
         "b",
         "a🍰b",
         {.shows = true}},
        {"caf\xc3", "caf\\xc3", {.shows = true}}, /* incomplete at the end */
        {"\xc3~x", "\\xc3x", {.shows = true}},
        {"\x80\x80\x80\x80~\xff~\xfe", "\\x80\\x80\\x80\\x80\\xff\\xfe", {.shows = true}},
        {"\xe2\x80\xae~right to left", "\\xe2\\x80\\xaeright to left", {.shows = true}},
        {"\xc2\xa0~\xe3\x80\x80~\xc2\x85", "\xc2\xa0\xe3\x80\x80\\xc2\\x85", {.shows = true}},
        {"\x1b[31mred", "\\x1b[31mred", {.shows = true}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        type(&cases[i]);
}

TEST(only_colour_sequences_reach_the_terminal)
{
    static const struct typed cases[] = {
        {"\x1b[48;2;255;255;255;38;5;231m 1\x1b[0m",
         "\x1b[48;2;255;255;255;38;5;231m 1\x1b[0m",
         {.shows = true, .colours = true}},
        {"\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07", {.shows = true, .colours = true}},
        {"\x1b[48;5", "\\x1b[48;5", {.shows = true, .colours = true}},
        {"\x1b[000000000000000000000000000000000000000000m",
         "\\x1b[000000000000000000000000000000000000000000m",
         {.shows = true, .colours = true}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        type(&cases[i]);
}

TEST(a_character_is_written_when_it_is_complete)
{
    struct stream out = {0};
    memory_stream_open(&out);
    out.terminal.shows = true;
    static const char cake[] = "\xf0\x9f\x8d\xb0";
    for (size_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(out.used, 0);
        stream_char(&out, cake[i]);
    }
    ck_assert_uint_eq(out.used, 4);
    stream_discard(&out);
}
