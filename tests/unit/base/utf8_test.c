#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "base/buf.h"
#include "base/memory.h"

TEST(characters_are_read_with_their_length)
{
    static const struct {
        const char *bytes;
        size_t length;
        uint32_t character;
    } cases[] = {
        {"a", 1, 'a'},
        {"\x7f", 1, 0x7f},
        {"\xC2\x80", 2, 0x80},
        {"é", 2, 0xE9},
        {"\xDF\xBF", 2, 0x7FF},
        {"爱", 3, 0x7231},
        {"\xED\x9F\xBF", 3, 0xD7FF},
        {"\xEE\x80\x80", 3, 0xE000},
        {"\xEF\xBF\xBF", 3, 0xFFFF},
        {"🍰", 4, 0x1F370},
        {"\xF4\x8F\xBF\xBF", 4, 0x10FFFF},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint32_t character = 0;
        char followed[8];
        snprintf(followed, sizeof followed, "%s!", cases[i].bytes);
        ck_assert_uint_eq(utf8_decode(&character, followed, strlen(followed)), cases[i].length);
        ck_assert_uint_eq(character, cases[i].character);
        ck_assert_uint_eq(utf8_invalid_at(followed, strlen(followed)), strlen(followed));
    }
    uint32_t zero = 1;
    ck_assert_uint_eq(utf8_decode(&zero, "\0", 1), 1);
    ck_assert_uint_eq(zero, 0);
}

TEST(every_character_is_decoded_as_it_was_encoded)
{
    for (uint32_t c = 0; c <= UNICODE_LAST; c++) {
        char bytes[4];
        uint32_t character = UINT32_MAX;
        size_t size = c == 0xD800 ? 0 : utf8_encode(bytes, c);
        if (!size) /* a surrogate */
            c = 0xDFFF;
        else if (utf8_decode(&character, bytes, size) != size || character != c)
            ck_abort_msg("U+%04X", (unsigned)c);
    }
}

TEST(invalid_bytes_are_refused)
{
    static const char *const cases[] = {
        "\x80",             /* continuation byte without a first byte */
        "\xBF",             /* the same */
        "\xC3",             /* incomplete */
        "\xE7\x88",         /* the same */
        "\xF0\x9F\x8D",     /* the same */
        "\xC3(",            /* no continuation byte */
        "\xE7\x88(",        /* the same */
        "\xF0\x9F\x8D(",    /* the same */
        "\xC0\x80",         /* overlong */
        "\xC1\xBF",         /* overlong */
        "\xE0\x9F\xBF",     /* overlong */
        "\xF0\x8F\xBF\xBF", /* overlong */
        "\xED\xA0\x80",     /* a surrogate */
        "\xED\xBF\xBF",     /* a surrogate */
        "\xF4\x90\x80\x80", /* beyond U+10FFFF */
        "\xF5\x80\x80\x80", /* beyond U+10FFFF */
        "\xFE",             /* never used */
        "\xFF",             /* never used */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint32_t character = 0;
        char after[8];
        ck_assert_uint_eq(utf8_decode(&character, cases[i], strlen(cases[i])), 0);
        snprintf(after, sizeof after, "né%s", cases[i]);
        ck_assert_uint_eq(utf8_invalid_at(after, strlen(after)), 3);
    }
    uint32_t character = 0;
    ck_assert_uint_eq(utf8_decode(&character, "", 0), 0);
    ck_assert_uint_eq(utf8_invalid_at("", 0), 0);
}

TEST(characters_that_disturb_a_terminal_are_not_visible)
{
    static const struct {
        uint32_t character;
        bool visible;
    } cases[] = {
        {' ', true},     {'a', true},     {0x7231, true},   {0x1F370, true}, {0x301, true},
        {0x200D, true},  {0x200C, true},  {0xFE0F, true},   {'\n', false},   {0, false},
        {0x1B, false},   {0x7F, false},   {0x85, false},    {0x9B, false},   {0xA0, false},
        {0xAD, false},   {0x200E, false}, {0x202E, false},  {0x2028, false}, {0x2066, false},
        {0x200B, false}, {0xFEFF, false}, {0xE0041, false}, {0x115F, false}, {0x3164, false},
        {0xE000, false}, {0x378, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_msg(utf8_is_visible(cases[i].character) == cases[i].visible, "U+%04X",
                      (unsigned)cases[i].character);
}

TEST(graphemes_and_columns_are_counted_as_readers_see_them)
{
    static const struct {
        const char *text;
        size_t first_bytes; /* of its first character */
        size_t columns;
    } cases[] = {
        {"", 0, 0},
        {"Life", 1, 4},
        {"\r\n", 2, 0},
        {"e\xCC\x81s", 3, 2},
        {"se\xCC\x81", 1, 2},
        {"爱a", 3, 3},
        {"ｅ", 3, 2},
        {"한", 3, 2},
        {"\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB", 9, 2}, /* the same in three parts */
        {"🍰🍰", 4, 4},
        {"👍🏽", 8, 2},
        {"❤", 3, 1},
        {"❤\xEF\xB8\x8F", 6, 2},
        {"👨\xE2\x80\x8D👩\xE2\x80\x8D👧", 18, 2},
        {"🇩🇪🇫🇷", 8, 4},
        {"क\xE0\xA4\xBE", 6, 1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *text = cases[i].text;
        ck_assert_msg(utf8_grapheme(text, strlen(text)) == cases[i].first_bytes, "'%s'", text);
        ck_assert_msg(utf8_width(text, strlen(text)) == cases[i].columns, "'%s'", text);
    }
}

TEST(a_grapheme_ends_before_invalid_utf8)
{
    ck_assert_uint_eq(utf8_grapheme("e\xCC", 2), 1);
    ck_assert_uint_eq(utf8_grapheme("\xFF", 1), 1);
    ck_assert_uint_eq(utf8_width("a\xFF"
                                 "b",
                                 3),
                      2);
}

/* The number of steps through a text, each within what is left. */
static size_t count_steps(const char *text, size_t size)
{
    size_t steps = 0;
    uint32_t c = 0;
    for (size_t at = 0, length; at < size; at += length, steps++) {
        length = utf8_step(&c, text + at, size - at);
        size_t grapheme = utf8_grapheme(text + at, size - at);
        ck_assert_uint_gt(length, 0);
        ck_assert_uint_le(length, size - at);
        ck_assert_uint_gt(grapheme, 0);
        ck_assert_uint_le(grapheme, size - at);
    }
    return steps;
}

static void normalize(const char *text, size_t size)
{
    for (enum unicode_form form = UNICODE_NFC; form <= UNICODE_NFKD; form++) {
        struct buf out = {0};
        bool stays = false;
        for (size_t at = 0, end; at < size; at = end) {
            end = unicode_form_end(form, text, size, at, &stays);
            ck_assert_uint_gt(end, at);
            ck_assert_uint_le(end, size);
            if (!stays)
                unicode_form_put(form, &out, text + at, end - at);
        }
        buf_release(&out);
    }
}

/* Texts that end in every byte, or within a character, in memory that ends there. */
TEST(loops_pass_bytes_that_are_not_utf8)
{
    static const struct {
        const char *text;
        size_t size, steps;
    } cases[] = {
        {"", 0, 0},      {"\xFF", 1, 1},       {"\x80\x80\x80", 3, 3}, {"a\xC3z", 3, 3},
        {"é\xCC", 3, 2}, {"爱\xE7\x88", 5, 3}, {"\xF0\x9F\x8D", 3, 3}, {"\xED\xA0\x80我\xFE", 7, 5},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char *text = heap_alloc(cases[i].size, 1, NULL);
        memcpy(text, cases[i].text, cases[i].size);
        ck_assert_uint_eq(count_steps(text, cases[i].size), cases[i].steps);
        utf8_width(text, cases[i].size);
        normalize(text, cases[i].size);
        heap_free(text);
    }
    for (int byte = 0; byte < 256; byte++) {
        const char text[] = {'a', (char)byte, (char)byte};
        count_steps(text, sizeof text);
        normalize(text, sizeof text);
    }
    uint32_t c = 0;
    ck_assert_uint_eq(utf8_step(&c, "\xC3", 1), 1);
    ck_assert_uint_eq(c, UTF8_REPLACEMENT);
    ck_assert_uint_eq(utf8_before("\x80\x80", 2), 0);
}

TEST(a_run_of_equal_characters_ends_between_characters)
{
    static const struct {
        const char *text;
        size_t length, end;
    } cases[] = {
        {"aaab", 1, 3},     {"ab", 1, 1}, {"éééê", 2, 6},
        {"我我我爱", 3, 9}, {"我", 3, 3}, {"ééa", 2, 4},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        ck_assert_uint_eq(utf8_row_end(cases[i].text, strlen(cases[i].text), 0, cases[i].length),
                          cases[i].end);
}
