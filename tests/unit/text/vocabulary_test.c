#include "text/builder.h"

#include <stdio.h>
#include <string.h>

#include "../rigs/starve.h"
#include "../unit.h"
#include "../rigs/words_fixture.h"
#include "text/subword/subword.h"
#include "base/buf.h"

static int open_text(struct tokenizer *vocabulary, const char *json, struct err *err)
{
    const struct folder_file file = {"vocab.json", json, strlen(json)};
    const struct folder folder = {"life", &file, 1};
    return tokenizer_fill(vocabulary, &folder, err);
}

static void expect_word(const struct tokenizer *vocabulary, uint32_t id, const char *word)
{
    uint32_t found = UINT32_MAX;
    size_t size = 0;
    const char *bytes = word_table_word(&vocabulary->set.words, id, &size);
    ck_assert_ptr_nonnull(bytes);
    ck_assert_uint_eq(size, strlen(word));
    ck_assert_mem_eq(bytes, word, size);
    ck_assert(words_find(vocabulary, word, size, &found));
    ck_assert_uint_eq(found, id);
}

TEST(words_are_found_by_id_and_ids_by_word)
{
    static const char *const forms[] = {
        "{\"is\": 1, \"Life\": 0, \"\\u7231\": 3, \"<unk>\": 2}\n",
        "[\"Life\", \"is\",\r\n\"<unk>\", \"爱\"]",
    };
    for (size_t i = 0; i < COUNT(forms); i++) {
        struct tokenizer vocabulary = {0};
        struct err err = {0};
        ck_assert_msg(!open_text(&vocabulary, forms[i], &err), "%s", err.text);
        ck_assert_uint_eq(vocabulary.set.words.size, 4);

        expect_word(&vocabulary, 0, "Life");
        expect_word(&vocabulary, 1, "is");
        expect_word(&vocabulary, 2, "<unk>");
        expect_word(&vocabulary, 3, "爱");
        ck_assert(!words_find(&vocabulary, "life", 4, NULL));
        tokenizer_release(&vocabulary);
        ck_assert_uint_eq(vocabulary.set.words.size, 0);
    }
}

/* Not words of Maltese, which has the letter Ġ, and not an alphabet of 255 bytes. */
TEST(byte_level_vocabularies_are_recognised_by_their_letters)
{
    static const struct {
        const char *json;
        bool is_byte_level;
    } cases[] = {
        {"[\"Life\", \"is\", \"\\u0120short\"]", false},
        {"[\"\\u0120Life\", \"is\", \"\\u0120short\"]", true},
        {"[\"\\u0120or\\u0121\", \"u\", \"\\u0120anni\", \"jsibu\"]", false},
        {"[\"a\", \"b\", \"\\u0120\"]", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tokenizer vocabulary = {0};
        ck_assert_int_eq(open_text(&vocabulary, cases[i].json, NULL), 0);
        ck_assert_msg(words_are_byte_level(&vocabulary.set.words) == cases[i].is_byte_level, "%s",
                      cases[i].json);
        tokenizer_release(&vocabulary);
    }
    for (unsigned count = 255; count <= 256; count++) {
        struct tokenizer vocabulary = {0};
        struct buf json = {0};
        for (unsigned byte = 0; byte < count; byte++)
            buf_format(&json, "%s\"\\u%04x\"", byte ? ", " : "[",
                       (unsigned)byte_alphabet_sign((unsigned char)byte));
        buf_text(&json, ", \"the\"]");
        ck_assert_int_eq(open_text(&vocabulary, json.bytes, NULL), 0);
        ck_assert(words_are_byte_level(&vocabulary.set.words) == (count == 256));
        tokenizer_release(&vocabulary);
        buf_release(&json);
    }
}

/* The longest match, by comparing all words. */
static size_t slow_longest(const struct word_table *words, const char *text)
{
    size_t longest = 0;
    for (uint32_t id = 0; id < words->size; id++) {
        size_t size = 0;
        const char *word = word_table_word(words, id, &size);
        if (size > longest && strncmp(text, word, size) == 0)
            longest = size;
    }
    return longest;
}

static size_t longest(const struct word_trie *trie, const char *text)
{
    size_t found = 0;
    uint32_t node = 0;
    for (size_t at = 0; text[at]; at++) {
        node = word_trie_step(trie, node, (unsigned char)text[at]);
        if (!node)
            break;
        if (trie->ids[node] != WORD_TRIE_NONE)
            found = at + 1;
    }
    return found;
}

TEST(the_longest_match_agrees_with_comparing_all_words)
{
    uint32_t random = 1;
    for (int round = 0; round < 300; round++) {
        struct tokenizer vocabulary = {0};
        struct buf json = {0};
        for (uint32_t bits = 2; bits < 256; bits++) { /* a random few of all words of a and b */
            random = random * 1664525 + 1013904223;
            if (random >> 24 > 60)
                continue;
            buf_text(&json, json.size ? ", \"" : "[\"");
            for (uint32_t rest = bits; rest > 1; rest /= 2)
                buf_char(&json, (char)('a' + rest % 2));
            buf_char(&json, '"');
        }
        buf_text(&json, "]");
        ck_assert_int_eq(open_text(&vocabulary, json.bytes, NULL), 0);
        for (uint32_t bits = 0; bits < 1024; bits++) {
            char text[11] = "";
            for (int i = 0; i < 10; i++)
                text[i] = (char)('a' + (bits >> i & 1));
            ck_assert_uint_eq(longest(&vocabulary.model.trie, text),
                              slow_longest(&vocabulary.set.words, text));
        }
        tokenizer_release(&vocabulary);
        buf_release(&json);
    }
}

TEST(a_failed_allocation_releases_everything)
{
    struct starve starve = {.least = 4};
    while (starve_next(&starve)) {
        struct tokenizer vocabulary = {0};
        struct err err = {0};
        int failed = open_text(&vocabulary, "{\"a\": 0, \"b\": 100000}", &err);
        starve_check(&starve, failed, &err);
        tokenizer_release(&vocabulary);
    }
}
