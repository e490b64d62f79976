#include "text/splitter.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../rigs/patience.h"
#include "../unit.h"
#include "base/buf.h"
#include "base/utf8.h"
#include "text/matcher.h"

/* The pieces of a text, joined with bars. */
static void describe(struct buf *out, enum splitter_kind kind, const char *text, size_t size)
{
    struct splitter splitter = splitter_of(kind, text, size);
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
    {"e\xCC\x81t\xC3\xA9", "e|\xCC\x81|té"},     /* a mark is not a letter */
    {"नमस्ते", "नमस|\xE0\xA5\x8D|त|\xE0\xA5\x87"}, /* so Hindi words are split */
    {"我爱 你", "我爱| 你"},
    {"爱。", "爱|。"},
    {"🍰🍰 🍰", "🍰🍰| 🍰"},
    {"👩\xE2\x80\x8D🔬", "👩\xE2\x80\x8D🔬"},
    {"Ⓐb", "Ⓐ|b"}, /* alphabetic, but not a letter */
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
     "a|\xEF\xBB\xBF|b"},               /* U+FEFF is not white space */
    {" \xE2\x80\x8B", " \xE2\x80\x8B"}, /* neither is U+200B */
    {"\x01\x02 \x7F", "\x01\x02| \x7F"},
    {"\xF4\x8F\xBF\xBF.", "\xF4\x8F\xBF\xBF."},
};

TEST(texts_are_split_as_by_gpt2)
{
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf found = {0};
        describe(&found, SPLITTER_GPT2, cases[i].text, strlen(cases[i].text));
        ck_assert_msg(strcmp(found.bytes, cases[i].pieces) == 0, "'%s' gives '%s'", cases[i].text,
                      found.bytes);
        buf_release(&found);
    }
}

TEST(a_zero_byte_is_an_ordinary_character)
{
    struct splitter splitter = splitter_of(SPLITTER_GPT2, "'\0a", 3);
    ck_assert_uint_eq(splitter_next(&splitter, 0), 2);
    ck_assert_uint_eq(splitter_next(&splitter, 2), 3);
    splitter = splitter_of(SPLITTER_LLAMA3, "'\0a", 3);
    ck_assert_uint_eq(splitter_next(&splitter, 0), 2);
}

/* Differences from GPT-2: contractions in any case, a sign before letters, groups of three digits
 * (Qwen: one), lines. */
TEST(texts_are_split_as_by_llama_3_and_qwen_2)
{
    static const struct {
        const char *text;
        const char *llama3, *qwen2;
    } rows[] = {
        {"Hello, world!", "Hello|,| world|!", NULL},
        {"I'M HE'LL x'D", "I|'M| HE|'LL| x|'D", NULL},
        {"x'\xC5\xBF!", "x|'\xC5\xBF|!", NULL},
        {"'sam 'rest", "'s|am| '|rest", NULL},
        {"#tag (a) _b", "#tag| (|a|)| _|b", NULL},
        {"12345 v1", "123|45| v|1", "1|2|3|4|5| v|1"},
        {"a\n\nb", "a|\n\n|b", NULL},
        {"a \n\n  b", "a| \n\n| | b", NULL},
        {"!\r\n\n x", "!\r\n\n| x", NULL},
        {"\tx\xC2\xA0y", "\tx|\xC2\xA0y", NULL},
        {"a   ", "a|   ", NULL},
        {" 🍰é", " 🍰|é", NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct buf found[2] = {{0}};
        const char *text = rows[i].text;
        describe(&found[0], SPLITTER_LLAMA3, text, strlen(text));
        describe(&found[1], SPLITTER_QWEN2, text, strlen(text));
        ck_assert_str_eq(found[0].bytes, rows[i].llama3);
        ck_assert_str_eq(found[1].bytes, rows[i].qwen2 ? rows[i].qwen2 : rows[i].llama3);
        buf_release(&found[0]);
        buf_release(&found[1]);
    }
}

/* --- compared with Oniguruma and the pattern itself ------------------------------------------- */

static const struct {
    const char *pattern;
    enum splitter_kind kind;
} patterns[] = {
    {"'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
     SPLITTER_GPT2},
    {"'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
     SPLITTER_GPT2},
    {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| "
     "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
     SPLITTER_LLAMA3},
    {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| "
     "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
     SPLITTER_QWEN2},
    {"'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+", SPLITTER_CLIP},
    {"<\\|startoftext\\|>|<\\|endoftext\\|>|'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|"
     "[^\\s\\p{L}\\p{N}]+",
     SPLITTER_CLIP_SPECIAL},
};

static struct regex *open_regex(const char *pattern)
{
    struct regex *regex = NULL;
    struct err err = {0};
    ck_assert_msg(!regex_open(&regex, pattern, &err), "%s", err.text);
    return regex;
}

static void expect_matches(enum splitter_kind kind, const struct regex *regex, const char *text,
                           size_t size)
{
    struct splitter splitter = splitter_of(kind, text, size);
    struct regex_walk walk = {.regex = regex, .text = text, .size = size};
    for (size_t at = 0; (at = splitter_skip(&splitter, at)) < size;) {
        struct text_range match;
        ck_assert_int_eq(regex_next(&walk, &match, NULL), 1);
        size_t end = splitter_next(&splitter, at);
        ck_assert_msg(match.start == at && match.end == end, "'%s' at %zu: %zu, not %zu", text, at,
                      end, match.end);
        at = end;
    }
    struct text_range more;
    ck_assert_int_eq(regex_next(&walk, &more, NULL), 0);
    regex_walk_release(&walk);
}

TEST_LOOP(a_splitter_is_found_by_its_pattern, COUNT(patterns))
{
    ck_assert_int_eq(splitter_find(patterns[_i].pattern)->kind, patterns[_i].kind);
    ck_assert_ptr_null(splitter_find(patterns[_i].pattern + 1));
    ck_assert_ptr_null(splitter_find(""));
}

TEST_LOOP(random_texts_are_split_as_by_the_pattern, COUNT(patterns))
{
    static const char *const parts[] = {"a",
                                        "Z",
                                        "é",
                                        "爱",
                                        "1",
                                        "²",
                                        " ",
                                        "  ",
                                        "\n",
                                        "\xC2\x85",
                                        "\xE3\x80\x80",
                                        "'",
                                        "s",
                                        "t",
                                        "re",
                                        "ll",
                                        "!",
                                        "🍰",
                                        "\r",
                                        "\t",
                                        "\xE2\x80\x8D",
                                        "ш",
                                        "\x01",
                                        "٣",
                                        "_",
                                        "D",
                                        "VE",
                                        "\xC5\xBF",
                                        "\xCC\x81",
                                        "<|startoftext|>",
                                        "<|endoftext|>"};
    struct regex *regex = open_regex(patterns[_i].pattern);
    unsigned seed = 1;
    for (size_t round = 0; round < 10000; round += one_of(33)) {
        char text[256] = "";
        for (int left = rand_r(&seed) % 12; left >= 0; left--)
            strcat(text, parts[(size_t)(rand_r(&seed) >> 4) % COUNT(parts)]);
        expect_matches(patterns[_i].kind, regex, text, strlen(text));
    }
    regex_free(regex);
}

/* Characters between others: each pattern gets a third of them, each character some pattern, and
 * later planes a seventh of that. Skips characters that Oniguruma's older Unicode does not have. */
TEST_LOOP(all_characters_have_the_class_of_the_pattern, COUNT(patterns))
{
    struct regex *regex = open_regex(patterns[_i].pattern);
    struct regex *unassigned = open_regex("\\p{Cn}");
    size_t seen = 0;
    for (uint32_t c = 1 + (uint32_t)_i % 3; c <= 0x10FFFF;
         c += (uint32_t)(c < 0x20000 ? 3 * one_of(34) : 21 * one_of(34))) {
        char text[32] = "";
        struct text_range match;
        if ((c >= 0xD800 && c <= 0xDFFF) || (c >= 0x40000 && c <= 0xDFFFF)) /* not characters */
            continue;
        size_t size = utf8_encode(text, c);
        struct regex_walk walk = {.regex = unassigned, .text = text, .size = size};
        int is_unassigned = regex_next(&walk, &match, NULL);
        regex_walk_release(&walk);
        if (is_unassigned)
            continue;
        memmove(text + 1, text, size);
        text[0] = 'x';
        memcpy(text + 1 + size, "1 ", 2);
        memcpy(text + 3 + size, text + 1, size);
        memcpy(text + 3 + 2 * size, "!'", 2);
        memcpy(text + 5 + 2 * size, text + 1, size);
        expect_matches(patterns[_i].kind, regex, text, 5 + 3 * size);
        seen++;
    }
    ck_assert_uint_ge(seen, 33000 / one_of(34));
    regex_free(unassigned);
    regex_free(regex);
}

/* --- runs of characters: matcher.h ------------------------------------------------------------ */

static const char *const row_patterns[] = {"\\s+", "[0-9][0-9][0-9]"};

TEST_LOOP(runs_of_characters_are_matched_as_by_the_pattern, COUNT(row_patterns))
{
    static const char *const parts[] = {
        "1",  "22", "333",      "4444",         "x",           "é", " ", "\n",
        "\t", "٣",  "\xC2\x85", "\xE3\x80\x80", "\xE2\x80\x8B"};
    struct matcher matcher = {0};
    struct regex *regex = NULL;
    unsigned seed = 1;
    ck_assert_int_eq(matcher_set_pattern(&matcher, row_patterns[_i], NULL), 0);
    ck_assert_ptr_null(matcher.regex);
    ck_assert_int_eq(regex_open(&regex, row_patterns[_i], NULL), 0);
    for (size_t round = 0; round < 30000; round += one_of(100)) {
        char text[128] = "";
        for (int left = rand_r(&seed) % 12; left >= 0; left--)
            strcat(text, parts[(size_t)(rand_r(&seed) >> 4) % COUNT(parts)]);
        struct matcher_walk walk = matcher_walk(&matcher, text, strlen(text), NULL);
        struct regex_walk judge = {.regex = regex, .text = text, .size = strlen(text)};
        for (int found = 1; found;) {
            struct text_range match = {0};
            struct text_range expected = {0};
            found = regex_next(&judge, &expected, NULL);
            ck_assert_int_eq(matcher_next(&walk, &match, NULL), found);
            ck_assert_msg(!found || (match.start == expected.start && match.end == expected.end),
                          "'%s': [%zu, %zu), not [%zu, %zu)", text, match.start, match.end,
                          expected.start, expected.end);
        }
        regex_walk_release(&judge);
        matcher_walk_release(&walk);
    }
    regex_free(regex);
    matcher_release(&matcher);
}
