/* Folders with different files, and their tokenizers. */
#include "base/file.h"
#include "text/subword/bpe.h"
#include "text/tokenizer.h"

#include <stdio.h>
#include <string.h>

#include "../rigs/pipeline_rig.h"
#include "../rigs/starve.h"
#include "../unit.h"
#include "base/memory.h"
#include "text/word_table.h"

#define LIFE "{\"Life\": 0, \"is\": 1, \"short\": 3}"
#define GPT2 "{\"h\": 0, \"i\": 1, \"hi\": 2, \"<|endoftext|>\": 3}"

/* A vocabulary of words; byte-level BPE in both forms; words in tokenizer.json. */
static const struct folder_file life = {"vocab.json", LIFE, sizeof LIFE - 1};
static const struct folder_file gpt2_files[] = {
    {"merges.txt", "h i\n", 4},
    {"vocab.json", GPT2, sizeof GPT2 - 1},
};
static const char gpt2_json[] =
    "{\"added_tokens\": [{\"id\": 3, \"content\": \"<|endoftext|>\", \"special\": true}], "
    "\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false}, \"model\": "
    "{\"type\": \"BPE\", \"vocab\": " GPT2 ", "
    "\"merges\": [\"h i\"]}}";
static const char words_json[] =
    "{\"pre_tokenizer\": {\"type\": \"WhitespaceSplit\"}, \"model\": {\"type\": \"WordLevel\", "
    "\"vocab\": {\"hi\": 0, \"<s>\": 1}}}";

static struct tokenizer *open_files(const struct folder_file *files, size_t count)
{
    const struct folder folder = {"test", files, count};
    struct tokenizer *tokenizer = NULL;
    struct err err = {0};
    ck_assert_msg(!tokenizer_open(&tokenizer, &folder, &err), "%s", err.text);
    ck_assert_ptr_nonnull(tokenizer);
    return tokenizer;
}

/* Compare the ids of a text, separated by blanks. */
static void expect_ids(const struct tokenizer *tokenizer, const char *text, const char *expected)
{
    struct arena arena = {0};
    struct tokens tokens = {0};
    struct err err = {0};
    char ids[64] = "";
    size_t size = 0;
    ck_assert_msg(!tokenizer_encode(tokenizer, &tokens, text, strlen(text), &arena, &err), "%s",
                  err.text);
    for (size_t i = 0; i < tokens.count; i++)
        size +=
            (size_t)snprintf(ids + size, sizeof ids - size, i ? " %u" : "%u", tokens.items[i].id);
    ck_assert_str_eq(ids, expected);
    arena_release(&arena);
}

TEST(the_first_existing_file_is_used)
{
    const struct folder_file bpe = {"tokenizer.json", gpt2_json, strlen(gpt2_json)};
    const struct folder_file words = {"tokenizer.json", words_json, strlen(words_json)};
    const struct {
        struct folder_file files[3];
        size_t count;
        const char *kind;
        const char *gap;
        size_t size;
        const char *ids; /* of "hi" */
    } cases[] = {
        {{life}, 1, "words", " ", 4, NULL},
        {{gpt2_files[1], gpt2_files[0]}, 2, "byte-level BPE", "", 4, "2"},
        {{gpt2_files[1], gpt2_files[0], words}, 3, "whole words", " ", 2, "0"},
        {{bpe, life}, 2, "byte-level BPE", "", 4, "2"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tokenizer *tokenizer = open_files(cases[i].files, cases[i].count);
        ck_assert_str_eq(tokenizer_facts(tokenizer)->kind, cases[i].kind);
        ck_assert_str_eq(tokenizer_facts(tokenizer)->gap, cases[i].gap);
        ck_assert_uint_eq(tokenizer_size(tokenizer), cases[i].size);
        if (cases[i].ids)
            expect_ids(tokenizer, "hi", cases[i].ids);
        tokenizer_free(tokenizer);
    }
}

TEST(a_folder_without_a_tokenizer_is_valid)
{
    const struct folder folder = {"bare", NULL, 0};
    struct tokenizer *tokenizer = (struct tokenizer *)&folder;
    ck_assert_int_eq(tokenizer_open(&tokenizer, &folder, NULL), 0);
    ck_assert_ptr_null(tokenizer);
}

TEST(a_text_is_encoded)
{
    struct tokenizer *tokenizer = open_files(&life, 1);
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
    struct tokenizer *tokenizer = open_files(&life, 1);
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

TEST(special_tokens_are_one_id_unless_they_are_text)
{
    const struct folder_file json = {"tokenizer.json", gpt2_json, strlen(gpt2_json)};
    struct tokenizer *tokenizer = open_files(&json, 1);
    expect_ids(tokenizer, "hi<|endoftext|>", "2 3");
    tokenizer_literal_special(tokenizer);
    expect_ids(tokenizer, "hi<|hi|>", "2 2");
    expect_ids(tokenizer, "<|endoftext|>", ""); /* no letter is in the vocabulary */
    tokenizer_free(tokenizer);
}

TEST(texts_begin_with_the_bos_token_on_request)
{
    static const char named[] = "{\"bos_token\": \"hi\"}";
    static const char described[] = "{\"bos_token\": {\"content\": \"h\"}}";
    static const char none[] = "{\"bos_token\": null}";
    const struct folder_file words = {"tokenizer.json", words_json, strlen(words_json)};
    const struct {
        struct folder_file files[3];
        size_t count;
        const char *ids; /* of "hi" */
    } cases[] = {
        {{gpt2_files[0], gpt2_files[1]}, 2, "3 2"},
        {{gpt2_files[0], gpt2_files[1], {"tokenizer_config.json", "{}", 2}}, 3, "3 2"},
        {{gpt2_files[0], gpt2_files[1], {"tokenizer_config.json", named, strlen(named)}}, 3, "2 2"},
        {{gpt2_files[0], gpt2_files[1], {"tokenizer_config.json", described, strlen(described)}},
         3,
         "0 0 1"}, /* h is a token everywhere */
        {{gpt2_files[0], gpt2_files[1], {"tokenizer_config.json", none, strlen(none)}}, 3, "3 2"},
        {{words}, 1, "1 0"},
        {{{"vocab.json", "[\"hi\", \"[BOS]\"]", 15}}, 1, "1 0"},
        {{gpt2_files[0], gpt2_files[1], {"config.json", "{\"bos_token_id\": 1}", 19}}, 3, "1 2"},
        {{gpt2_files[0], gpt2_files[1], {"config.json", "{\"bos_token_id\": 99}", 20}}, 3, "3 2"},
        {{gpt2_files[0], gpt2_files[1], {"config.json", "{\"bos_token_id\": null}", 22}}, 3, "3 2"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tokenizer *tokenizer = open_files(cases[i].files, cases[i].count);
        const struct folder folder = {"test", cases[i].files, cases[i].count};
        struct err err = {0};
        ck_assert_msg(!tokenizer_begin_texts(tokenizer, &folder, &err), "%s", err.text);
        expect_ids(tokenizer, "hi", cases[i].ids);
        tokenizer_free(tokenizer);
    }
}

TEST(a_failed_allocation_is_an_error)
{
    const struct folder folder = {"test", gpt2_files, 2};
    struct starve starve = {.least = 5};
    while (starve_next(&starve)) {
        struct tokenizer *tokenizer = NULL;
        struct arena arena = {0};
        struct tokens tokens;
        struct err err = {0};
        int failed = tokenizer_open(&tokenizer, &folder, &err) ||
                     tokenizer_begin_texts(tokenizer, &folder, &err) ||
                     tokens_from_ids(&tokens, "1,2", 10, &arena, &err) ||
                     tokenizer_encode(tokenizer, &tokens, "hi", 2, &arena, &err);
        starve_check(&starve, failed, &err);
        arena_release(&arena);
        tokenizer_free(tokenizer);
    }
}

static int count_tokens(void *context, const struct token *tokens, size_t count, struct err *err)
{
    size_t *total = context;
    (void)tokens, (void)err;
    *total += count;
    return 0;
}

TEST(a_stream_gives_the_same_tokens_in_portions)
{
    struct tokenizer *tokenizer = open_files(&life, 1);
    size_t total = 0;
    struct token_sink sink = {count_tokens, &total};
    struct token_list list = {.sink = &sink};
    ck_assert_int_eq(tokenizer_stream(tokenizer, &list, "Life is short.", 14, NULL), 0);
    ck_assert_uint_eq(total, 3);
    ck_assert_uint_eq(list.dropped_count, 1);
    ck_assert_uint_eq(list.dropped_first.start, 13);
    token_list_release(&list);
    tokenizer_free(tokenizer);
}

TEST(tokens_have_no_positions_if_only_ids_are_requested)
{
    const char *json = "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1}, "
                       "\"merges\": []}}";
    struct tokenizer pipeline;
    ck_assert_int_eq(pipeline_rig_open(&pipeline, json, NULL), 0);
    for (int only_ids = 0; only_ids < 2; only_ids++) {
        const struct token_text text = {"ab", 2, false};
        struct token_list list = {.only_ids = only_ids};
        struct encoder encoder = {.tokenizer = &pipeline, .list = &list};
        ck_assert_int_eq(encoder_run(&encoder, &text, NULL), 0);
        ck_assert_uint_eq(list.count, 2);
        ck_assert_uint_eq(list.items[1].id, 1);
        ck_assert_uint_eq(list.items[1].start, only_ids ? 0 : 1);
        ck_assert_uint_eq(list.items[1].end, only_ids ? 0 : 2);
        encoder_release(&encoder);
        token_list_release(&list);
    }
    tokenizer_release(&pipeline);
}

TEST(a_vocabulary_of_all_bytes_encodes_every_text)
{
    static char json[4096];
    size_t size = 1;
    json[0] = '[';
    for (int byte = 0; byte < 256; byte++) {
        unsigned sign = byte_alphabet_sign((unsigned char)byte);
        size += (size_t)snprintf(json + size, sizeof json - size, "%s\"\\u%04x\"", byte ? "," : "",
                                 sign);
    }
    json[size++] = ']';
    const struct folder_file files[] = {{"vocab.json", json, size}, {"merges.txt", "", 0}};
    struct tokenizer *tokenizer = open_files(files, 2);
    expect_ids(tokenizer, "é\x01", "195 169 1");
    tokenizer_free(tokenizer);
}
