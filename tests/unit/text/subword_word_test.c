#include "text/pipeline.h"

#include <string.h>

#include "../rigs/pipeline_rig.h"
#include "../unit.h"

/* --- WordLevel -------------------------------------------------------------------------------- */

#define LEVEL(pre_tokenizer, unknown)                                                         \
    "{\"added_tokens\": [{\"id\": 9, \"content\": \"[PAD]\", \"special\": true}], "           \
    "\"pre_tokenizer\": " pre_tokenizer ", \"model\": {\"type\": \"WordLevel\", \"vocab\": {" \
    "\"[UNK]\": 0, \"Life\": 1, \"is\": 2, \"don\": 3, \"'\": 4, \"t\": 5, \"...\": 6, "      \
    "\"don't\": 7, "                                                                          \
    "\"Life is\": 8}" unknown "}}"
#define WORDS LEVEL("{\"type\": \"Whitespace\"}", ", \"unk_token\": \"[UNK]\"")
#define BLANKS LEVEL("{\"type\": \"WhitespaceSplit\"}", ", \"unk_token\": \"[UNK]\"")
#define WHOLE LEVEL("null", ", \"unk_token\": \"[UNK]\"")

TEST(texts_are_cut_as_the_pre_tokenizer_says)
{
    static const struct pipeline_case cases[] = {
        {WORDS, "", ""},
        {WORDS, " \n", ""},
        {WORDS, "Life is", "1:0-4 2:5-7"},
        {WORDS, "don't...", "3:0-3 4:3-4 5:4-5 6:5-8"},
        {WORDS, "Life, \xE3\x80\x80is", "1:0-4 0:4-5 2:9-11"},
        {WORDS, "Life_is", "0:0-7"},
        {WORDS, "is²", "2:0-2 0:2-4"},
        {WORDS, "is\xCC\x81", "0:0-4"},
        {BLANKS, "Life don't, is", "1:0-4 0:5-11 2:12-14"},
        {BLANKS, " don't\xC2\x85is ", "7:1-6 2:8-10"},
        {WHOLE, "Life is", "8:0-7"},
        {WHOLE, "Life  is", "0:0-8"},
        {WHOLE, "is[PAD]Life is", "2:0-2 9:2-7 8:7-14"},
        {WORDS, "is[PAD]", "2:0-2 9:2-7"},
    };
    pipeline_rig_expect_all(cases, COUNT(cases));
}

static void expect_refusal(const char *json, const char *text, const char *message)
{
    struct pipeline pipeline;
    struct token_text given = {text, strlen(text), false};
    struct buf line = {0};
    struct err err = {0};
    ck_assert_int_eq(pipeline_rig_open(&pipeline, json, NULL), 0);
    ck_assert_int_eq(pipeline_rig_encode(&pipeline, &line, &given, &err), -1);
    ck_assert_str_eq(err.text, message);
    ck_assert_int_eq(err.kind, ERR_INPUT);
    buf_release(&line);
    pipeline_release(&pipeline);
}

TEST(without_a_word_for_the_unknown_it_is_refused)
{
    expect_refusal(LEVEL("{\"type\": \"Whitespace\"}", ""), "Life is short",
                   "word 'short' at byte 8 is not in the vocabulary");
}
