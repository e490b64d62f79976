#include "text/builder.h"

#include <string.h>

#include "../rigs/pipeline_rig.h"
#include "../unit.h"

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
#define PRE(value) "{\"pre_tokenizer\": " value ", \"model\": " BPE MERGES "}"

#define SETTING(setting) \
    "{\"pre_tokenizer\": " BYTE_LEVEL ", \"model\": " BPE setting ", " MERGES "}"

TEST(byte_level_models_are_read_in_all_their_forms)
{
    static const struct pipeline_case cases[] = {
        {PRE(BYTE_LEVEL), "hi hi", "3:0-2 4:2-5"},
        {"{\"model\": " BPE "\"merges\": [[\"h\", \"i\"], [\"Ġ\", \"hi\"]]}, "
         "\"pre_tokenizer\": " BYTE_LEVEL "}",
         "hi hi", "3:0-2 4:2-5"},
        /* old files have no type */
        {"{\"pre_tokenizer\": " BYTE_LEVEL ", \"normalizer\": null, \"model\": {\"dropout\": null, "
         "\"unk_token\": null, \"continuing_subword_prefix\": \"\", \"end_of_word_suffix\": \"\", "
         "\"fuse_unk\": false, \"vocab\": {\"h\": 0, \"i\": 1, \"\\u0120\": 2}, \"merges\": []}}",
         "hi hi", "0:0-1 1:1-2 2:2-3 0:3-4 1:4-5"},
        {PRE("{\"type\": \"ByteLevel\", \"add_prefix_space\": true}"), "hi hi", "4:0-2 4:2-5"},
        {PRE("{\"type\": \"ByteLevel\"}"), "hi hi", "4:0-2 4:2-5"},
        {PRE(SEQUENCE(SPLIT(PATTERN, "Isolated", "false") ", " BYTES_ALONE)), "hi hi",
         "3:0-2 4:2-5"},
        {PRE(SEQUENCE(SPLIT(OTHER_PATTERN, "Removed", "true") ", " BYTE_LEVEL)), "hi hi",
         "3:0-2 4:2-5"},
        {PRE(SEQUENCE(SPLIT(PATTERN, "Removed", "false") ", " BYTES_ALONE)), "hi hi", ""},
        {PRE(SEQUENCE(SEQUENCE(BYTE_LEVEL))), "hi hi", "3:0-2 4:2-5"},
        {PRE(BYTES_ALONE), "hi hi", "3:0-2 4:2-5"},
        {"{\"added_tokens\": [], \"truncation\": {\"max_length\": 1}, \"padding\": {}, "
         "\"post_processor\": {\"type\": \"ByteLevel\"}, \"decoder\": null, "
         "\"pre_tokenizer\": " BYTE_LEVEL ", \"model\": {\"type\": \"BPE\", \"dropout\": 0.0, "
         "\"byte_fallback\": false, \"ignore_merges\": false, \"unk_token\": \"h\", "
         "\"merges\": [\"h i\"], \"vocab\": {\"h\": 0, \"i\": 1, \"Ġ\": 2, \"hi\": 3}}}",
         "hi hi", "3:0-2 2:2-3 3:3-5"},
        {PRE(BYTE_LEVEL), "", ""},
        {SETTING("\"unk_token\": \"Ġ\""), "hiéhi", "3:0-2 2:2-3 4:3-6"},
        {SETTING("\"unk_token\": \"Ġ\", \"fuse_unk\": true"), "hiéhi", "3:0-2 4:2-6"},
    };
    pipeline_rig_expect_all(cases, COUNT(cases));
}

/* Each segment between added tokens gets a blank. */
TEST(an_added_blank_has_no_position_in_the_text)
{
#define PREFIXED                                                                             \
    "{\"added_tokens\": [{\"id\": 9, \"content\": \"<s>\"}], \"pre_tokenizer\": {\"type\": " \
    "\"ByteLevel\", \"add_prefix_space\": true}, \"model\": " BPE MERGES "}"
    static const struct pipeline_case cases[] = {
        {PREFIXED, "hi", "4:0-2"},
        {PREFIXED, " hi", "4:0-3"},
        {PREFIXED, "ii", "2:0-0 1:0-1 1:1-2"},
        {PREFIXED, "h hi<s>hi", "2:0-0 0:0-1 4:1-4 9:4-7 4:7-9"},
        {PREFIXED, "", ""},
    };
    pipeline_rig_expect_all(cases, COUNT(cases));
}

TEST(added_tokens_are_read_with_their_options)
{
    static const char json[] =
        "{\"added_tokens\": [{\"id\": 9, \"content\": \"<s>\", \"special\": true}, "
        "{\"id\": 8, \"content\": \"<m>\", \"lstrip\": true, \"rstrip\": true, "
        "\"single_word\": false, \"normalized\": true, \"special\": false}], "
        "\"pre_tokenizer\": " BYTE_LEVEL ", \"model\": " BPE MERGES "}";
    struct tokenizer pipeline;
    struct err err = {0};
    ck_assert_msg(!pipeline_rig_open(&pipeline, json, &err), "%s", err.text);
    pipeline_rig_expect(&pipeline, "hi <s>hi <m> hi", "3:0-2 2:2-3 9:3-6 3:6-8 8:8-13 3:13-15");
    const struct added_tokens *added = &pipeline.set.added;
    ck_assert(added_tokens_of_id(added, 9)->special);
    ck_assert(!added_tokens_of_id(added, 8)->special);
    ck_assert(added_tokens_of_id(added, 8)->normalized);
    tokenizer_release(&pipeline);
}

/* `normalized` tokens are normalized, too, and found in the normalized text; others are found in
 * the original text, which they split into segments. */
TEST(added_tokens_are_found_before_or_after_normalization)
{
#define BOTH_KINDS                                                                           \
    "{\"added_tokens\": [{\"id\": 5, \"content\": \"<A>\", \"normalized\": false}, "         \
    "{\"id\": 6, \"content\": \"<Ä>\", \"normalized\": true}], \"normalizer\": {\"type\": " \
    "\"Sequence\", \"normalizers\": [{\"type\": \"Prepend\", \"prepend\": \"_\"}, "          \
    "{\"type\": \"NFD\"}, {\"type\": \"Lowercase\"}]}, \"model\": {\"type\": \"BPE\", "      \
    "\"vocab\": {\"<\": 0, \"a\": 1, \">\": 2, \"_\": 3}, \"merges\": []}}"
    static const struct pipeline_case cases[] = {
        {BOTH_KINDS, "<A>", "5:0-3"},
        {BOTH_KINDS, "<a>", "3:0-0 0:0-1 1:1-2 2:2-3"},
        {BOTH_KINDS, "<A>a<A>", "5:0-3 3:3-3 1:3-4 5:4-7"},
        {BOTH_KINDS, "<Ä>", "6:0-4"}, /* both become `_<ä>` */
        {BOTH_KINDS, "A<ä>", "3:0-0 1:0-1 0:1-2 1:2-4 2:4-5 !1@2-4"},
        {BOTH_KINDS, "A_<Ä>a", "3:0-0 1:0-1 6:1-6 1:6-7"},
    };
    pipeline_rig_expect_all(cases, COUNT(cases));
}

#define WORDS "\"model\": {\"type\": \"WordLevel\", \"vocab\": "

TEST(word_level_models_are_read)
{
    static const struct pipeline_case cases[] = {
        {"{\"pre_tokenizer\": {\"type\": \"Whitespace\"}, " WORDS
         "{\"[UNK]\": 0, \"Life\": 1, \"is\": 2}, \"unk_token\": \"[UNK]\"}}",
         "Life is, life", "1:0-4 2:5-7 0:7-8 0:9-13"},
        {"{\"pre_tokenizer\": {\"type\": \"WhitespaceSplit\"}, " WORDS
         "{\"[UNK]\": 0, \"Life\": 1, \"is,\": 2}, \"unk_token\": \"[UNK]\"}}",
         "Life is, life", "1:0-4 2:5-8 0:9-13"},
        {"{" WORDS "{\"Life is, life\": 1}}}", "Life is, life", "1:0-13"},
    };
    pipeline_rig_expect_all(cases, COUNT(cases));
}

/* Files of old versions do not name the model. */
TEST(a_model_without_a_type_is_recognised_by_its_fields)
{
    static const struct {
        const char *json;
        size_t row;
    } cases[] = {
        {"{\"model\": {\"vocab\": {\"a\": 0}, \"merges\": []}}", SUBWORD_BPE},
        {"{\"model\": {\"vocab\": [[\"a\", -1.0]], \"unk_id\": 0}}", SUBWORD_UNIGRAM},
        {"{\"model\": {\"vocab\": {\"a\": 0}, \"unk_token\": \"a\", "
         "\"max_input_chars_per_word\": 100}}",
         SUBWORD_WORD_PIECE},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tokenizer pipeline;
        struct err err = {0};
        ck_assert_msg(!pipeline_rig_open(&pipeline, cases[i].json, &err), "%s", err.text);
        ck_assert_ptr_eq(pipeline.model.row, &subword_rows[cases[i].row]);
        pipeline_rig_expect(&pipeline, "a", "0:0-1");
        tokenizer_release(&pipeline);
    }
}

TEST(the_length_of_truncation_is_read)
{
    static const struct {
        const char *json;
        long long truncation;
    } cases[] = {
        {"{\"truncation\": {\"max_length\": 12}, \"model\": " BPE MERGES "}", 12},
        {"{\"truncation\": null, \"model\": " BPE MERGES "}", 0},
        {"{\"truncation\": {\"max_length\": -1}, \"model\": " BPE MERGES "}", 0},
        {"{\"model\": " BPE MERGES "}", 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct tokenizer pipeline;
        ck_assert_int_eq(pipeline_rig_open(&pipeline, cases[i].json, NULL), 0);
        ck_assert_int_eq(pipeline.facts.truncation, cases[i].truncation);
        tokenizer_release(&pipeline);
    }
}

#define ADDED(items) \
    "{\"added_tokens\": " items ", \"pre_tokenizer\": " BYTE_LEVEL ", \"model\": " BPE MERGES "}"
TEST(a_failed_allocation_is_an_error)
{
    pipeline_rig_starve(ADDED("[{\"id\": 9, \"content\": \"<s>\"}]"), "hi <s>",
                        "3:0-2 2:2-3 9:3-6");
    pipeline_rig_starve(PRE(SEQUENCE(SPLIT("i", "Isolated", "false") ", " BYTE_LEVEL)), "hi hi",
                        "0:0-1 1:1-2 2:2-3 0:3-4 1:4-5");
    pipeline_rig_starve(BOTH_KINDS, "A_<Ä>", "3:0-0 1:0-1 6:1-6");
}
