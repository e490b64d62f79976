#include "base/file.h"
#include "base/folder.h"
#include "text/tokenizer_json.h"

#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "base/buf.h"
#include "base/heap.h"

#define BPE "{\"type\": \"BPE\", \"vocab\": {\"h\": 0, \"i\": 1, \"Ġ\": 2, \"hi\": 3, \"Ġhi\": 4}, "
#define MERGES "\"merges\": [\"h i\", \"Ġ hi\"]}"
#define BYTE_LEVEL "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true}"
#define PATTERN                                                                    \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\\\p{L}+| ?\\\\p{N}+| ?[^\\\\s\\\\p{L}\\\\p{N}]+|" \
    "\\\\s+(?!\\\\S)|\\\\s+"
#define OTHER_PATTERN                                                           \
    "'(?:[sdmt]|ll|ve|re)| ?\\\\p{L}+| ?\\\\p{N}+| ?[^\\\\s\\\\p{L}\\\\p{N}]+|" \
    "\\\\s+(?!\\\\S)|\\\\s+"
#define SPLIT(pattern, behavior, invert)                                                         \
    "{\"type\": \"Split\", \"pattern\": {\"Regex\": \"" pattern "\"}, \"behavior\": \"" behavior \
    "\", \"invert\": " invert "}"
#define BYTES_ALONE "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"use_regex\": false}"
#define SEQUENCE(steps) "{\"type\": \"Sequence\", \"pretokenizers\": [" steps "]}"

static int open_text(struct tokenizer_json *json, const char *text, struct err *err)
{
    const struct folder_file file = {"tokenizer.json", text, strlen(text)};
    const struct folder folder = {"gpt2", &file, 1};
    return tokenizer_json_open(json, &folder, err);
}

static void release(struct tokenizer_json *json)
{
    byte_level_release(&json->byte_level);
    word_level_release(&json->word_level);
}

static void expect_ids(const struct tokenizer_json *json, const char *bytes, const char *expected)
{
    struct token_list list = {0};
    struct token_text text = {bytes, strlen(bytes), false};
    struct buf ids = {0};
    struct err err = {0};
    int failed = json->model == TOKENIZER_JSON_BPE
                     ? byte_level_encode(&json->byte_level, &list, &text, &err)
                     : word_level_encode(&json->word_level, &list, &text, &err);
    ck_assert_msg(!failed, "%s", err.text);
    buf_text(&ids, "");
    for (size_t i = 0; i < list.count; i++)
        buf_format(&ids, i ? " %u" : "%u", list.items[i].id);
    ck_assert_str_eq(ids.bytes, expected);
    buf_release(&ids);
    token_list_release(&list);
}

TEST(byte_level_models_are_read_in_all_their_forms)
{
    static const struct {
        const char *json;
        const char *ids; /* of "hi hi" */
    } cases[] = {
        {"{\"pre_tokenizer\": " BYTE_LEVEL ", \"model\": " BPE MERGES "}", "3 4"},
        {"{\"model\": " BPE "\"merges\": [[\"h\", \"i\"], [\"Ġ\", \"hi\"]]}, "
         "\"pre_tokenizer\": " BYTE_LEVEL "}",
         "3 4"},
        /* as of old: without a type */
        {"{\"pre_tokenizer\": " BYTE_LEVEL ", \"normalizer\": null, \"model\": {\"dropout\": null, "
         "\"unk_token\": null, \"continuing_subword_prefix\": \"\", \"end_of_word_suffix\": \"\", "
         "\"fuse_unk\": false, \"vocab\": {\"h\": 0, \"i\": 1, \"\\u0120\": 2}, \"merges\": []}}",
         "0 1 2 0 1"},
        {"{\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": true}, "
         "\"model\": " BPE MERGES "}",
         "4 4"},
        {"{\"pre_tokenizer\": " SEQUENCE(
             SPLIT(PATTERN, "Isolated", "false") ", " BYTES_ALONE) ", \"model\": " BPE MERGES "}",
         "3 4"},
        {"{\"pre_tokenizer\": " SEQUENCE(SPLIT(
             OTHER_PATTERN, "Removed", "true") ", " BYTE_LEVEL) ", \"model\": " BPE MERGES "}",
         "3 4"},
        {"{\"pre_tokenizer\": " SEQUENCE(SEQUENCE(BYTE_LEVEL)) ", \"model\": " BPE MERGES "}",
         "3 4"},
        {"{\"added_tokens\": [], \"truncation\": {\"max_length\": 1}, \"padding\": {}, "
         "\"post_processor\": {\"type\": \"TemplateProcessing\"}, \"decoder\": null, "
         "\"pre_tokenizer\": " BYTE_LEVEL ", \"model\": {\"type\": \"BPE\", \"dropout\": 0.0, "
         "\"byte_fallback\": false, \"ignore_merges\": false, \"unk_token\": \"h\", "
         "\"merges\": [\"h i\"], \"vocab\": {\"h\": 0, \"i\": 1, \"Ġ\": 2, \"hi\": 3}}}",
         "3 2 3"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tokenizer_json json;
        struct err err = {0};
        ck_assert_msg(!open_text(&json, cases[i].json, &err), "case %zu: %s", i, err.text);
        ck_assert_int_eq(json.model, TOKENIZER_JSON_BPE);
        expect_ids(&json, "hi hi", cases[i].ids);
        release(&json);
    }
}

TEST(added_tokens_are_read_with_what_they_do)
{
    static const char json[] =
        "{\"added_tokens\": [{\"id\": 9, \"content\": \"<s>\", \"special\": true}, "
        "{\"id\": 8, \"content\": \"<m>\", \"lstrip\": true, \"rstrip\": true, "
        "\"single_word\": false, \"normalized\": true, \"special\": false}], "
        "\"pre_tokenizer\": " BYTE_LEVEL ", \"model\": " BPE MERGES "}";
    struct tokenizer_json tokenizer;
    struct err err = {0};
    ck_assert_msg(!open_text(&tokenizer, json, &err), "%s", err.text);
    expect_ids(&tokenizer, "hi <s>hi <m> hi", "3 2 9 3 8 3");
    const struct added_tokens *added = &tokenizer.byte_level.set.added;
    ck_assert(added_tokens_of_id(added, 9)->special);
    ck_assert(!added_tokens_of_id(added, 8)->special);
    ck_assert(added_tokens_of_id(added, 8)->normalized);
    release(&tokenizer);
}

TEST(word_level_models_are_read)
{
    static const struct {
        const char *json;
        const char *ids; /* of "Life is, life" */
    } cases[] = {
        {"{\"pre_tokenizer\": {\"type\": \"Whitespace\"}, \"model\": {\"type\": \"WordLevel\", "
         "\"vocab\": {\"[UNK]\": 0, \"Life\": 1, \"is\": 2}, \"unk_token\": \"[UNK]\"}}",
         "1 2 0 0"},
        {"{\"pre_tokenizer\": {\"type\": \"WhitespaceSplit\"}, \"model\": {\"type\": "
         "\"WordLevel\", "
         "\"vocab\": {\"[UNK]\": 0, \"Life\": 1, \"is,\": 2}, \"unk_token\": \"[UNK]\"}}",
         "1 2 0"},
        {"{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"Life is, life\": 1}}}", "1"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tokenizer_json json;
        struct err err = {0};
        ck_assert_msg(!open_text(&json, cases[i].json, &err), "%s", err.text);
        ck_assert_int_eq(json.model, TOKENIZER_JSON_WORD_LEVEL);
        expect_ids(&json, "Life is, life", cases[i].ids);
        release(&json);
    }
}

/* What is refused, and how, after the name of the file. */
struct refusal {
    const char *json;
    const char *text;
};

static void expect_refusals(const struct refusal *cases, size_t count, enum err_kind kind)
{
    for (size_t i = 0; i < count; i++) {
        struct tokenizer_json json;
        struct err err = {0};
        char expected[300];
        snprintf(expected, sizeof expected, "'gpt2/tokenizer.json': %s", cases[i].text);
        ck_assert_int_eq(open_text(&json, cases[i].json, &err), -1);
        ck_assert_str_eq(err.text, expected);
        ck_assert_int_eq(err.kind, kind);
        ck_assert_ptr_null(json.byte_level.set.words.places);
        ck_assert_ptr_null(json.word_level.set.words.places);
    }
}

#define PRE(value) "{\"pre_tokenizer\": " value ", \"model\": " BPE MERGES "}"
#define SETTING(setting) \
    "{\"pre_tokenizer\": " BYTE_LEVEL ", \"model\": " BPE setting ", " MERGES "}"

TEST(what_is_not_supported_is_refused_by_name)
{
    static const struct refusal cases[] = {
        {"{\"model\": {\"type\": \"Unigram\"}}",
         "model: type \"Unigram\" is not supported, only BPE and WordLevel"},
        {"{\"model\": {\"type\": \"WordPiece\", \"continuing_subword_prefix\": \"##\"}}",
         "model: type \"WordPiece\" is not supported, only BPE and WordLevel"},
        {"{\"normalizer\": {\"type\": \"NFC\"}, \"model\": " BPE MERGES "}",
         "normalizer: type 'NFC' is not supported"},
        {"{\"model\": " BPE MERGES "}",
         "model: BPE with the pre_tokenizer null is not supported, only ByteLevel"},
        {PRE("{\"type\": \"Whitespace\"}"),
         "model: BPE with the pre_tokenizer Whitespace is not supported, only ByteLevel"},
        {PRE("{\"type\": \"Metaspace\"}"), "pre_tokenizer: type 'Metaspace' is not supported"},
        {PRE(SEQUENCE("{\"type\": \"Digits\"}, " BYTE_LEVEL)),
         "pre_tokenizer: type 'Digits' is not supported"},
        {PRE(SEQUENCE(BYTE_LEVEL ", {\"type\": \"Whitespace\"}")),
         "pre_tokenizer: type 'Whitespace' is not supported after another"},
        {PRE(SEQUENCE(BYTE_LEVEL ", " BYTE_LEVEL)),
         "pre_tokenizer: type 'ByteLevel' is not supported after another"},
        {PRE(BYTES_ALONE),
         "pre_tokenizer: ByteLevel without use_regex is not supported, only after a Split"},
        {PRE(SPLIT(PATTERN, "Isolated", "false")),
         "pre_tokenizer: a Split without ByteLevel after it is not supported"},
        {PRE(SEQUENCE(SPLIT("\\\\s+", "Isolated", "false") ", " BYTES_ALONE)),
         "pre_tokenizer: a Split by '\\s+' is not supported, only GPT-2's"},
        {PRE(SEQUENCE(SPLIT("'s|'t", "Isolated", "false") ", " BYTES_ALONE)),
         "pre_tokenizer: a Split by ''s|'t' is not supported, only GPT-2's"},
        {PRE(SEQUENCE(SPLIT(PATTERN, "Isolated", "false") ", {\"type\": \"ByteLevel\", "
                                                          "\"add_prefix_space\": true}")),
         "pre_tokenizer: ByteLevel with add_prefix_space is not supported after a Split"},
        {SETTING("\"dropout\": 0.1"), "model: 'dropout': 0.1 is not supported"},
        {SETTING("\"continuing_subword_prefix\": \"##\""),
         "model: 'continuing_subword_prefix': \"##\" is not supported"},
        {SETTING("\"end_of_word_suffix\": \"</w>\""),
         "model: 'end_of_word_suffix': \"</w>\" is not supported"},
        {SETTING("\"byte_fallback\": true"), "model: 'byte_fallback': true is not supported"},
        {SETTING("\"ignore_merges\": true"), "model: 'ignore_merges': true is not supported"},
        {"{\"pre_tokenizer\": " BYTE_LEVEL ", \"model\": {\"type\": \"WordLevel\", "
         "\"vocab\": {\"a\": 0}}}",
         "model: WordLevel with the pre_tokenizer ByteLevel is not supported"},
    };
    expect_refusals(cases, COUNT(cases), ERR_UNSUPPORTED);
}

TEST(removed_pieces_are_not_supported)
{
    struct tokenizer_json json;
    struct err err = {0};
    ck_assert_int_eq(
        open_text(&json, PRE(SEQUENCE(SPLIT(PATTERN, "Removed", "false") ", " BYTES_ALONE)), &err),
        -1);
    ck_assert_int_eq(err.kind, ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "pre_tokenizer: a Split by ''s|'t|'re|"));
}

#define ADDED(items) \
    "{\"added_tokens\": " items ", \"pre_tokenizer\": " BYTE_LEVEL ", \"model\": " BPE MERGES "}"

TEST(what_is_broken_is_refused_with_its_field)
{
    static const struct refusal cases[] = {
        {"[]", "expected an object"},
        {"{}", "expected a field 'model'"},
        {"{\"model\": null}", "expected a field 'model'"},
        {"{\"model\": 3}", "field 'model': expected an object"},
        {"{\"model\": {}, \"model\": {}}", "field 'model': expected once, found twice"},
        {"{\"model\": {}}", "model: expected a field 'type'"},
        {"{\"model\": {\"vocab\": {}, \"vocab\": {}}}",
         "model: field 'vocab': expected once, found twice"},
        {"{\"pre_tokenizer\": 3, \"model\": " BPE MERGES "}", "pre_tokenizer: expected an object"},
        {"{\"pre_tokenizer\": " BYTE_LEVEL ", \"model\": {\"type\": \"BPE\"}}",
         "model: expected a field 'vocab'"},
        {"{\"pre_tokenizer\": " BYTE_LEVEL ", \"model\": {\"type\": \"BPE\", \"vocab\": 3}}",
         "model: field 'vocab': expected an object"},
        {"{\"pre_tokenizer\": " BYTE_LEVEL ", \"model\": {\"type\": \"BPE\", \"vocab\": {}}}",
         "model: vocab: expected words, found none"},
        {"{\"pre_tokenizer\": " BYTE_LEVEL ", \"model\": {\"type\": \"BPE\", \"vocab\": "
         "{\"a\": \"x\"}}}",
         "model: vocab: word 'a': expected an id from 0 to 10000000, found \"x\""},
        {"{\"pre_tokenizer\": " BYTE_LEVEL ", \"model\": {\"type\": \"BPE\", \"vocab\": "
         "{\"a\": 0}}}",
         "model: expected a field 'merges'"},
        {"{\"pre_tokenizer\": " BYTE_LEVEL ", \"model\": {\"type\": \"BPE\", \"vocab\": "
         "{\"a\": 0}, \"merges\": {}}}",
         "model: field 'merges': expected an array"},
        {"{\"pre_tokenizer\": " BYTE_LEVEL ", \"model\": {\"type\": \"BPE\", \"vocab\": "
         "{\"a\": 0}, \"merges\": [\"a a\"]}}",
         "model: merges: merge 0: 'aa' is not in the vocabulary"},
        {"{\"model\": {\"type\": \"WordLevel\", \"vocab\": [1]}}",
         "model: field 'vocab': expected an object"},
        {PRE("{\"type\": \"ByteLevel\"}"),
         "pre_tokenizer: ByteLevel: expected a field 'add_prefix_space', true or false"},
        {PRE("{\"type\": \"ByteLevel\", \"add_prefix_space\": 1}"),
         "pre_tokenizer: ByteLevel: expected a field 'add_prefix_space', true or false"},
        {ADDED("{}"), "added_tokens: expected an array"},
        {ADDED("[3]"), "added_tokens: item 0: expected an object"},
        {ADDED("[{\"content\": \"a\"}]"), "added_tokens: item 0: expected a field 'id'"},
        {ADDED("[{\"id\": 7}]"), "added_tokens: item 0: expected a field 'content'"},
        {ADDED("[{\"id\": 7, \"content\": 3}]"),
         "added_tokens: item 0: field 'content': expected a text, found 3"},
        {ADDED("[{\"id\": -7, \"content\": \"a\"}]"),
         "added_tokens: item 0: field 'id': expected an integer from 0 to 10000000, found -7"},
        {ADDED("[{\"id\": 7, \"content\": \"a\", \"special\": 1}]"),
         "added_tokens: item 0: field 'special': expected true or false, found 1"},
        {ADDED("[{\"id\": 7, \"id\": 8, \"content\": \"a\"}]"),
         "added_tokens: item 0: field 'id': expected once, found twice"},
        {ADDED("[{\"id\": 7, \"content\": \"\"}]"),
         "added_tokens: id 7: expected an added token, found \"\""},
        {ADDED("[{\"id\": 7, \"content\": \"hi\"}]"),
         "added_tokens: added token 'hi': expected its id in the vocabulary, 3, found 7"},
        {"{\"model\": {\"vocab\": {\"a\": 01}}}",
         "byte 27: expected no digit after a leading 0, found '1'"},
    };
    expect_refusals(cases, COUNT(cases), ERR_INPUT);
}

TEST(an_allocation_that_fails_is_an_error)
{
    static const char *const texts[] = {
        ADDED("[{\"id\": 9, \"content\": \"<s>\"}]"),
        "{\"model\": " BPE "\"merges\": [[\"h\", \"i\"], [\"Ġ\", \"hi\"]]}, "
        "\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false}}",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        int failed = -1;
        for (size_t nth = 1; failed; nth++) {
            struct tokenizer_json json;
            struct err err = {0};
            heap_fail_at(nth, 0);
            failed = open_text(&json, texts[i], &err);
            heap_fail_at(0, 0);
            if (!failed)
                release(&json);
            ck_assert_msg(failed ? strstr(err.text, "out of memory: ") != NULL : nth > 10, "'%s'",
                          err.text);
        }
    }
}
