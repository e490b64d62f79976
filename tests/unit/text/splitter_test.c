#include "text/splitter.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../unit.h"
#include "base/buf.h"
#include "base/utf8.h"

/* The pieces of a text between bars. */
static void describe(struct buf *out, const char *text, size_t size)
{
    struct splitter splitter = splitter_of(SPLITTER_GPT2, text, size);
    buf_text(out, "");
    for (size_t at = 0, end; at < size; at = end) {
        end = splitter_next(&splitter, at);
        ck_assert_uint_gt(end, at);
        ck_assert_uint_le(end, size);
        buf_text(out, at ? "|" : "");
        buf_bytes(out, text + at, end - at);
    }
}

static const struct {
    const char *text;
    const char *pieces;
} cases[] = {
    {"", ""},
    {"a", "a"},
    {" ", " "},
    {"Hello, world!", "Hello|,| world|!"},
    {"hello  world", "hello| | world"},
    {"hello   ", "hello|   "},
    {"  hello", " | hello"},
    {"a \n b", "a| \n| b"},
    {"a\n\n", "a|\n\n"},
    {"a\n\nb", "a|\n|\n|b"},
    {"a\tb", "a|\t|b"},
    {"a \tb", "a| |\t|b"},
    {"\n", "\n"},
    {"I'm you're he's they've I'll I'd don't", "I|'m| you|'re| he|'s| they|'ve| I|'ll| I|'d|"
                                               " don|'t"},
    {"I'M HE'S", "I|'|M| HE|'|S"},
    {"'s", "'s"},
    {"'", "'"},
    {"'l", "'|l"},
    {"'r e", "'|r| e"},
    {"''s", "''|s"},
    {" 's", " '|s"},
    {"!'s", "!'|s"},
    {"'sam", "'s|am"},
    {"'llama", "'ll|ama"},
    {"x'll'll", "x|'ll|'ll"},
    {"it’s", "it|’|s"},
    {"1,000", "1|,|000"},
    {"v1.2", "v|1|.|2"},
    {" 42", " 42"},
    {"a1b", "a|1|b"},
    {"x²½Ⅷ9", "x|²½Ⅷ9"}, /* \p{N} is more than digits */
    {"naïve café", "naïve| café"},
    {"e\xCC\x81t\xC3\xA9", "e|\xCC\x81|té"},     /* a mark is no letter */
    {"नमस्ते", "नमस|\xE0\xA5\x8D|त|\xE0\xA5\x87"}, /* so Hindi falls to pieces */
    {"我爱 你", "我爱| 你"},
    {"爱。", "爱|。"},
    {"🍰🍰 🍰", "🍰🍰| 🍰"},
    {"👩\xE2\x80\x8D🔬", "👩\xE2\x80\x8D🔬"},
    {"Ⓐb", "Ⓐ|b"}, /* alphabetic, but no letter */
    {"a_b", "a|_|b"},
    {"a\xC2\x85"
     "b",
     "a|\xC2\x85|b"}, /* U+0085 is white space */
    {"a\xC2\xA0\xC2\xA0"
     "b",
     "a|\xC2\xA0|\xC2\xA0|b"},
    {"a\xE3\x80\x80 b", "a|\xE3\x80\x80| b"},
    {"a \xE3\x80\x80"
     "b",
     "a| |\xE3\x80\x80|b"},
    {"a\xEF\xBB\xBF"
     "b",
     "a|\xEF\xBB\xBF|b"},               /* U+FEFF is not */
    {" \xE2\x80\x8B", " \xE2\x80\x8B"}, /* nor is U+200B */
    {"\x01\x02 \x7F", "\x01\x02| \x7F"},
    {"\xF4\x8F\xBF\xBF.", "\xF4\x8F\xBF\xBF."},
};

TEST(texts_are_cut_as_gpt2_cuts_them)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf found = {0};
        describe(&found, cases[i].text, strlen(cases[i].text));
        ck_assert_msg(strcmp(found.bytes, cases[i].pieces) == 0, "'%s' gives '%s'", cases[i].text,
                      found.bytes);
        buf_release(&found);
    }
}

TEST(a_zero_is_a_character_like_others)
{
    struct splitter splitter = splitter_of(SPLITTER_GPT2, "'\0a", 3);
    ck_assert_uint_eq(splitter_next(&splitter, 0), 2);
    ck_assert_uint_eq(splitter_next(&splitter, 2), 3);
}

/* --- the judge: the pattern, alternative by alternative --------------------------------------- */

static char class_at(const char *text, size_t size, size_t at, size_t *length)
{
    uint32_t c = 0;
    *length = utf8_decode(&c, text + at, size - at);
    switch (unicode_run(c).kind) {
    case UNICODE_LETTER:
        return 'L';
    case UNICODE_DIGIT:
    case UNICODE_LETTER_NUMBER:
    case UNICODE_OTHER_NUMBER:
        return 'N';
    case UNICODE_SPACE:
        return 'S';
    default:
        return '.';
    }
}

/* The end of `class+` at `at`, or `at`. */
static size_t match_class(const char *text, size_t size, size_t at, char class)
{
    size_t length = 0;
    while (at < size && class_at(text, size, at, &length) == class)
        at += length;
    return at;
}

/* `\s+(?!\S)`: shorter and shorter, until what follows is the end or white space. */
static size_t match_blanks(const char *text, size_t size, size_t at)
{
    size_t length = 0;
    size_t end = match_class(text, size, at, 'S');
    while (end > at && end < size && class_at(text, size, end, &length) != 'S') {
        end--;
        while (((unsigned char)text[end] & 0xC0) == 0x80)
            end--;
    }
    return end;
}

static size_t slow_split(const char *text, size_t size, size_t at)
{
    static const char *const shorts[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (size_t i = 0; i < COUNT(shorts); i++)
        if (size - at >= strlen(shorts[i]) && memcmp(text + at, shorts[i], strlen(shorts[i])) == 0)
            return at + strlen(shorts[i]);
    for (const char *class = "LN."; *class; class ++) {
        size_t start = at + (text[at] == ' ');
        size_t end = match_class(text, size, start, *class);
        if (end > start)
            return end;
    }
    size_t end = match_blanks(text, size, at);
    return end > at ? end : match_class(text, size, at, 'S');
}

TEST(random_texts_are_cut_as_the_pattern_says)
{
    static const char *const parts[] = {
        "a", "Z", "é", "爱", "1",  "²", " ", "  ",       "\n",   "\xC2\x85",     "\xE3\x80\x80",
        "'", "s", "t", "re", "ll", "!", "🍰", "\xCC\x81", "\x01", "\xE2\x80\x8D", "ш",
        "٣", "_"};
    unsigned seed = 1;
    for (int round = 0; round < 5000; round++) {
        struct buf text = {0};
        buf_text(&text, "");
        for (int left = rand_r(&seed) % 12; left >= 0; left--)
            buf_text(&text, parts[(size_t)(rand_r(&seed) >> 4) % COUNT(parts)]);
        struct splitter splitter = splitter_of(SPLITTER_GPT2, text.bytes, text.size);
        for (size_t at = 0; at < text.size;) {
            size_t end = slow_split(text.bytes, text.size, at);
            ck_assert_msg(splitter_next(&splitter, at) == end, "'%s' at %zu", text.bytes, at);
            at = end;
        }
        buf_release(&text);
    }
}
