#include "text/matcher.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../rigs/patience.h"
#include "../unit.h"
#include "base/buf.h"
#include "base/utf8.h"

/* The pieces of a text, joined with bars. */
static void describe(struct buf *out, enum splitter_kind kind, const char *text, size_t size)
{
    const struct matcher matcher = {.splitter = kind};
    struct matcher_walk walk = matcher_walk(&matcher, text, size, NULL);
    struct text_range piece;
    buf_text(out, "");
    while (matcher_next(&walk, &piece, NULL) > 0) {
        ck_assert_uint_gt(piece.end, piece.start);
        ck_assert_uint_le(piece.end, size);
        buf_text(out, piece.start ? "|" : "");
        buf_bytes(out, text + piece.start, piece.end - piece.start);
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
    for (enum splitter_kind kind = SPLITTER_GPT2; kind <= SPLITTER_LLAMA3; kind++) {
        struct buf found = {0};
        describe(&found, kind, "'\0a", 3);
        ck_assert_mem_eq(found.bytes, "'\0|a", 4);
        buf_release(&found);
    }
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

/* Oniguruma's matcher of a pattern: in a group no pattern has a splitter. */
static struct matcher open_regex(const char *pattern)
{
    struct matcher matcher = {0};
    struct buf group = {0};
    struct err err = {0};
    buf_format(&group, "(?:%s)", pattern);
    ck_assert_msg(!matcher_set_pattern(&matcher, group.bytes, &err), "%s", err.text);
    ck_assert_ptr_nonnull(matcher.regex);
    buf_release(&group);
    return matcher;
}

static void expect_same(const struct matcher *matcher, const struct matcher *judge,
                        const char *text, size_t size)
{
    struct matcher_walk walk = matcher_walk(matcher, text, size, NULL);
    struct matcher_walk judges = matcher_walk(judge, text, size, NULL);
    for (int found = 1; found;) {
        struct text_range match = {0};
        struct text_range expected = {0};
        found = matcher_next(&judges, &expected, NULL);
        ck_assert_int_eq(matcher_next(&walk, &match, NULL), found);
        ck_assert_msg(!found || (match.start == expected.start && match.end == expected.end),
                      "'%s': [%zu, %zu), not [%zu, %zu)", text, match.start, match.end,
                      expected.start, expected.end);
    }
    matcher_walk_release(&judges);
    matcher_walk_release(&walk);
}

static struct matcher splitter_of(const char *pattern)
{
    struct matcher matcher = {0};
    ck_assert_int_eq(matcher_set_pattern(&matcher, pattern, NULL), 0);
    return matcher;
}

TEST_LOOP(a_splitter_is_found_by_its_pattern, COUNT(patterns))
{
    ck_assert_int_eq(splitter_of(patterns[_i].pattern).splitter, patterns[_i].kind);
    ck_assert_ptr_null(splitter_of(patterns[_i].pattern).regex);
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
    const struct matcher splitter = {.splitter = patterns[_i].kind};
    struct matcher regex = open_regex(patterns[_i].pattern);
    unsigned seed = 1;
    for (size_t round = 0; round < 10000; round += one_of(33)) {
        char text[256] = "";
        for (int left = rand_r(&seed) % 12; left >= 0; left--)
            strcat(text, parts[(size_t)(rand_r(&seed) >> 4) % COUNT(parts)]);
        expect_same(&splitter, &regex, text, strlen(text));
    }
    matcher_release(&regex);
}

/* Characters between others: each pattern gets a third of them, each character some pattern, and
 * later planes a seventh of that. Skips characters that Oniguruma's older Unicode does not have. */
TEST_LOOP(all_characters_have_the_class_of_the_pattern, COUNT(patterns))
{
    const struct matcher splitter = {.splitter = patterns[_i].kind};
    struct matcher regex = open_regex(patterns[_i].pattern);
    struct matcher unassigned = open_regex("\\p{Cn}");
    size_t seen = 0;
    for (uint32_t c = 1 + (uint32_t)_i % 3; c <= 0x10FFFF;
         c += (uint32_t)(c < 0x20000 ? 3 * one_of(34) : 21 * one_of(34))) {
        char text[32] = "";
        struct text_range match;
        if ((c >= 0xD800 && c <= 0xDFFF) || (c >= 0x40000 && c <= 0xDFFFF)) /* not characters */
            continue;
        size_t size = utf8_encode(text, c);
        struct matcher_walk walk = matcher_walk(&unassigned, text, size, NULL);
        int is_unassigned = matcher_next(&walk, &match, NULL);
        matcher_walk_release(&walk);
        if (is_unassigned)
            continue;
        memmove(text + 1, text, size);
        text[0] = 'x';
        memcpy(text + 1 + size, "1 ", 2);
        memcpy(text + 3 + size, text + 1, size);
        memcpy(text + 3 + 2 * size, "!'", 2);
        memcpy(text + 5 + 2 * size, text + 1, size);
        expect_same(&splitter, &regex, text, 5 + 3 * size);
        seen++;
    }
    ck_assert_uint_ge(seen, 33000 / one_of(34));
    matcher_release(&unassigned);
    matcher_release(&regex);
}

/* --- runs of characters: matcher.h ------------------------------------------------------------ */

static const char *const row_patterns[] = {"\\s+", "[0-9][0-9][0-9]"};

TEST_LOOP(runs_of_characters_are_matched_as_by_the_pattern, COUNT(row_patterns))
{
    static const char *const parts[] = {
        "1",  "22", "333",      "4444",         "x",           "é", " ", "\n",
        "\t", "٣",  "\xC2\x85", "\xE3\x80\x80", "\xE2\x80\x8B"};
    struct matcher matcher = splitter_of(row_patterns[_i]);
    struct matcher regex = open_regex(row_patterns[_i]);
    unsigned seed = 1;
    ck_assert_ptr_null(matcher.regex);
    for (size_t round = 0; round < 30000; round += one_of(100)) {
        char text[128] = "";
        for (int left = rand_r(&seed) % 12; left >= 0; left--)
            strcat(text, parts[(size_t)(rand_r(&seed) >> 4) % COUNT(parts)]);
        expect_same(&matcher, &regex, text, strlen(text));
    }
    matcher_release(&regex);
}

/* Characters that Unicode 14 lacks, in the categories of tokenizers 0.23; and older ones. */
static const struct {
    const char *pattern;
    uint32_t member, other;
} newer[] = {
    {"\\p{S}", 0x1FA77, 0x11B00},
    {"[^\\P{P}]", 0x11B00, 0x1FA77},
    {"\\p{P}", 0x1B4E, 0x113D6},
    {"\\p{L}", 0x1E4D0, 0x1E4F0},
    {"\\p{N}", 0x1E4F0, 0x1E4D0},
    {"[\\p{M}]", 0x1E4EC, 0x1E4F0},
    {"[^\\p{L}\\p{N}]", 0x1FA77, 0x1E4F0},
    {"\\p{S}", 0x2B, 0x61},
    {"\\p{L}", 0x61, 0x2B},
};

static bool pattern_finds(const struct matcher *matcher, uint32_t character)
{
    char text[4];
    size_t size = utf8_encode(text, character);
    struct matcher_walk walk = matcher_walk(matcher, text, size, NULL);
    struct text_range match;
    bool found = matcher_next(&walk, &match, NULL) > 0;
    matcher_walk_release(&walk);
    return found;
}

TEST_LOOP(patterns_know_characters_newer_than_those_of_oniguruma, COUNT(newer))
{
    struct matcher matcher = {.is = NULL};
    ck_assert_int_eq(matcher_set_pattern(&matcher, newer[_i].pattern, NULL), 0);
    ck_assert(pattern_finds(&matcher, newer[_i].member));
    ck_assert(!pattern_finds(&matcher, newer[_i].other));
    matcher_release(&matcher);
}
