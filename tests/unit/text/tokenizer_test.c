#include "base/file.h"
#include "text/tokenizer.h"

#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "base/memory.h"

static const struct folder_file life_files[] = {
    {"config.json", "{}", 2},
    {"vocab.json", "{\"Life\": 0, \"is\": 1, \"short\": 3}", 32},
};
static const struct folder life = {"life", life_files, 2};

static struct tokenizer *opened(void)
{
    struct tokenizer *tokenizer = NULL;
    struct err err = {0};
    ck_assert_msg(!tokenizer_open(&tokenizer, &life, &err), "%s", err.text);
    ck_assert_ptr_nonnull(tokenizer);
    return tokenizer;
}

TEST(a_folder_with_only_a_vocabulary_has_words)
{
    struct tokenizer *tokenizer = opened();
    ck_assert_str_eq(tokenizer_facts(tokenizer)->kind, "words");
    ck_assert_uint_eq(tokenizer_size(tokenizer), 4);
    tokenizer_free(tokenizer);
    tokenizer_free(NULL);
}

TEST(a_folder_without_a_tokenizer_is_valid)
{
    const struct folder folder = {"bare", life_files, 1};
    struct tokenizer *tokenizer = (struct tokenizer *)&folder;
    ck_assert_int_eq(tokenizer_open(&tokenizer, &folder, NULL), 0);
    ck_assert_ptr_null(tokenizer);
}

TEST(an_invalid_vocabulary_is_named)
{
    const struct folder_file file = {"vocab.json", "{\"is\": -1}", 10};
    const struct folder folder = {"broken", &file, 1};
    struct tokenizer *tokenizer = NULL;
    struct err err = {0};
    ck_assert_int_eq(tokenizer_open(&tokenizer, &folder, &err), -1);
    ck_assert_str_eq(err.text,
                     "'broken/vocab.json': word 'is': expected an id from 0 to 10000000, found -1");
    ck_assert_ptr_null(tokenizer);
}

TEST(a_text_is_encoded)
{
    struct tokenizer *tokenizer = opened();
    struct arena arena = {0};
    struct tokens tokens = {0};
    size_t size = 0;
    ck_assert_int_eq(tokenizer_encode(tokenizer, &tokens, "Life is short.", 14, &arena, NULL), 0);
    ck_assert_uint_eq(tokens.count, 3);
    ck_assert_uint_eq(tokens.items[2].id, 3);
    ck_assert_uint_eq(tokens.items[2].start, 8);
    ck_assert_uint_eq(tokens.items[2].end, 13);
    ck_assert_uint_eq(tokens.dropped_count, 1);
    ck_assert_mem_eq(tokenizer_token(tokenizer, 3, &size), "short", 5);
    ck_assert_uint_eq(size, 5);
    ck_assert_ptr_null(tokenizer_token(tokenizer, 2, &size));
    ck_assert_ptr_null(tokenizer_token(tokenizer, 4, &size));
    ck_assert_ptr_null(tokenizer_token(tokenizer, UINT32_MAX, &size));
    arena_release(&arena);
    tokenizer_free(tokenizer);
}

TEST(a_text_without_words_has_no_tokens)
{
    static const char *const texts[] = {"", "  \n"};
    struct tokenizer *tokenizer = opened();
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct arena arena = {0};
        struct tokens tokens = {.count = 77};
        ck_assert_int_eq(
            tokenizer_encode(tokenizer, &tokens, texts[i], strlen(texts[i]), &arena, NULL), 0);
        ck_assert_uint_eq(tokens.count, 0);
        arena_release(&arena);
    }
    tokenizer_free(tokenizer);
}

TEST(bytes_that_are_not_utf8_are_refused)
{
    struct tokenizer *tokenizer = opened();
    struct arena arena = {0};
    struct tokens tokens = {0};
    struct err err = {0};
    ck_assert_int_eq(tokenizer_encode(tokenizer, &tokens, "Life \xE7\x88", 7, &arena, &err), -1);
    ck_assert_str_eq(err.text,
                     "expected a text in UTF-8, found the byte 0xe7 at byte 5: save it as UTF-8");
    ck_assert_int_eq(err.kind, ERR_INPUT);
    arena_release(&arena);
    tokenizer_free(tokenizer);
}

TEST(an_unknown_word_is_refused)
{
    struct tokenizer *tokenizer = opened();
    struct arena arena = {0};
    struct tokens tokens = {0};
    struct err err = {0};
    ck_assert_int_eq(tokenizer_encode(tokenizer, &tokens, "Lfe is", 6, &arena, &err), -1);
    ck_assert_str_eq(err.text,
                     "word 'Lfe' at byte 0 is not in the vocabulary: did you mean 'Life'?");
    arena_release(&arena);
    tokenizer_free(tokenizer);
}

TEST(a_list_of_ids_is_read)
{
    static const struct {
        const char *list;
        size_t count;
        uint32_t ids[4];
    } cases[] = {
        {"0", 1, {0}},
        {"3,1,4", 3, {3, 1, 4}},
        {" 3 , 1\t,4\n", 3, {3, 1, 4}},
        {"9,9,9,9", 4, {9, 9, 9, 9}},
        {"007", 1, {7}},
        {"3 1  4", 3, {3, 1, 4}},
        {"3\t1, 4 9\n", 4, {3, 1, 4, 9}},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct arena arena = {0};
        struct tokens tokens = {0};
        ck_assert_int_eq(tokens_from_ids(&tokens, cases[i].list, 10, &arena, NULL), 0);
        ck_assert_uint_eq(tokens.count, cases[i].count);
        for (size_t n = 0; n < tokens.count; n++) {
            ck_assert_uint_eq(tokens.items[n].id, cases[i].ids[n]);
            ck_assert_uint_eq(tokens.items[n].start, 0);
            ck_assert_uint_eq(tokens.items[n].end, 0);
        }
        ck_assert_uint_eq(tokens.dropped_count, 0);
        arena_release(&arena);
    }
}

TEST(invalid_ids_are_named_with_the_range)
{
    static const struct {
        const char *list;
        const char *text;
    } cases[] = {
        {"", "id 1 of the list: expected a whole number from 0 to 9, found ''"},
        {"  ", "id 1 of the list: expected a whole number from 0 to 9, found ''"},
        {"1,", "id 2 of the list: expected a whole number from 0 to 9, found ''"},
        {"1,,2", "id 2 of the list: expected a whole number from 0 to 9, found ''"},
        {"3,10", "id 2 of the list: expected a whole number from 0 to 9, found '10'"},
        {"-1", "id 1 of the list: expected a whole number from 0 to 9, found '-1'"},
        {"1,3x,4", "id 2 of the list: expected a whole number from 0 to 9, found '3x'"},
        {"0x1", "id 1 of the list: expected a whole number from 0 to 9, found '0x1'"},
        {"1.0", "id 1 of the list: expected a whole number from 0 to 9, found '1.0'"},
        {"1 x", "id 2 of the list: expected a whole number from 0 to 9, found 'x'"},
        {"1, ,2", "id 2 of the list: expected a whole number from 0 to 9, found ''"},
        {"99999999999999999999",
         "id 1 of the list: expected a whole number from 0 to 9, found '99999999999999999999'"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct arena arena = {0};
        struct tokens tokens = {0};
        struct err err = {0};
        ck_assert_int_eq(tokens_from_ids(&tokens, cases[i].list, 10, &arena, &err), -1);
        ck_assert_str_eq(err.text, cases[i].text);
        ck_assert_int_eq(err.kind, ERR_USAGE);
        ck_assert_ptr_null(tokens.items);
        arena_release(&arena);
    }
}

TEST(ids_have_at_most_32_bits)
{
    struct arena arena = {0};
    struct tokens tokens = {0};
    ck_assert_int_eq(tokens_from_ids(&tokens, "4294967295", SIZE_MAX, &arena, NULL), 0);
    ck_assert_uint_eq(tokens.items[0].id, UINT32_MAX);
    ck_assert_int_eq(tokens_from_ids(&tokens, "4294967296", SIZE_MAX, &arena, NULL), -1);
    arena_release(&arena);
}

TEST(a_failed_allocation_is_an_error)
{
    size_t nth = 1;
    for (;; nth++) {
        struct tokenizer *tokenizer = NULL;
        struct arena arena = {0};
        struct tokens tokens = {0};
        struct err err = {0};
        heap_fail_at(nth, 0);
        int failed = tokenizer_open(&tokenizer, &life, &err) ||
                     tokens_from_ids(&tokens, "1,2", 10, &arena, &err) ||
                     tokenizer_encode(tokenizer, &tokens, "Life is", 7, &arena, &err);
        heap_fail_at(0, 0);
        arena_release(&arena);
        tokenizer_free(tokenizer);
        if (!failed)
            break;
        ck_assert_ptr_nonnull(strstr(err.text, "out of memory: "));
    }
    ck_assert_uint_gt(nth, 5);
}
