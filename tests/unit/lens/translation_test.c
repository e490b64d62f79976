/* continuation.h, where the text looks at a source that an encoder has read. */
#include <string.h>

#include "../unit.h"
#include "../rigs/story.h"

static const char source[] = "the small black cat sees a white cow";

TEST(what_is_kept_beside_a_source_is_what_one_pass_gives)
{
    static const char *const models[] = {"translate", "tests/golden/transformer-pre",
                                         "tests/golden/transformer-post"};
    static const size_t tokens[] = {0, 1, 9, 40};
    for (size_t m = 0; m < 3; m++)
        for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
            struct story story;
            struct input input = story_input("<s>");
            struct input cats = story_input(m ? "the cat sleeps" : source);
            story_open_beside(&story, models[m], &input, &cats);
            story_select(&story, i % 2 ? "0" : NULL);
            story.selection.sites |= site_bit(SITE_CROSS_SCORES) | site_bit(SITE_ENC_SCORES);
            struct generation_config generation = {
                .tokens = tokens[i],
                .sampling = {.temperature = 1, .top_p = 1, .seed = i},
                .past_end = true,
                .selection = &story.selection,
            };
            story_begin(&story, &generation);
            story_go_on(&story);
            ck_assert_int_eq(story.text.end,
                             m == 1 && tokens[i] > 11 ? END_OF_CONTEXT : END_AS_ASKED);
            story_expect_report(&story);
            story_release(&story);
        }
}

/* The logits by which the last token was chosen, or none was, against a pass over the whole. */
static void expect_logits(struct story *story, size_t count)
{
    struct selection logits = {.sites = site_bit(SITE_LOGITS)};
    struct input ids = {.ids = story_ids(story)};
    struct text_pair pair;
    struct report report;
    struct look look = {&logits, &pair, 1, 0, &report};
    size_t words = story->viewer.model.config.vocab_size;
    ck_assert_int_eq(viewer_read(&story->viewer, &pair, &ids, NULL, &story->arena, NULL), 0);
    pair.source = story->prompt.source;
    ck_assert_int_eq(viewer_look(&story->viewer, &look, &story->arena, NULL), 0);
    const float *row = report.tensors[0].data + (count - 1) * words;
    ck_assert_mem_eq(story->text.logits, row, words * sizeof *row);
    for (size_t id = 0; id < words; id++)
        ck_assert_float_le(row[id], row[story->text.chosen]);
}

TEST_LOOP(every_step_beside_a_source_has_the_logits_of_a_pass_over_the_whole, 2 * 4)
{
    static const char *const models[] = {"translate", "tests/golden/transformer-pre",
                                         "tests/golden/transformer-post",
                                         "tests/golden/transformer-paper"};
    struct story story;
    struct input input = story_input("<s>");
    struct input cats = story_input(_i % 4 ? "the cat sleeps" : source);
    struct generation_config generation = {
        .tokens = 80, .sampling = {.top_p = 1}, .past_end = true};
    bool more = true;
    story_open_beside(&story, models[_i % 4], &input, &cats);
    machine_release(&story.viewer.machine);
    ck_assert_int_eq(machine_open(&story.viewer.machine, 1 + (size_t)_i / 4, NULL), 0);
    story_begin(&story, &generation);
    while (continuation_next(&story.text, &more, NULL) == 0 && more)
        expect_logits(&story, story.text.count - 1);
    ck_assert_uint_eq(story.text.count, _i % 4 == 1 ? 12 : 81);
    story_release(&story);
}

/* A sentence that nobody began begins with what the model's sentences begin with. */
TEST(a_source_is_translated)
{
    struct story story;
    struct report report;
    struct input cats = story_input(source);
    struct generation_config generation = {.tokens = 40, .sampling = {.top_p = 1}};
    story_open_beside(&story, "translate", NULL, &cats);
    story_begin(&story, &generation);
    ck_assert_str_eq(story.text.text.bytes, "");
    story_go_on(&story);
    ck_assert_int_eq(story.text.end, END_OF_TEXT);
    ck_assert_str_eq(story.text.text.bytes, "le petit chat noir voit une vache blanche");
    expect_logits(&story, story.text.count);
    ck_assert_int_eq(continuation_report(&story.text, &report, &story.arena, NULL), 0);
    ck_assert_uint_eq(report.sentence.count, 9);
    ck_assert_str_eq(report.sentence.labels[0].text, "<s>");
    ck_assert_uint_eq(report.sentence.tokens[0].end, 0);
    ck_assert_str_eq(report.source.text, source);
    story_release(&story);
}

TEST(a_model_may_have_no_token_to_begin_with)
{
    struct story story;
    struct err err = {0};
    struct input cats = story_input(source);
    story_open_beside(&story, "translate", &cats, &cats);
    struct config *config = &story.viewer.model.config;
    config->bos_id = 54;
    ck_assert_int_eq(viewer_read(&story.viewer, &story.prompt, NULL, &cats, &story.arena, &err),
                     -1);
    ck_assert_str_eq(
        err.text,
        "'translate': field 'bos_token_id': expected an id below vocab_size = 54, found 54");
    err_clear(&err);
    config->bos_id = -1;
    ck_assert_int_eq(viewer_read(&story.viewer, &story.prompt, NULL, &cats, &story.arena, &err),
                     -1);
    ck_assert_str_eq(
        err.text, "'translate': expected a text to begin with (--sentence): field 'bos_token_id' "
                  "of config.json names no token for it");
    story_release(&story);
}
