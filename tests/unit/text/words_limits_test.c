/* Limits of words: compared with backtracking, megabytes, failed allocations. */
#include "text/builder.h"

#include <string.h>

#include "../rigs/starve.h"
#include "../unit.h"
#include "../rigs/words_fixture.h"
#include "base/buf.h"
#include "base/memory.h"

#define ACUTE "\xCC\x81"

enum { MEGABYTE = 1000000 }; /* quadratic time is hours: Check ends a test that takes so long */

/* Reference: try the longest word first; backtrack if the rest cannot be split. */
static bool slow_cut(struct buf *out, const struct tokenizer *vocabulary, const char *text)
{
    size_t size = out->size;
    if (!*text)
        return true;
    for (size_t length = strlen(text); length > 0; length--) {
        if (!words_find(vocabulary, text, length, NULL))
            continue;
        buf_text(out, size ? "~" : "");
        buf_bytes(out, text, length);
        if (slow_cut(out, vocabulary, text + length))
            return true;
        out->size = size;
    }
    return false;
}

static void expect_slow_cuts(const struct tokenizer *vocabulary)
{
    for (uint32_t bits = 0; bits < 512; bits++) {
        struct arena arena = {0};
        struct tokens tokens = {0};
        struct buf expected = {0};
        struct buf found = {0};
        char text[10] = "";
        for (int i = 0; i < 9; i++)
            text[i] = (char)('a' + (bits >> i & 1));
        if (!slow_cut(&expected, vocabulary, text))
            buf_text(&expected, text); /* unknown as a whole */
        ck_assert_int_eq(words_keep(vocabulary, &tokens, text, 9, &arena, NULL), 0);
        words_describe(&found, &tokens, text);
        ck_assert_str_eq(found.bytes, expected.bytes);
        buf_release(&expected);
        buf_release(&found);
        arena_release(&arena);
    }
}

TEST(splitting_agrees_with_backtracking)
{
    uint32_t random = 1;
    for (int round = 0; round < 200; round++) {
        struct tokenizer vocabulary = {0};
        struct buf words = {0};
        buf_text(&words, "<unk>");
        for (uint32_t bits = 2; bits < 64; bits++) { /* a random few of all words of a and b */
            random = random * 1664525 + 1013904223;
            if (random >> 24 > 50)
                continue;
            buf_char(&words, '~');
            for (uint32_t rest = bits; rest > 1; rest /= 2)
                buf_char(&words, (char)('a' + rest % 2));
        }
        words_open(&vocabulary, words.bytes);
        expect_slow_cuts(&vocabulary);
        tokenizer_release(&vocabulary);
        buf_release(&words);
    }
}

static const struct {
    const char *words;
    const char *first;
    const char *unit; /* repeated up to a megabyte */
    size_t tokens;
    bool fails;
} megabytes[] = {
    {"a~aa~aaa~aaaa~aaaaa~aaaaaa~aaaaaaa~aaaaaaaa", "", "a", MEGABYTE / 8, false},
    {"a~aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "", "a", MEGABYTE, false},
    {"<unk>~a~aa~aaa~aaaa~aaaaa~aaaaaa", "b", "a", 1, false},
    {"b", "", "a", 0, true},
    {"爱", "", "爱", MEGABYTE / 3, false},
    {".~..~...", "", ".", (MEGABYTE + 2) / 3, false},
    {"a", "", ".", 0, false},
    {"a", "", " ", 0, false},
    {"a", "", "🍰", 0, false},
    {"a~a a~a a a", "", "a ", (MEGABYTE / 2 + 2) / 3, false},
    {"❤", "❤", ACUTE, 1, false},
    {"❤~" ACUTE, "❤", ACUTE, 1 + (MEGABYTE - 3) / 2, false},
    {"<unk>", "", ACUTE, 1, false},
};

TEST_LOOP(a_megabyte_of_one_character_takes_linear_time, COUNT(megabytes))
{
    struct tokenizer vocabulary = {0};
    struct arena arena = {0};
    struct tokens tokens = {0};
    struct buf text = {0};
    words_open(&vocabulary, megabytes[_i].words);
    buf_text(&text, megabytes[_i].first);
    while (text.size + strlen(megabytes[_i].unit) <= MEGABYTE)
        buf_text(&text, megabytes[_i].unit);
    int failed = words_keep(&vocabulary, &tokens, text.bytes, text.size, &arena, NULL);
    ck_assert_int_eq(failed != 0, megabytes[_i].fails);
    ck_assert_uint_eq(tokens.count, megabytes[_i].tokens);
    buf_release(&text);
    arena_release(&arena);
    tokenizer_release(&vocabulary);
}

TEST(a_failed_allocation_is_an_error)
{
    struct tokenizer vocabulary = {0};
    struct buf texts[2] = {0};
    buf_text(&texts[0], "a, 我爱");
    for (int i = 0; i < 100; i++) /* so long that the list of tokens grows */
        buf_text(&texts[1], "我爱");
    words_open(&vocabulary, "我~爱~a");
    for (int i = 0; i < 2; i++) {
        struct starve starve = {.least = 3};
        while (starve_next(&starve)) {
            struct arena arena = {0};
            struct tokens tokens = {0};
            struct err err = {0};
            starve_check(
                &starve,
                words_keep(&vocabulary, &tokens, texts[i].bytes, texts[i].size, &arena, &err),
                &err);
            arena_release(&arena);
        }
        buf_release(&texts[i]);
    }
    tokenizer_release(&vocabulary);
}
