#include "text/subword/subword.h"

#include <stdlib.h>
#include <string.h>

#include "../rigs/pipeline_rig.h"
#include "../unit.h"

#define UNIGRAM(settings)                                                                          \
    "{\"model\": {\"type\": \"Unigram\", \"vocab\": [[\"<unk>\", 0], [\"a\", -1.5], [\"b\", -2], " \
    "[\"ab\", -3], [\"aba\", -6.25], [\"é\", -3], [\"<0xE7>\", -9], [\"<0x88>\", -9], "           \
    "[\"<0xB1>\", -9]]" settings "}}"

TEST(the_most_likely_segmentation_is_chosen)
{
    static const struct pipeline_case cases[] = {
        {UNIGRAM(", \"unk_id\": 0"), "ab", "3:0-2"},
        {UNIGRAM(", \"unk_id\": 0"), "aba", "3:0-2 1:2-3"}, /* -4.5 is more than -6.25 */
        {UNIGRAM(", \"unk_id\": 0"), "bé", "2:0-1 5:1-3"},
        {UNIGRAM(", \"unk_id\": 0"), "", ""},
        {UNIGRAM(", \"unk_id\": 0"), "axyb", "1:0-1 0:1-3 2:3-4"},
        {UNIGRAM(", \"unk_id\": 0, \"fuse_unk\": false"), "axyb", "1:0-1 0:1-2 0:2-3 2:3-4"},
        {UNIGRAM(", \"unk_id\": 0"), "a爱", "1:0-1 0:1-4"},
        {UNIGRAM(", \"unk_id\": 0, \"byte_fallback\": true"), "a爱", "1:0-1 6:1-2 7:2-3 8:3-4"},
        {UNIGRAM(", \"unk_id\": 0, \"byte_fallback\": true"), "a我", "1:0-1 0:1-4"},
        {UNIGRAM(", \"byte_fallback\": true"), "爱", "6:0-1 7:1-2 8:2-3"},
        {UNIGRAM(", \"unk_id\": 3"), "x", "3:0-1"},
    };
    pipeline_rig_expect_all(cases, COUNT(cases));
}

/* Scores of T5. If decimals were rounded to the nearest double, the single g would come first. */
TEST(ties_depend_on_how_rust_reads_numbers)
{
    static const struct pipeline_case cases[] = {
        {"{\"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [[\"_\", "
         "-2.0122928619384766], [\"g\", -7.407997131347656], [\"gg\", -10.809488296508789]]}}",
         "_ggggggggggggg", "0:0-1 2:1-3 2:3-5 1:5-6 2:6-8 2:8-10 2:10-12 2:12-14"},
    };
    pipeline_rig_expect_all(cases, COUNT(cases));
}

/* --- compared with all segmentations --------------------------------------------------------- */

enum { WORDS = 40, TEXT_MAX = 14 };

struct word_score {
    char word[8];
    double score;
};

/* The best sum for the rest of a text; an unknown character costs `unknown`. */
static double best(const struct word_score *words, size_t count, double unknown, const char *text)
{
    double most = -1e300;
    bool known = false;
    if (!*text)
        return 0;
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(words[i].word);
        if (strncmp(text, words[i].word, size) != 0)
            continue;
        double sum = words[i].score + best(words, count, unknown, text + size);
        most = sum > most ? sum : most;
        known = known || size == 1;
    }
    if (!known) {
        double sum = unknown + best(words, count, unknown, text + 1);
        most = sum > most ? sum : most;
    }
    return most;
}

static size_t draw_words(struct word_score *words, struct buf *json, unsigned *seed)
{
    size_t count = 0;
    buf_text(json, "{\"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"fuse_unk\": false, "
                   "\"vocab\": [[\"?\", 0]");
    for (int i = 0; i < WORDS; i++) {
        struct word_score *word = &words[count];
        size_t size = 1 + (size_t)(rand_r(seed) >> 4) % 4;
        bool known = false;
        for (size_t k = 0; k < size; k++)
            word->word[k] = (char)('a' + (rand_r(seed) >> 4) % 3);
        word->word[size] = '\0';
        for (size_t k = 0; k < count; k++)
            known = known || strcmp(words[k].word, word->word) == 0;
        word->score = -(rand_r(seed) >> 4) % 1000 / 64.0; /* so that sums are exact */
        if (!known)
            buf_format(json, ", [\"%s\", %.17g]", word->word, word->score);
        count += !known;
    }
    buf_text(json, "]}}");
    return count;
}

TEST(no_other_segmentation_is_more_likely)
{
    for (unsigned round = 0; round < 200; round++) {
        unsigned seed = round;
        struct word_score words[WORDS];
        struct buf json = {0};
        struct tokenizer pipeline;
        struct err err = {0};
        size_t count = draw_words(words, &json, &seed);
        ck_assert_msg(!pipeline_rig_open(&pipeline, json.bytes, &err), "%s", err.text);
        double unknown = 0;
        for (size_t i = 0; i < count; i++)
            unknown = words[i].score < unknown ? words[i].score : unknown;
        unknown -= 10;
        for (int try = 0; try < 10; try++) {
            char text[TEXT_MAX + 1] = "";
            struct token_list list = {0};
            struct encoder encoder = {.tokenizer = &pipeline, .list = &list};
            double sum = 0;
            size_t size = 1 + (size_t)(rand_r(&seed) >> 4) % TEXT_MAX;
            for (size_t i = 0; i < size; i++)
                text[i] = (char)('a' + (rand_r(&seed) >> 4) % 4);
            struct token_text given = {text, size, false};
            ck_assert_int_eq(encoder_run(&encoder, &given, NULL), 0);
            for (size_t i = 0; i < list.count; i++)
                sum += list.items[i].id ? words[list.items[i].id - 1].score : unknown;
            double most = best(words, count, unknown, text);
            ck_assert_msg(sum == most, "%s: '%s' sums up to %g, not %g", json.bytes, text, sum,
                          most);
            encoder_release(&encoder);
            token_list_release(&list);
        }
        tokenizer_release(&pipeline);
        buf_release(&json);
    }
}

TEST(a_failed_allocation_is_an_error)
{
    pipeline_rig_starve(UNIGRAM(", \"unk_id\": 0"), "axyab", "1:0-1 0:1-3 3:3-5");
}
