/* Settings of tokenizer_config.json for three kinds of tokenizer files. */
#include <string.h>

#include "../unit.h"
#include "base/buf.h"
#include "base/file.h"
#include "text/decoder.h"
#include "text/tokenizer.h"

#define BYTE_LEVEL                                                                                \
    "\"decoder\": {\"type\": \"ByteLevel\"}, \"model\": {\"type\": \"BPE\", \"vocab\": {\"Ġ\": " \
    "0, \"a\": 1, \"b\": 2, \"Ġa\": 3, "                                                         \
    "\"<s>\": 4, \"</s>\": 5, \"<\": 6, \"s\": 7, \">\": 8}, \"merges\": [\"Ġ a\"]}, "           \
    "\"added_tokens\": [{\"id\": 4, \"content\": \"<s>\", \"special\": true}, "                   \
    "{\"id\": 5, \"content\": \"</s>\", \"special\": true}]"

static const char plain[] =
    "{\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false}, " BYTE_LEVEL "}";
static const char prefixed[] =
    "{\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": true}, " BYTE_LEVEL "}";
static const char several[] =
    "{\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"Digits\"}, "
    "{\"type\": \"ByteLevel\", \"add_prefix_space\": false}]}, " BYTE_LEVEL "}";

/* SentencePiece BPE: <unk>, <s>, </s>, ▁, a, b, ▁a with scores 0, 0, 0, -2, -3, -4, -1. */
#define PIECE(size, word, score, kind) "\n" size "\n" word "\x15" score "\x18" kind
static const char pieces[] =
    PIECE("\x0e", "\x05<unk>", "\0\0\0\0", "\2") PIECE("\x0c", "\x03<s>", "\0\0\0\0", "\3")
        PIECE("\x0d", "\x04</s>", "\0\0\0\0", "\3") PIECE("\x0c", "\x03▁", "\0\0\0\xc0", "\1")
            PIECE("\x0a",
                  "\x01"
                  "a",
                  "\0\0\x40\xc0", "\1") PIECE("\x0a",
                                              "\x01"
                                              "b",
                                              "\0\0\x80\xc0", "\1")
                PIECE("\x0d", "\x04▁a", "\0\0\x80\xbf", "\1") "\x12\x02\x18\x02\x1a\x02 \0";

/* The same with a▁ (score -1) instead of ▁a, which joins a word with the ▁ of the next. */
static const char crossing[] =
    PIECE("\x0e", "\x05<unk>", "\0\0\0\0", "\2") PIECE("\x0c", "\x03▁", "\0\0\0\xc0", "\1")
        PIECE("\x0a",
              "\x01"
              "a",
              "\0\0\x40\xc0", "\1") PIECE("\x0d",
                                          "\x04"
                                          "a▁",
                                          "\0\0\x80\xbf", "\1") "\x12\x02\x18\x02";

#define JSON(text) "tokenizer.json", text, sizeof(text) - 1
#define MODEL "tokenizer.model", pieces, sizeof pieces - 1

static const struct {
    const char *name, *bytes;
    size_t size;
    const char *config, *text;
    const char *ids; /* with special tokens around the text */
    const char *decoded;
} cases[] = {
    {JSON(plain), "{}", "a<s>a", "1 4 1", "a<s>a"},
    {JSON(plain), "{\"add_prefix_space\": true}", "a<s>a", "3 4 3", " a<s> a"},
    {JSON(plain), "{\"add_prefix_space\": null, \"legacy\": false}", "a", "1", "a"},
    {JSON(prefixed), "{}", "a<s>a", "3 4 3", " a<s> a"},
    {JSON(prefixed), "{\"add_prefix_space\": false}", "a<s>a", "1 4 1", "a<s>a"},
    {JSON(prefixed), "{\"add_prefix_space\": true}", "a", "3", " a"},
    {JSON(several), "{\"add_prefix_space\": true}", "a", "1", "a"},
    {JSON(plain), "{\"split_special_tokens\": true}", "a<s>", "1 6 7 8", "a<s>"},
    {JSON(plain),
     "{\"add_bos_token\": true, \"bos_token\": \"<s>\", \"add_eos_token\": true, "
     "\"eos_token\": {\"content\": \"</s>\"}}",
     "a", "4 1 5", "<s>a</s>"},
    {JSON(plain), "{\"add_bos_token\": true, \"bos_token\": null}", "a", "1", "a"},
    {JSON(plain), "{\"tokenizer_class\": \"LlamaTokenizer\", \"bos_token\": \"<s>\"}", "a", "1",
     "a"},
    {JSON(plain),
     "{\"chat_template\": \"{% for m in messages %}{{ m }}{% endfor %}\", "
     "\"model_max_length\": 1000000000000000019884624838656}",
     "a", "1", "a"},
    {"tokenizer.model", crossing, sizeof crossing - 1, "{}", "a a", "1 3 2", "a a"},
    {MODEL,
     "{\"added_tokens_decoder\": {\"7\": {\"content\": \"<|im|>\", \"rstrip\": true}, "
     "\"1\": {\"content\": \"<s>\", \"special\": true, \"lstrip\": true}}}",
     "a<|im|>  a <s></s>", "6 7 6 1 2", "a<|im|> a<s></s>"},
    {MODEL, "{}", "a<s>a", "6 1 6", "a<s> a"},
    {MODEL, "{\"legacy\": true}", "a<s>a", "6 1 6", "a<s> a"},
    {MODEL, "{\"legacy\": false}", "a<s>a", "6 1 4", "a<s>a"},
    {MODEL, "{\"legacy\": false}", "<s>a", "1 4", "<s>a"},
    {MODEL, "{\"add_prefix_space\": false}", "a<s> a", "4 1 6", "a<s> a"},
    {MODEL, "{\"add_prefix_space\": false, \"legacy\": false}", " a", "6", " a"},
    {MODEL, "{\"tokenizer_class\": \"LlamaTokenizerFast\", \"bos_token\": \"<s>\"}", "a", "1 6",
     "<s> a"},
    {MODEL,
     "{\"tokenizer_class\": \"LlamaTokenizer\", \"bos_token\": \"<s>\", "
     "\"add_bos_token\": false}",
     "a", "6", "a"},
};

TEST_LOOP(settings_of_the_config_are_applied, COUNT(cases))
{
    const struct folder_file files[] = {
        {cases[_i].name, cases[_i].bytes, cases[_i].size},
        {"tokenizer_config.json", cases[_i].config, strlen(cases[_i].config)},
    };
    const struct folder folder = {"test", files, 2};
    struct tokenizer *tokenizer = NULL;
    struct token_decoder decoder;
    struct arena arena = {0};
    struct tokens tokens = {0};
    struct buf ids = {0};
    struct buf text = {0};
    struct err err = {0};
    ck_assert_msg(!tokenizer_open(&tokenizer, &folder, &err), "%s", err.text);
    ck_assert(!tokenizer_add_special(tokenizer, &err));
    ck_assert_msg(
        !tokenizer_encode(tokenizer, &tokens, cases[_i].text, strlen(cases[_i].text), &arena, &err),
        "%s", err.text);
    tokenizer_decode_begin(tokenizer, &decoder, &text);
    for (size_t i = 0; i < tokens.count; i++) {
        buf_format(&ids, i ? " %u" : "%u", tokens.items[i].id);
        tokenizer_decode(tokenizer, &decoder, tokens.items[i].id);
    }
    token_decoder_end(&decoder);
    ck_assert_str_eq(ids.bytes, cases[_i].ids);
    ck_assert_str_eq(text.bytes, cases[_i].decoded);
    token_decoder_release(&decoder);
    buf_release(&ids);
    buf_release(&text);
    arena_release(&arena);
    tokenizer_free(tokenizer);
}

TEST(listed_tokens_are_added_to_those_of_the_model)
{
    static const char added[] = "{\"<pad>\": 9}";
    const struct folder_file files[] = {{MODEL}, {"added_tokens.json", added, sizeof added - 1}};
    const struct folder folder = {"test", files, 2};
    struct tokenizer *tokenizer = NULL;
    size_t size = 0;
    ck_assert(!tokenizer_open(&tokenizer, &folder, NULL));
    ck_assert_uint_eq(tokenizer_size(tokenizer), 10);
    ck_assert_mem_eq(tokenizer_token(tokenizer, 9, &size), "<pad>", 5);
    ck_assert_mem_eq(tokenizer_token(tokenizer, 1, &size), "<s>", 3);
    tokenizer_free(tokenizer);
}
