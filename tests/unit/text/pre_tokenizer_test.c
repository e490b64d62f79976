#include "text/stages.h"

#include <string.h>

#include "../rigs/pipeline_rig.h"
#include "../unit.h"

#define SEQUENCE(steps) "{\"type\": \"Sequence\", \"pretokenizers\": [" steps "]}"
#define ALONE(type) "{\"type\": \"" type "\"}"
#define SPLIT(kind, pattern, behavior, inverted)                   \
    "{\"type\": \"Split\", \"pattern\": {\"" kind "\": \"" pattern \
    "\"}, \"behavior\": \"" behavior "\", \"invert\": " inverted "}"
#define MINUS(behavior) SPLIT("String", "-", behavior, "false")
#define OTHERS(behavior) SPLIT("Regex", "[^-]+", behavior, "true")
#define DIGITS(single) "{\"type\": \"Digits\", \"individual_digits\": " single "}"
#define METASPACE(settings) "{\"type\": \"Metaspace\"" settings "}"
#define FALCON                                                                           \
    SEQUENCE("{\"type\": \"Punctuation\", \"behavior\": \"Contiguous\"}, {\"type\": "    \
             "\"ByteLevel\", \"add_prefix_space\": false}, " DIGITS("false") ", " SPLIT( \
                 "Regex", "[0-9][0-9][0-9]", "Isolated", "false"))

/* The first rows are the example of Hugging Face's documentation. */
static const struct {
    const char *pre_tokenizer;
    const char *text;
    const char *pieces;
} cases[] = {
    {MINUS("Removed"), "the-final--countdown", "the:0-3|final:4-9|countdown:11-20"},
    {MINUS("Isolated"), "the-final--countdown",
     "the:0-3|-:3-4|final:4-9|-:9-10|-:10-11|countdown:11-20"},
    {MINUS("MergedWithPrevious"), "the-final--countdown",
     "the-:0-4|final-:4-10|-:10-11|countdown:11-20"},
    {MINUS("MergedWithNext"), "the-final--countdown", "the:0-3|-final:3-9|-:9-10|-countdown:10-20"},
    {MINUS("Contiguous"), "the-final--countdown",
     "the:0-3|-:3-4|final:4-9|--:9-11|countdown:11-20"},
    {MINUS("Removed"), "-a-", "a:1-2"},
    {MINUS("MergedWithPrevious"), "-a-", "-:0-1|a-:1-3"},
    {MINUS("MergedWithNext"), "-a-", "-a:0-2|-:2-3"},
    {MINUS("Removed"), "--", ""},
    {MINUS("Contiguous"), "--", "--:0-2"},
    /* inverted: pieces are the text between matches */
    {OTHERS("Removed"), "a--b", "a:0-1|b:3-4"},
    {OTHERS("Isolated"), "a--b", "a:0-1|--:1-3|b:3-4"},
    {OTHERS("MergedWithPrevious"), "a--b", "a--:0-3|b:3-4"},
    {OTHERS("MergedWithNext"), "a--b", "a:0-1|--b:1-4"},
    {OTHERS("Contiguous"), "a--b", "a:0-1|--:1-3|b:3-4"},
    /* empty matches split, but are not pieces */
    {SPLIT("Regex", "(?=b)", "Isolated", "false"), "abab", "a:0-1|ba:1-3|b:3-4"},
    {SPLIT("Regex", "x*", "Isolated", "false"), "axb", "a:0-1|x:1-2|b:2-3"},
    {SPLIT("Regex", "(?=b)", "Removed", "false"), "éb", "é:0-2|b:2-3"},
    {SPLIT("Regex", "$", "MergedWithPrevious", "false"), "ab", "ab:0-2"},
    {SPLIT("String", "", "Isolated", "false"), "ab", "ab:0-2"},
    /* the default behaviour is Isolated */
    {"{\"type\": \"Split\", \"pattern\": {\"String\": \" \"}}", "a b", "a:0-1| :1-2|b:2-3"},
    {DIGITS("true"), "ab12²c", "ab:0-2|1:2-3|2:3-4|²:4-6|c:6-7"},
    {DIGITS("false"), "ab12²c", "ab:0-2|12²:2-6|c:6-7"},
    {ALONE("Digits"), "1a", "1:0-1|a:1-2"},
    {ALONE("Whitespace"), "Hey, you! a_b", "Hey:0-3|,:3-4|you:5-8|!:8-9|a_b:10-13"},
    {ALONE("WhitespaceSplit"), "Hey,\t you ", "Hey,:0-4|you:6-9"},
    {ALONE("Punctuation"), "Hey?!«b", "Hey:0-3|?:3-4|!:4-5|«:5-7|b:7-8"},
    {"{\"type\": \"Punctuation\", \"behavior\": \"Removed\"}", "a?!b", "a:0-1|b:3-4"},
    {"{\"type\": \"Punctuation\", \"behavior\": \"Contiguous\"}", "a?!b", "a:0-1|?!:1-3|b:3-4"},
    {ALONE("BertPreTokenizer"), "Hey, you!", "Hey:0-3|,:3-4|you:5-8|!:8-9"},
    {"{\"type\": \"CharDelimiterSplit\", \"delimiter\": \"/\"}", "a/b//c", "a:0-1|b:2-3|c:5-6"},
    {SEQUENCE(ALONE("WhitespaceSplit") ", " DIGITS("true")), "a1 2", "a:0-1|1:1-2|2:3-4"},
    {"null", "a b", "a b:0-3"},
    /* blanks as ▁ */
    {METASPACE(""), "Hey you", "▁Hey:0-3|▁you:3-7"},
    {METASPACE(""), " Hey  ", "▁Hey:0-4|▁:4-5|▁:5-6"},
    {METASPACE(""), "▁a", "▁a:0-4"},
    {METASPACE(", \"split\": false"), "Hey you", "▁Hey▁you:0-7"},
    {METASPACE(", \"prepend_scheme\": \"never\""), "Hey you", "Hey:0-3|▁you:3-7"},
    {METASPACE(", \"prepend_scheme\": \"always\", \"add_prefix_space\": false"), "a", "▁a:0-1"},
    {METASPACE(", \"add_prefix_space\": false"), "a b", "a:0-1|▁b:1-3"},
    {METASPACE(", \"replacement\": \"_\", \"prepend_scheme\": \"first\""), "a b", "_a:0-1|_b:1-3"},
    {SEQUENCE(ALONE("WhitespaceSplit") ", " METASPACE(", \"prepend_scheme\": \"first\"")), "a b",
     "▁a:0-1|b:2-3"},
    {SEQUENCE(ALONE("WhitespaceSplit") ", " METASPACE("")), "a b", "▁a:0-1|▁b:2-3"},
    /* bytes in GPT-2's alphabet if another step follows */
    {SEQUENCE("{\"type\": \"ByteLevel\", \"add_prefix_space\": false}"), "a é", "a:0-1| é:1-4"},
    {SEQUENCE(ALONE("ByteLevel")), "a b", " a:0-1| b:1-3"},
    {FALCON, "Hey... 12345 é", "Hey:0-3|...:3-6|Ġ:6-7|123:7-10|45:10-12|ĠÃ©:12-15"},
};

TEST_LOOP(a_text_is_split_into_pieces, COUNT(cases))
{
    pipeline_rig_expect_pieces(NULL, cases[_i].pre_tokenizer, cases[_i].text, cases[_i].pieces);
}

TEST(pieces_of_normalized_text_have_original_positions)
{
    pipeline_rig_expect_pieces("{\"type\": \"Prepend\", \"prepend\": \"x-\"}", MINUS("Removed"),
                               "e\xCC\x81-b", "x:0-0|e\xCC\x81:0-3|b:4-5");
    pipeline_rig_expect_pieces("{\"type\": \"NFC\"}", MINUS("Isolated"), "e\xCC\x81-b",
                               "é:0-3|-:3-4|b:4-5");
    pipeline_rig_expect_pieces("{\"type\": \"NFC\"}", METASPACE(""), "e\xCC\x81 b",
                               "▁é:0-3|▁b:3-5");
}

#define PRE(value)                                                                         \
    "{\"pre_tokenizer\": " value ", \"model\": {\"type\": \"BPE\", \"unk_token\": \"a\", " \
    "\"vocab\": {\"a\": 0, \"▁\": 1}, \"merges\": []}}"

/* A pattern without a splitter: millions of blanks are one piece. */
TEST(a_long_run_is_one_match)
{
    struct tokenizer pipeline;
    struct buf text = {0};
    struct buf line = {0};
    ck_assert_int_eq(
        pipeline_rig_open(&pipeline,
                          PRE(SEQUENCE(SPLIT("Regex", "\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+",
                                             "Removed", "false"))),
                          NULL),
        0);
    buf_repeat(&text, " ", 1, 1 << 21);
    struct token_text given = {text.bytes, text.size, false};
    struct err err = {0};
    ck_assert_msg(!pipeline_rig_encode(&pipeline, &line, &given, &err), "%s", err.text);
    ck_assert_str_eq(line.bytes, "");
    tokenizer_release(&pipeline);
    buf_release(&line);
    buf_release(&text);
}

TEST(a_failed_allocation_is_an_error)
{
    pipeline_rig_starve(PRE(SEQUENCE(SPLIT("Regex", "b", "Removed", "false") ", " METASPACE(""))),
                        "a ba", "1:0-0 0:0-1 1:1-2 1:3-3 0:3-4");
    pipeline_rig_starve(PRE(FALCON), "a a", "0:0-1 0:1-2 0:2-3");
}
