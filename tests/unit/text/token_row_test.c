/* What comes of the same bytes again and again is found once where ids alone are asked for: they
 * are those that are found one by one where places are. */
#include <stdlib.h>
#include <string.h>

#include "../rigs/pipeline_rig.h"
#include "../unit.h"

#define DIGITS "{\"type\": \"Digits\", \"individual_digits\": true}"
#define SIGN "{\"type\": \"Metaspace\", \"prepend_scheme\": \"first\", \"split\": false}"
#define STARS                                                                    \
    "\"normalizer\": {\"type\": \"Replace\", \"pattern\": {\"String\": \"'\"}, " \
    "\"content\": \"☆'\"}, "
#define UNIGRAM(settings)                                                                         \
    "\"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [[\"<unk>\", 0], [\"'\", "      \
    "-1.3], [\".\", -2.7], [\"..\", -5.3], [\"...\", -8.2], [\"é\", -3.1], [\"a\", -4.7], "      \
    "[\"ab\", -9.5], [\"<0xE2>\", -9], [\"<0x98>\", -9], [\"<0x86>\", -9], [\"▁\", -4]]" settings \
    "}"
#define BPE(settings)                                                             \
    "\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"1\": 1, \"▁\": 2, " \
    "\"▁1\": 3, \".\": 4, \"é\": 5}, \"merges\": [\"▁ 1\"]" settings "}"

static const char *const tokenizers[] = {
    "{" STARS UNIGRAM("") "}",
    "{" STARS UNIGRAM(", \"fuse_unk\": false") "}",
    "{" STARS UNIGRAM(", \"byte_fallback\": true") "}",
    "{\"pre_tokenizer\": " DIGITS ", " BPE(", \"unk_token\": \"a\"") "}",
    "{\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [" DIGITS ", " SIGN
    "]}, " BPE("") "}",
    "{\"normalizer\": {\"type\": \"Prepend\", \"prepend\": \"11111111111111111111111111111111\"}, "
    "\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [" DIGITS ", " SIGN
    "]}, " BPE("") "}",
    "{\"normalizer\": {\"type\": \"BertNormalizer\"}, \"pre_tokenizer\": {\"type\": "
    "\"BertPreTokenizer\"}, \"model\": {\"type\": \"WordPiece\", \"unk_token\": \"?\", \"vocab\": "
    "{\"?\": 0, \".\": 1, \"a\": 2, \"##a\": 3, \"1\": 4, \"##1\": 5, \"e\": 6}}}",
};

/* Rows of a few characters, short and long. */
static void draw_text(struct buf *text, unsigned *seed)
{
    static const char *const units[] = {"'",  ".",  "1",  "2",  "a", "é",  "'.",
                                        "1.", "ab", "a'", "我", " ", ".'é"};
    static const size_t counts[] = {1, 2, 3, 15, 16, 17, 18, 19, 33, 64, 1400, 4099, 9001};
    buf_clear(text);
    for (size_t rows = 1 + (size_t)(rand_r(seed) >> 4) % 4; rows; rows--) {
        const char *unit = units[(size_t)(rand_r(seed) >> 4) % COUNT(units)];
        buf_repeat(text, unit, strlen(unit), counts[(size_t)(rand_r(seed) >> 4) % COUNT(counts)]);
    }
}

static int keep(void *context, const struct token *tokens, size_t count, struct err *err)
{
    (void)err;
    for (size_t i = 0; i < count; i++)
        buf_bytes(context, (const char *)&tokens[i].id, sizeof tokens[i].id);
    return 0;
}

/* The ids of a text, four bytes each; returns how many characters have none. */
static size_t find_ids(const struct pipeline *pipeline, struct buf *ids, const struct buf *text,
                       bool alone)
{
    struct token_sink sink = {keep, ids};
    struct token_list list = {.sink = &sink, .only_ids = alone};
    struct encoder encoder = {.pipeline = pipeline, .list = &list};
    struct token_text given = {text->bytes, text->size, false};
    buf_clear(ids);
    ck_assert_int_eq(encoder_run(&encoder, &given, NULL), 0);
    ck_assert_int_eq(token_list_flush(&list, NULL), 0);
    size_t dropped = list.dropped_count;
    encoder_release(&encoder);
    token_list_release(&list);
    return dropped;
}

TEST_LOOP(rows_have_the_ids_that_they_have_one_by_one, COUNT(tokenizers))
{
    struct pipeline pipeline;
    struct err err = {0};
    struct buf text = {0};
    struct buf one_by_one = {0};
    struct buf at_once = {0};
    unsigned seed = 1;
    ck_assert_msg(!pipeline_rig_open(&pipeline, tokenizers[_i], &err), "%s", err.text);
    for (int round = 0; round < 150; round++) {
        draw_text(&text, &seed);
        size_t dropped = find_ids(&pipeline, &one_by_one, &text, false);
        ck_assert_uint_eq(find_ids(&pipeline, &at_once, &text, true), dropped);
        ck_assert_uint_eq(at_once.size, one_by_one.size);
        ck_assert_mem_eq(at_once.bytes, one_by_one.bytes, one_by_one.size);
    }
    pipeline_release(&pipeline);
    buf_release(&text);
    buf_release(&one_by_one);
    buf_release(&at_once);
}
