/* BPE of tokenizer.json on characters: unknown characters, prefixes and suffixes, whole pieces, and
 * splits at ▁. */
#include "text/subword/subword.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../rigs/pipeline_rig.h"
#include "../unit.h"

#define BPE(settings)                                                                           \
    "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"<unk>\": 0, \"a\": 1, \"b\": 2, \"ab\": 3, " \
    "\"é\": 4, \"aé\": 5, \"<0xE7>\": 6, \"<0x88>\": 7, \"<0xB1>\": 8, \"abab\": 9}, "        \
    "\"merges\": [\"a b\", \"a é\"]" settings "}}"
#define UNKNOWN ", \"unk_token\": \"<unk>\""
#define FUSED ", \"unk_token\": \"<unk>\", \"fuse_unk\": true"
#define BYTES ", \"byte_fallback\": true"

TEST(unknown_characters_are_dropped_or_unknown_tokens_or_bytes)
{
    static const struct pipeline_case cases[] = {
        {BPE(""), "abaéb", "3:0-2 5:2-5 2:5-6"},
        {BPE(""), "axyb", "3:0-4 !2@1-2"},
        {BPE(""), "爱", "!1@0-3"},
        {BPE(UNKNOWN), "axyb", "1:0-1 0:1-2 0:2-3 2:3-4"},
        {BPE(FUSED), "axyb", "1:0-1 0:1-3 2:3-4"},
        {BPE(FUSED), "xy", "0:0-2"},
        {BPE(BYTES), "a爱b", "1:0-1 6:1-2 7:2-3 8:3-4 2:4-5"},
        {BPE(BYTES), "a我b", "3:0-5 !1@1-4"}, /* not all of its bytes have tokens */
        {BPE(BYTES UNKNOWN), "a我b", "1:0-1 0:1-4 2:4-5"},
        /* a fused unknown token follows bytes; positions still increase */
        {BPE(BYTES FUSED), "x爱b", "6:1-2 7:2-3 8:3-4 0:4-4 2:4-5"},
        {BPE(BYTES FUSED), "x爱yb", "6:1-2 7:2-3 8:3-4 0:4-5 2:5-6"},
        {BPE(", \"unk_token\": \"\""), "x", "!1@0-1"},
        {"{\"normalizer\": {\"type\": \"Prepend\", \"prepend\": \"_\"}, \"model\": {\"type\": "
         "\"BPE\", \"vocab\": {\"a\": 0}, \"merges\": []}}",
         "a", "0:0-1"}, /* the dropped character was not in the text */
        {BPE(", \"unk_token\": null"), "x", "!1@0-1"},
    };
    pipeline_rig_expect_all(cases, COUNT(cases));
}

TEST(ignore_merges_takes_a_piece_in_the_vocabulary_whole)
{
    static const struct pipeline_case cases[] = {
        {BPE(""), "abab", "3:0-2 3:2-4"},
        {BPE(", \"ignore_merges\": true"), "abab", "9:0-4"},
        {BPE(", \"ignore_merges\": true"), "ababa", "3:0-2 3:2-4 1:4-5"},
        {BPE(", \"ignore_merges\": true"), "<unk>", "0:0-5"},
    };
    pipeline_rig_expect_all(cases, COUNT(cases));
}

/* With a pre_tokenizer, because words have a first and a last character. */
#define AFFIXES(settings)                                                                  \
    "{\"pre_tokenizer\": {\"type\": \"WhitespaceSplit\"}, \"model\": {\"type\": \"BPE\", " \
    "\"vocab\": {\"a\": 0, \"b\": 1, \"##a\": 2, \"##b\": 3, \"a</w>\": 4, \"b</w>\": 5, " \
    "\"ab\": 6, \"ab</w>\": 7, \"##b</w>\": 8, \"ab##b\": 9}, " settings "}}"

TEST(characters_may_have_a_prefix_or_a_suffix)
{
    static const struct pipeline_case cases[] = {
        {AFFIXES("\"merges\": [\"a ##b\"], \"continuing_subword_prefix\": \"##\""), "aba a b",
         "6:0-2 2:2-3 0:4-5 1:6-7"},
        {AFFIXES("\"merges\": [\"a b</w>\"], \"end_of_word_suffix\": \"</w>\""), "ab a aab",
         "7:0-2 4:3-4 0:5-6 7:6-8"},
        {AFFIXES("\"merges\": [], \"end_of_word_suffix\": \"</w>\", "
                 "\"continuing_subword_prefix\": \"##\""),
         "abb", "0:0-1 3:1-2 8:2-3"},
    };
    pipeline_rig_expect_all(cases, COUNT(cases));
}

TEST(pieces_in_the_byte_alphabet_have_positions_of_bytes)
{
    /* The fifth byte of the piece `Ã©x` is the third one of the text `éx`. */
    static const struct pipeline_case cases[] = {
        {"{\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": "
         "\"ByteLevel\", \"add_prefix_space\": false}, {\"type\": \"Digits\"}]}, \"model\": "
         "{\"type\": \"BPE\", \"vocab\": {\"Ã\": 0, \"©\": 1, \"x\": 2, \"Ã©\": 3, \"Ġ\": 4, "
         "\"1\": 5}, \"merges\": [\"Ã ©\"]}}",
         "éx1 é爱x", "3:0-2 2:2-3 5:3-4 4:4-5 3:5-7 2:10-11 !1@7-10"},
        {"{\"normalizer\": {\"type\": \"ByteLevel\"}, \"model\": {\"type\": \"BPE\", \"vocab\": "
         "{\"Ã\": 0, \"©\": 1, \"x\": 2, \"Ã©\": 3}, \"merges\": [\"Ã ©\"]}}",
         "éxé", "3:0-2 2:2-3 3:3-5"},
    };
    pipeline_rig_expect_all(cases, COUNT(cases));
}

/* --- splits at ▁ ------------------------------------------------------------------------------ */

/* A vocabulary of ▁, a, b and the results of random merges. `over`: some merges join a word with
 * the ▁ of the next. Unknown characters are dropped or become a token. */
static void write_random(struct buf *json, unsigned *seed, bool over, bool drops)
{
    enum { LETTERS = 3, MERGES = 12, WORD_MAX = 128 };
    char words[LETTERS + MERGES][WORD_MAX] = {"▁", "a", "b"};
    struct buf merges = {0};
    size_t count = LETTERS;
    buf_text(
        json,
        "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"u\": 900, \"▁\": 0, \"a\": 1, \"b\": 2");
    buf_text(&merges, "");
    for (int i = 0; i < MERGES; i++) {
        const char *left = words[(size_t)rand_r(seed) % count];
        const char *right = words[(size_t)rand_r(seed) % count];
        size_t left_size = strlen(left);
        bool ends = left_size >= 3 && memcmp(left + left_size - 3, "▁", 3) == 0;
        bool known = false;
        if (left_size + strlen(right) >= WORD_MAX ||
            (!over && strncmp(right, "▁", 3) == 0 && !ends))
            continue;
        char word[2 * WORD_MAX];
        snprintf(word, sizeof word, "%s%s", left, right);
        memcpy(words[count], word, WORD_MAX);
        for (size_t k = 0; k < count; k++)
            known = known || strcmp(words[k], words[count]) == 0;
        buf_format(&merges, "%s[\"%s\", \"%s\"]", merges.size ? ", " : "", left, right);
        if (!known)
            buf_format(json, ", \"%s\": %zu", words[count], count);
        count += !known;
    }
    buf_format(json, "}, \"merges\": [%s]%s}}", merges.bytes,
               drops  ? ""
               : over ? ", \"unk_token\": \"b\""
                      : ", \"unk_token\": \"u\"");
    buf_release(&merges);
}

TEST(splitting_at_the_sign_does_not_change_tokens)
{
    static const char *const parts[] = {"▁", "a", "b", "▁", "ab", "x"};
    size_t cut = 0;
    for (unsigned round = 0; round < 600; round++) {
        unsigned seed = round;
        struct buf json = {0};
        struct buf text = {0};
        struct buf lines[2] = {0};
        struct tokenizer pipeline;
        struct err err = {0};
        write_random(&json, &seed, round % 3 == 0, round % 5 == 0);
        buf_text(&text, "");
        for (int left = rand_r(&seed) % 200; left >= 0; left--)
            buf_text(&text, parts[(size_t)(rand_r(&seed) >> 4) % COUNT(parts)]);
        ck_assert_msg(!pipeline_rig_open(&pipeline, json.bytes, &err), "%s: %s", json.bytes,
                      err.text);
        struct token_text given = {text.bytes, text.size, false};
        cut += pipeline.model.joins != NULL;
        ck_assert_int_eq(pipeline_rig_encode(&pipeline, &lines[0], &given, NULL), 0);
        pipeline.model.joins = NULL;
        ck_assert_int_eq(pipeline_rig_encode(&pipeline, &lines[1], &given, NULL), 0);
        ck_assert_msg(strcmp(lines[0].bytes, lines[1].bytes) == 0, "%s: '%s'", json.bytes,
                      text.bytes);
        tokenizer_release(&pipeline);
        buf_release(&json);
        buf_release(&text);
        buf_release(&lines[0]);
        buf_release(&lines[1]);
    }
    ck_assert_uint_ge(cut, 300);
}

#define UNKNOWN_A ", \"unk_token\": \"a\""

TEST(a_merge_across_the_sign_prevents_splitting_there)
{
    static const struct {
        const char *merges;
        const char *settings;
        bool cuts;
    } cases[] = {
        {"\"▁ a\"", ", \"unk_token\": \"▁▁▁\"", true},
        {"\"▁ a\"", UNKNOWN_A, false},
        {"\"▁ ▁\", \"▁▁ ▁\"", UNKNOWN_A, true},
        {"\"a ▁\"", UNKNOWN_A, false}, /* a is also in place of unknown characters */
        {"\"a ▁\"", ", \"unk_token\": \"▁▁▁\"", true},
        {"\"a ▁\"", ", \"unk_token\": \"▁▁▁\", \"byte_fallback\": true", true},
        {"\"▁ a\", \"a ▁a\"", UNKNOWN_A, false},
        {"", UNKNOWN_A, true},
        {"", "", false}, /* dropping a character joins its neighbours */
        {"", UNKNOWN_A ", \"ignore_merges\": true", false},
        {"", UNKNOWN_A ", \"end_of_word_suffix\": \"a\"", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf json = {0};
        struct tokenizer pipeline;
        struct err err = {0};
        buf_format(&json,
                   "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"▁\": 0, \"a\": 1, \"▁a\": 2, "
                   "\"▁▁\": 3, \"▁▁▁\": 4, \"a▁\": 5, \"a▁a\": 6}, \"merges\": [%s]%s}}",
                   cases[i].merges, cases[i].settings);
        ck_assert_msg(!pipeline_rig_open(&pipeline, json.bytes, &err), "%s", err.text);
        ck_assert_msg((pipeline.model.joins != NULL) == cases[i].cuts, "%s", cases[i].merges);
        tokenizer_release(&pipeline);
        buf_release(&json);
    }
}

TEST(a_failed_allocation_is_an_error)
{
    pipeline_rig_starve(BPE(BYTES FUSED), "x爱yb", "6:1-2 7:2-3 8:3-4 0:4-5 2:5-6");
    pipeline_rig_starve(AFFIXES("\"merges\": [\"a b</w>\"], \"end_of_word_suffix\": \"</w>\""),
                        "ab a", "7:0-2 4:3-4");
}
