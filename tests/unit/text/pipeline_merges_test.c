#include "text/builder.h"

#include <stdio.h>
#include <string.h>

#include "../rigs/pipeline_rig.h"
#include "../rigs/starve.h"
#include "../unit.h"
#include "base/file.h"

/* h e l o blank a, then results of merges; <|endoftext|> is the last. */
static const char vocab[] = "{\"h\": 0, \"e\": 1, \"l\": 2, \"o\": 3, \"\\u0120\": 4, \"a\": 5, "
                            "\"he\": 6, \"ll\": 7, \"hell\": 8, \"hello\": 9, \"Ġa\": 10, "
                            "\"Ġhello\": 11, \"ð\": 12, \"Ł\": 13, \"į\": 14, \"°\": 15, "
                            "\"ðŁ\": 16, \"<|endoftext|>\": 17}";
static const char merges[] = "#version: 0.2\nh e\nl l\nhe ll\nhell o\nĠ a\nĠ hello\nð Ł\n";

static int open_files(struct tokenizer *pipeline, const char *name, const char *text,
                      struct err *err)
{
    const struct folder_file files[] = {
        {"vocab.json", vocab, strlen(vocab)},
        {"merges.txt", merges, strlen(merges)},
        {name, text, text ? strlen(text) : 0},
    };
    const struct folder folder = {"gpt2", files, text ? 3 : 2};
    return tokenizer_fill(pipeline, &folder, err);
}

static void open_gpt2(struct tokenizer *pipeline)
{
    struct err err = {0};
    ck_assert_msg(!open_files(pipeline, NULL, NULL, &err), "%s", err.text);
}

TEST(pieces_are_merged_and_tokens_have_positions)
{
    struct tokenizer pipeline;
    open_gpt2(&pipeline);
    pipeline_rig_expect(&pipeline, "", "");
    pipeline_rig_expect(&pipeline, "hello", "9:0-5");
    pipeline_rig_expect(&pipeline, "hello hello", "9:0-5 11:5-11");
    pipeline_rig_expect(&pipeline, "hell a", "8:0-4 10:4-6");
    pipeline_rig_expect(&pipeline, "hell  o", "8:0-4 4:4-5 4:5-6 3:6-7");
    pipeline_rig_expect(&pipeline, "🍰", "16:0-2 14:2-3 15:3-4");
    tokenizer_release(&pipeline);
}

TEST(special_tokens_are_one_id_unless_they_are_text)
{
    struct tokenizer pipeline;
    open_gpt2(&pipeline);
    pipeline_rig_expect(&pipeline, "hello <|endoftext|>", "9:0-5 4:5-6 17:6-19");
    pipeline_rig_expect(&pipeline, "<|endoftext|>hello", "17:0-13 9:13-18");
    pipeline_rig_expect_plain(&pipeline, "a<|endoftext|>hello",
                              "5:0-1 1:3-4 3:6-7 1:9-10 9:14-19 !10@1-2");
    tokenizer_release(&pipeline);
}

/* Bytes without a token are dropped, as in other programs, and counted by characters (爱 lacks all
 * bytes, 🌍 one); neighbours on both sides are merged. */
TEST(bytes_without_a_token_are_dropped_and_counted)
{
    static const struct {
        const char *text;
        const char *tokens;
    } cases[] = {
        {"x", "!1@0-1"},
        {"hexe", "6:0-2 1:3-4 !1@2-3"},
        {"h爱e", "6:0-5 !1@1-4"},
        {"爱爱", "!2@0-3"},
        {"爱 hello爱", "11:3-9 !2@0-3"},
        {"a🌍x", "5:0-1 16:1-3 14:4-5 !2@1-5"},
        {"hello爱 a爱爱 a", "9:0-5 10:8-10 10:16-18 !3@5-8"},
    };
    struct tokenizer pipeline;
    open_gpt2(&pipeline);
    for (size_t i = 0; i < COUNT(cases); i++)
        pipeline_rig_expect(&pipeline, cases[i].text, cases[i].tokens);
    tokenizer_release(&pipeline);
}

static int encode(const struct tokenizer *pipeline, struct token_list *list,
                  const struct token_text *text, struct err *err)
{
    struct encoder encoder = {.tokenizer = pipeline, .list = list};
    int failed = encoder_run(&encoder, text, err);
    encoder_release(&encoder);
    return failed;
}

TEST(the_cache_of_pieces_does_not_change_tokens)
{
    struct tokenizer pipeline;
    struct buf text = {0};
    struct token_list list = {0};
    open_gpt2(&pipeline);
    for (int i = 0; i < 3000; i++) /* long enough to use the cache */
        buf_text(&text, i % 3 ? " hello" : i % 2 ? " hoe" : " 🍰a");
    struct token_text whole = {text.bytes, text.size, false};
    ck_assert_int_eq(encode(&pipeline, &list, &whole, NULL), 0);
    size_t end = 0;
    for (size_t i = 0; i < list.count; i++) {
        size_t size = 0;
        const char *bytes = token_set_word(&pipeline.set, list.items[i].id, &size);
        ck_assert_uint_eq(list.items[i].start, end);
        end = list.items[i].end;
        ck_assert_uint_eq(size, end - list.items[i].start);
        ck_assert_mem_eq(bytes, text.bytes + list.items[i].start, size);
    }
    ck_assert_uint_eq(end, text.size);
    ck_assert_uint_eq(list.count, 2000 + 500 * 4 + 500 * 5);
    token_list_release(&list);
    buf_release(&text);
    tokenizer_release(&pipeline);
}

TEST(added_tokens_are_read_from_other_files)
{
    static const struct {
        const char *name;
        const char *json;
        const char *text;
        const char *tokens;
    } cases[] = {
        {"added_tokens.json", "{\"<pad>\": 20}", "a<pad><|endoftext|>", "5:0-1 20:1-6 17:6-19"},
        {"added_tokens.json", "{\"<|endoftext|>\": 17, \"a h\": 18}", "a h<|endoftext|>",
         "18:0-3 17:3-16"},
        {"added_tokens.json", "{}", "<|endoftext|>", "17:0-13"},
        {"tokenizer_config.json", "{\"model_max_length\": 1024}", "<|endoftext|>", "17:0-13"},
        {"tokenizer_config.json",
         "{\"added_tokens_decoder\": {\"17\": {\"content\": \"<|endoftext|>\", \"special\": true}, "
         "\"21\": {\"content\": \"<m>\", \"lstrip\": true}}}",
         "a <m><|endoftext|>", "5:0-1 21:1-5 17:5-18"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tokenizer pipeline;
        struct err err = {0};
        int failed = open_files(&pipeline, cases[i].name, cases[i].json, &err);
        ck_assert_msg(!failed, "%s", err.text);
        pipeline_rig_expect(&pipeline, cases[i].text, cases[i].tokens);
        tokenizer_release(&pipeline);
    }
}

/* bos, eos and unk default to GPT-2's token. Names that the vocabulary lacks are text. */
TEST(named_tokens_are_special)
{
    static const struct {
        const char *config, *map,
            *tokens; /* of "ll <|endoftext|>o"; plain: special tokens are text */
        const char *plain;
    } cases[] = {
        {"{}", "{}", "7:0-2 4:2-3 17:3-16 3:16-17",
         "7:0-2 4:2-3 1:5-6 3:8-9 1:11-12 3:16-17 !10@3-4"},
        {"{\"pad_token\": \"l\"}", "{}", "2:0-1 2:1-2 4:2-3 17:3-16 3:16-17", NULL},
        {"{\"pad_token\": {\"content\": \"ll\", \"rstrip\": true}}", "{}", "7:0-3 17:3-16 3:16-17",
         NULL},
        {"{}", "{\"mask_token\": {\"content\": \"<|endoftext|>\", \"lstrip\": true}}",
         "7:0-2 4:2-3 17:3-16 3:16-17", NULL}, /* GPT-2's token has precedence */
        {"{\"eos_token\": \"l\"}", "{\"eos_token\": {\"content\": \"<|endoftext|>\"}}",
         "7:0-2 4:2-3 17:3-16 3:16-17", NULL},
        {"{\"bos_token\": null, \"eos_token\": \"o\", \"unk_token\": \"<unk>\"}", "{}",
         "7:0-2 4:2-3 1:5-6 3:8-9 1:11-12 3:16-17 !10@3-4", NULL},
        {"{\"pad_token\": \"l\", \"added_tokens_decoder\": {\"2\": {\"content\": \"l\", "
         "\"lstrip\": true}, \"7\": {\"content\": \"ll\"}}}",
         "{}", "7:0-2 4:2-3 17:3-16 3:16-17", "7:0-2 4:2-3 1:5-6 3:8-9 1:11-12 3:16-17 !10@3-4"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct folder_file files[] = {
            {"vocab.json", vocab, strlen(vocab)},
            {"merges.txt", merges, strlen(merges)},
            {"tokenizer_config.json", cases[i].config, strlen(cases[i].config)},
            {"special_tokens_map.json", cases[i].map, strlen(cases[i].map)},
        };
        const struct folder folder = {"x", files, COUNT(files)};
        struct tokenizer pipeline;
        struct err err = {0};
        int failed = tokenizer_fill(&pipeline, &folder, &err);
        ck_assert_msg(!failed, "%s", err.text);
        pipeline_rig_expect(&pipeline, "ll <|endoftext|>o", cases[i].tokens);
        if (cases[i].plain)
            pipeline_rig_expect_plain(&pipeline, "ll <|endoftext|>o", cases[i].plain);
        tokenizer_release(&pipeline);
    }
}

/* So long that the list grows between cached pieces, and between added tokens. */
TEST(a_list_that_cannot_grow_is_an_error)
{
    static const char *const units[] = {" hella", "<|endoftext|>"};
    struct tokenizer pipeline;
    open_gpt2(&pipeline);
    for (size_t i = 0; i < COUNT(units); i++) {
        struct buf text = {0};
        struct starve starve = {0};
        for (int k = 0; k < 2000; k++) /* pieces of shorter texts are not cached */
            buf_text(&text, units[i]);
        while (starve_next(&starve)) {
            struct token_list list = {0};
            struct err err = {0};
            struct token_text whole = {text.bytes, text.size, false};
            if (!starve_check(&starve, encode(&pipeline, &list, &whole, &err), &err))
                ck_assert_uint_ge(list.count, 2000);
            token_list_release(&list);
        }
        buf_release(&text);
    }
    tokenizer_release(&pipeline);
}

TEST(every_id_has_its_bytes)
{
    struct tokenizer pipeline;
    size_t size = 0;
    ck_assert_int_eq(open_files(&pipeline, "added_tokens.json", "{\"é\": 20, \"Ġa\": 10}", NULL),
                     0);
    ck_assert_uint_eq(token_set_size(&pipeline.set), 21);
    ck_assert_mem_eq(token_set_word(&pipeline.set, 11, &size), " hello", 6);
    ck_assert_uint_eq(size, 6);
    ck_assert_mem_eq(token_set_word(&pipeline.set, 20, &size), "é", 2);
    ck_assert_uint_eq(size, 2);
    ck_assert_mem_eq(token_set_word(&pipeline.set, 10, &size), "Ġa", 3); /* as added */
    ck_assert_mem_eq(token_set_word(&pipeline.set, 16, &size), "\xF0\x9F", 2);
    ck_assert_ptr_null(token_set_word(&pipeline.set, 18, &size));
    ck_assert_ptr_null(token_set_word(&pipeline.set, 21, &size));
    tokenizer_release(&pipeline);
}

/* NFC composes e and its accent; only Qwen2's pattern does not split the result from the character
 * before it. */
TEST(the_class_of_the_config_selects_the_pattern)
{
    static const char words[] = "{\"Ã\": 0, \"©\": 1, \"!\": 2, \"Ã©\": 3, \"!Ã©\": 4, "
                                "\"e\": 5, \"Ì\": 6, \"ģ\": 7}";
    static const char pairs[] = "Ã ©\n! Ã©\n";
    static const char plain[] = "2:0-1 5:1-2 6:2-3 7:3-4";
    static const struct {
        const char *config, *tokens;
    } cases[] = {
        {"{}", plain},
        {"{\"tokenizer_class\": null}", plain},
        {"{\"tokenizer_class\": \"PreTrainedTokenizerFast\"}", plain},
        {"{\"tokenizer_class\": \"TokenizersBackend\"}", plain},
        {"{\"tokenizer_class\": \"GPT2Tokenizer\"}", plain},
        {"{\"tokenizer_class\": \"CodeGenTokenizerFast\"}", plain},
        {"{\"tokenizer_class\": \"GPTNeoXTokenizerFast\"}", "2:0-1 3:1-4"},
        {"{\"tokenizer_class\": \"Qwen2Tokenizer\"}", "4:0-4"},
        {"{\"tokenizer_class\": \"Qwen2TokenizerFast\"}", "4:0-4"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct folder_file files[] = {
            {"vocab.json", words, strlen(words)},
            {"merges.txt", pairs, strlen(pairs)},
            {"tokenizer_config.json", cases[i].config, strlen(cases[i].config)},
        };
        const struct folder folder = {"x", files, 3};
        struct tokenizer pipeline;
        struct err err = {0};
        int failed = tokenizer_fill(&pipeline, &folder, &err);
        ck_assert_msg(!failed, "%s", err.text);
        pipeline_rig_expect(&pipeline, "!e\u0301", cases[i].tokens);
        tokenizer_release(&pipeline);
    }
}

TEST(a_failed_allocation_is_an_error)
{
    struct starve starve = {.least = 10};
    while (starve_next(&starve)) {
        struct tokenizer pipeline;
        struct token_list list = {0};
        struct token_text text = {"hello <pad>", 11, false};
        struct err err = {0};
        int failed = open_files(&pipeline, "added_tokens.json", "{\"<pad>\": 20}", &err) ||
                     encode(&pipeline, &list, &text, &err);
        starve_check(&starve, failed, &err);
        token_list_release(&list);
        tokenizer_release(&pipeline);
    }
}
