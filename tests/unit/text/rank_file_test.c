/* Rank files of tiktoken's, in memory: all bytes, and a few words after them. */
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "base/buf.h"
#include "base/folder.h"
#include "text/post_processor.h"
#include "text/tokenizer.h"

#define BC "YkM= 256\n"    /* bC */
#define TS "dCdz 257\n"    /* t's */
#define NEWS "CiAK 258\n"  /* a newline, a blank, a newline */
#define ACUTE "w6k= 259\n" /* é in one character */
#define LAST "Cgo= 199999\n"

static const char *folder_path = "test";

/* The lines of the 256 bytes, then more. */
static void write_ranks(struct buf *lines, const char *more)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (unsigned byte = 0; byte < 256; byte++)
        buf_format(lines, "%c%c== %u\n", digits[byte >> 2], digits[(byte & 3) << 4], byte);
    buf_text(lines, more);
}

static int open_ranks(struct tokenizer **tokenizer, const char *name, const char *more,
                      const char *config, struct err *err)
{
    struct buf lines = {0};
    write_ranks(&lines, more);
    const struct folder_file files[] = {
        {name, lines.bytes, lines.size},
        {"tokenizer_config.json", config, config ? strlen(config) : 0},
    };
    const struct folder folder = {folder_path, files, config ? 2 : 1};
    int failed = tokenizer_open(tokenizer, &folder, err);
    buf_release(&lines);
    return failed;
}

static const struct {
    const char *name, *more, *config, *text, *ids;
} cases[] = {
    {"r50k_base.tiktoken", BC TS NEWS, NULL, "abC<|endoftext|>t's", "97 256 50256 116 39 115"},
    {"p50k_base.tiktoken", BC, NULL, "bC<|endoftext|>", "256 50256"},
    {"cl100k_base.tiktoken", BC TS NEWS, NULL, "abC\nt's\n \n<|fim_suffix|>",
     "97 256 10 116 39 115 258 100260"},
    {"cl100k_base.tiktoken", BC, "{\"tokenizer_class\": \"Other\"}", "bC<|endofprompt|>",
     "256 100276"},
    {"cl100k_base.tiktoken", BC, "{\"tokenizer_class\": \"Phi3SmallTokenizer\"}",
     "<|dummy_id_2|><|end|><|dummy_id_1|><|dummy_id_86|>", "100256 100266 100265 100351"},
    {"o200k_base.tiktoken", BC TS, NULL, "abC\nt's<|endofprompt|>", "97 98 67 10 257 200018"},
    {"qwen.tiktoken", BC ACUTE, NULL, "bCe\xcc\x81<|im_end|><|extra_204|>",
     "256 259 151645 151850"},
    {"qwen.tiktoken", BC, NULL, "<|im_end|>\xcc\xb8",
     "60 124 105 109 95 101 110 100 124 226 137 175"},
    {"tokenizer.model", BC TS, NULL, "abC\nt's<|begin_of_text|><|eot_id|>",
     "97 256 10 116 39 115 258 267"},
    {"tokenizer.model", BC TS LAST, NULL, "abC\nt's<|eot|>", "97 98 67 10 257 200008"},
    {"tokenizer.model", BC, "{\"added_tokens_decoder\": {\"300\": {\"content\": \"<e>\"}}}",
     "bC<e><|eot_id|>", "256 300 60 124 101 111 116 95 105 100 124 62"},
    {"tokenizer.model", "\r\nYkM= 256\r\n\n", NULL, "bC", "256"},
};

TEST_LOOP(ids_are_ranks_and_the_name_says_the_rest, COUNT(cases))
{
    struct tokenizer *tokenizer = NULL;
    struct arena arena = {0};
    struct tokens tokens = {0};
    struct buf ids = {0};
    struct err err = {0};
    const char *text = cases[_i].text;
    ck_assert_msg(!open_ranks(&tokenizer, cases[_i].name, cases[_i].more, cases[_i].config, &err),
                  "%s", err.text);
    ck_assert_str_eq(tokenizer_kind(tokenizer), "byte-level BPE");
    ck_assert(!tokenizer_encode(tokenizer, &tokens, text, strlen(text), &arena, &err));
    for (size_t i = 0; i < tokens.count; i++)
        buf_format(&ids, i ? " %u" : "%u", tokens.items[i].id);
    ck_assert_str_eq(ids.bytes, cases[_i].ids);
    buf_release(&ids);
    arena_release(&arena);
    tokenizer_free(tokenizer);
}

TEST(texts_of_llama_begin_with_its_first_special_token)
{
    struct tokenizer *tokenizer = NULL;
    struct special_ids ids;
    ck_assert(!open_ranks(&tokenizer, "tokenizer.model", BC, NULL, NULL));
    ck_assert(!tokenizer_special(&ids, tokenizer, NULL));
    ck_assert_uint_eq(ids.before_count, 1);
    ck_assert_uint_eq(ids.before[0], 257);
    ck_assert_uint_eq(ids.after_count, 0);
    tokenizer_free(tokenizer);
}

static const struct {
    const char *more, *config, *text;
} wrong[] = {
    {"YkM= 256\nYkM= 257\n", NULL, "line 258: id 257: 'bC' stands twice"},
    {"YkM= 255\n", NULL, "line 257: id 255: 'bC' stands twice"},
    {"Cgo= 5\xff\n", NULL, "line 257: expected a word in base64, a blank and a rank up to "},
    {" 5\n", NULL, "line 257: id 5: expected a word, found \"\""},
    {"Cgo= 256 7\n", NULL, "line 257: expected a word in base64, a blank and a rank"},
    {"Cgo=256\n", NULL, "found 'Cgo=256'"},
    {"Cgo= \n", NULL, "found 'Cgo=␣'"},
    {"Cgo= -1\n", NULL, "found 'Cgo=␣-1'"},
    {"Cgo= 99999999999999999999\n", NULL, "found 'Cgo=␣99999999999999999999'"},
    {"C 256\n", NULL, "found 'C␣256'"},
    {BC, "{\"tokenizer_class\": 7}", "field 'tokenizer_class': expected a text, found 7"},
    {BC, "{\"added_tokens_decoder\": {\"256\": {\"content\": \"<e>\"}}}",
     "added token '<e>': its id 256 belongs to another word"},
};

TEST_LOOP(a_line_that_is_none_is_refused, COUNT(wrong))
{
    struct tokenizer *tokenizer = NULL;
    struct err err = {0};
    ck_assert(open_ranks(&tokenizer, "qwen.tiktoken", wrong[_i].more, wrong[_i].config, &err));
    ck_assert_msg(strstr(err.text, wrong[_i].text), "%s", err.text);
    ck_assert_int_eq(err.kind, ERR_INPUT);
}

TEST(every_byte_has_a_rank)
{
    const struct folder_file file = {"qwen.tiktoken", "AA== 0\n", 7};
    const struct folder folder = {folder_path, &file, 1};
    struct tokenizer *tokenizer = NULL;
    struct err err = {0};
    ck_assert(tokenizer_open(&tokenizer, &folder, &err));
    ck_assert_str_eq(err.text, "'test/qwen.tiktoken': expected a rank for each byte, found none "
                               "for 0x01");
}
