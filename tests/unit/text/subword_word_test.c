#include "text/builder.h"

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

TEST(words_are_the_pieces_of_the_pre_tokenizer)
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

TEST(a_refused_word_has_its_position_in_the_original_text)
{
    static const char json[] =
        "{\"normalizer\": {\"type\": \"Prepend\", \"prepend\": \"Life is  \"}, "
        "\"pre_tokenizer\": {\"type\": \"Whitespace\"}, \"model\": {\"type\": "
        "\"WordLevel\", \"vocab\": {\"Life\": 0, \"is\": 1}}}";
    const struct token_text given = {"Life lfe", 8, false};
    struct tokenizer pipeline;
    struct buf line = {0};
    struct err err = {0};
    ck_assert_int_eq(pipeline_rig_open(&pipeline, json, NULL), 0);
    ck_assert_int_eq(pipeline_rig_encode(&pipeline, &line, &given, &err), -1);
    ck_assert_str_eq(err.text,
                     "word 'lfe' at byte 5 is not in the vocabulary: did you mean 'Life'?");
    buf_release(&line);
    tokenizer_release(&pipeline);
}

/* --- WordPiece -------------------------------------------------------------------------------- */

#define PIECES(settings)                                                                          \
    "{\"pre_tokenizer\": {\"type\": \"BertPreTokenizer\"}, \"model\": {\"type\": \"WordPiece\", " \
    "\"vocab\": {\"[UNK]\": 0, \"un\": 1, \"##aff\": 2, \"##able\": 3, \"##a\": 4, \"a\": 5, "    \
    "\"é\": 6, \"##é\": 7, \"@@b\": 8, \"##\": 9, \"unaa\": 10}" settings "}}"
#define UNKNOWN ", \"unk_token\": \"[UNK]\""

TEST(a_word_is_split_into_its_longest_pieces)
{
    static const struct pipeline_case cases[] = {
        {PIECES(UNKNOWN), "unaffable", "1:0-2 2:2-5 3:5-9"},
        {PIECES(UNKNOWN), "un unéa", "1:0-2 1:3-5 7:5-7 4:7-8"},
        {PIECES(UNKNOWN), "aaa", "5:0-1 4:1-2 4:2-3"},
        {PIECES(UNKNOWN), "unx un", "0:0-3 1:4-6"}, /* the whole word is unknown */
        {PIECES(UNKNOWN), "unaaff", "0:0-6"},       /* no backtracking to a shorter piece */
        {PIECES(UNKNOWN), "x", "0:0-1"},
        {PIECES(UNKNOWN ", \"max_input_chars_per_word\": 3"), "aéa aéaa",
         "5:0-1 7:1-3 4:3-4 0:5-10"},
        {PIECES(UNKNOWN ", \"max_input_chars_per_word\": 0"), "a", "0:0-1"},
        {PIECES(UNKNOWN ", \"continuing_subword_prefix\": \"@@\""), "ab", "5:0-1 8:1-2"},
        {PIECES(UNKNOWN ", \"continuing_subword_prefix\": \"\""), "aun", "5:0-1 1:1-3"},
    };
    pipeline_rig_expect_all(cases, COUNT(cases));
}

TEST(a_failed_allocation_is_an_error)
{
    pipeline_rig_starve(PIECES(UNKNOWN), "unaffable x", "1:0-2 2:2-5 3:5-9 0:10-11");
    pipeline_rig_starve(WORDS, "Life x", "1:0-4 0:5-6");
}
