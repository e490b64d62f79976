#include "text/label.h"

#include <string.h>

#include "../unit.h"
#include "base/memory.h"
#include "base/utf8.h"

static const struct {
    const char *bytes;
    size_t size;
    const char *label;
} labels[] = {
    {"", 0, ""},
    {"the", 3, "the"},
    {" the", 4, "␣the"},
    {"\n", 1, "↵"},
    {"\t\r\n", 3, "⇥\\x0d↵"},
    {"don't", 5, "don't"},
    {"<unk>", 5, "<unk>"},
    {"自然", 6, "自然"},
    {"👨\xE2\x80\x8D👩", 11, "👨\xE2\x80\x8D👩"},
    {"e\xCC\x81", 3, "e\xCC\x81"},
    {"a\0b", 3, "a\\x00b"},
    {"\x1B[31m", 5, "\\x1b[31m"},
    {"\x7F", 1, "\\x7f"},
    {"\xC2\x9B", 2, "\\xc2\\x9b"}, /* starts a control sequence of a terminal */
    {"\xE2\x80\xAE"
     "abc",
     6, "\\xe2\\x80\\xaeabc"}, /* switches to right-to-left */
    {"\xC2\xA0", 2, "⍽"},      /* a no-break space */
    {"\xE7\x88", 2, "\\xe7\\x88"},
    {"a\xFFz", 3, "a\\xffz"},
    {"\xF0\x9D\x85\xB3", 4, "\\xf0\\x9d\\x85\\xb3"},
};

TEST(invisible_characters_are_made_visible)
{
    for (size_t i = 0; i < COUNT(labels); i++) {
        struct buf buf = {0};
        buf_text(&buf, "3:");
        label_visible(&buf, labels[i].bytes, labels[i].size);
        ck_assert_str_eq(buf.bytes + 2, labels[i].label);
        buf_release(&buf);
    }
}

TEST(a_line_is_truncated_to_its_capacity)
{
    static const char *const lines[] = {"", "a", "a b", "a b", "a b\\xff"};
    static const size_t rooms[] = {1, 2, 4, 7, 8};
    for (size_t i = 0; i < COUNT(rooms); i++) {
        char line[8];
        ck_assert_uint_eq(label_fill(line, rooms[i], "a b\xFFz"), strlen(lines[i]));
        ck_assert_str_eq(line, lines[i]);
    }
}

enum { ROW = 6 };

TEST(tokens_that_are_parts_of_a_character_are_numbered)
{
    static const struct {
        const char *row[ROW]; /* tokens */
        const char *labels[ROW];
    } cases[] = {
        {{"", " the", "爱"}, {"", "␣the", "爱"}},
        {{"\xE2", "\x82", "\xAC", "!"}, {"€₁", "€₂", "€₃", "!"}},
        {{" \xF0\x9F", "\x8D", "\xB0", "!"}, {"␣🍰₁", "🍰₂", "🍰₃", "!"}},
        {{"a\xF0", "\x9F\x8D", "\xB0!"}, {"a🍰₁", "🍰₂", "🍰₃!"}},
        {{"\xF0", "\x9F", "\x8D", "\xB0"}, {"🍰₁", "🍰₂", "🍰₃", "🍰₄"}},
        {{"\xE7", "\x88\xB1爱\xE7", "\x88\xB1\xC3", "\xA9"}, {"爱₁", "爱₂爱爱₁", "爱₂é₁", "é₂"}},
        {{"\xE7\x88", "", "\xB1"}, {"爱₁", "", "爱₂"}},
        {{"e\xCC", "\x81"}, {"e◌\xCC\x81₁", "◌\xCC\x81₂"}},
        /* incomplete characters */
        {{" \xF0\x9F"}, {"␣\\xf0\\x9f‿"}},
        {{" \xF0\x9F", "\x8D", "!"}, {"␣\\xf0\\x9f‿", "‿\\x8d", "!"}},
        {{"\x8D", "\xB0"}, {"‿\\x8d‿", "‿\\xb0"}},
        {{"\xE7\x88", NULL, "\xB1"}, {"\\xe7\\x88‿", NULL, "‿\\xb1"}},
        {{"\xC3", "\xA9", "\xA9"}, {"é₁", "é₂", "‿\\xa9"}},
        {{"\xC0", "\xFF"}, {"\\xc0", "\\xff"}}, /* not the beginning of a character */
        {{"\xE0", "\x80", "\x80"}, {"\\xe0‿", "‿\\x80‿", "‿\\x80"}},
        /* invisible characters */
        {{"\xC2", "\xA0"}, {"\\xc2‿", "‿\\xa0"}},
        {{"\xE2\x80", "\xAE"}, {"\\xe2\\x80‿", "‿\\xae"}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct token_bytes row[ROW];
        size_t count = ROW;
        for (size_t at = 0; at < ROW; at++)
            row[at] = (struct token_bytes){cases[i].row[at],
                                           cases[i].row[at] ? strlen(cases[i].row[at]) : 0};
        while (!row[count - 1].bytes)
            count--;
        for (size_t at = 0; at < count; at++) {
            struct buf buf = {0};
            if (!row[at].bytes)
                continue;
            buf_text(&buf, "");
            label_token(&buf, row, count, at);
            ck_assert_str_eq(buf.bytes, cases[i].labels[at]);
            buf_release(&buf);
        }
    }
    ck_assert(label_is_rest("\x8D", 1));
    ck_assert(!label_is_rest("\xF0\x9F", 2));
    ck_assert(!label_is_rest("", 0));
}

TEST(a_short_word_is_its_own_excerpt)
{
    for (size_t i = 0; i < COUNT(labels); i++)
        ck_assert_str_eq(label_excerpt(labels[i].bytes, labels[i].size), labels[i].label);
}

TEST(a_message_can_have_several_excerpts)
{
    const char *texts[LABEL_EXCERPTS];
    for (size_t i = 0; i < LABEL_EXCERPTS; i++)
        texts[i] = label_excerpt(&"abcd"[i], 1);
    for (size_t i = 0; i < LABEL_EXCERPTS; i++)
        ck_assert_msg(texts[i][0] == "abcd"[i] && !texts[i][1], "%s", texts[i]);
}

TEST(a_long_word_is_truncated_between_characters)
{
    static const char *const units[] = {"a", "é", "爱", "🍰", "\x01", "\xC2\x80", " "};
    for (size_t i = 0; i < COUNT(units); i++) {
        for (size_t count = 1; count <= 200; count++) {
            struct buf word = {0};
            struct buf label = {0};
            for (size_t n = 0; n < count; n++)
                buf_text(&word, units[i]);
            label_visible(&label, word.bytes, word.size);
            const char *text = label_excerpt(word.bytes, word.size);
            size_t size = strlen(text);
            ck_assert_uint_eq(utf8_invalid_at(text, size), size);
            if (label.size < LABEL_EXCERPT_BYTES) {
                ck_assert_str_eq(text, label.bytes);
            } else {
                ck_assert_uint_ge(size, LABEL_EXCERPT_BYTES - 8);
                ck_assert_str_eq(text + size - 3, "…");
                ck_assert_mem_eq(text, label.bytes, size - 3);
            }
            buf_release(&word);
            buf_release(&label);
        }
    }
}

TEST(a_failed_allocation_marks_the_buffer)
{
    struct buf buf = {0};
    heap_fail_at(1, 0);
    label_visible(&buf, "word", 4);
    ck_assert_int_eq(buf_check(&buf, NULL), -1);
    buf_release(&buf);
}
