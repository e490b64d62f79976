#include "lens/continuation.h"
#include "lens/viewer.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/story.h"
#include "base/heap.h"

static const char start[] = "Life is short, eat"; /* five tokens */

TEST(the_most_likely_token_follows_each_time)
{
    struct story story;
    struct input input = story_input(start);
    struct generation_config generation = {.tokens = 10, .sampling = {.top_p = 1}};
    story_open(&story, "tiny", &input);
    story_begin(&story, &generation);
    story_go_on(&story);
    ck_assert_int_eq(story.text.end, END_AS_ASKED);
    ck_assert_uint_eq(story.text.count, 5 + 10);
    /* the same by passes over all of it */
    struct selection logits = {.sites = site_bit(SITE_LOGITS)};
    struct input whole = {.ids = story_ids(&story)};
    struct text_pair pair;
    struct report report;
    struct look look = {&logits, &pair, 1, 0, &report};
    ck_assert_int_eq(viewer_read(&story.viewer, &pair, &whole, NULL, &story.arena, NULL), 0);
    ck_assert_uint_eq(pair.sentence.count, 15);
    ck_assert_int_eq(viewer_look(&story.viewer, &look, &story.arena, NULL), 0);
    size_t words = story.viewer.model.config.vocab_size;
    for (size_t i = 4; i + 1 < 15; i++) {
        const float *row = report.tensors[0].data + i * words;
        for (size_t id = 0; id < words; id++)
            ck_assert_float_le(row[id], row[story.text.ids[i + 1]]);
    }
    story_release(&story);
}

/* Every choice is the one that the logits would have given, and they are not computed. */
TEST(the_likeliest_token_needs_no_logits)
{
    static const struct {
        const char *model, *ids, *sentence, *source;
    } texts[] = {
        {"tiny", NULL, start, NULL},
        {"tiny", NULL, "The keys to the cabinet", NULL},
        {"tests/golden/gpt2-micro", "1,2,3", NULL, NULL},
        {"tests/golden/gpt2-micro-f16", "4", NULL, NULL},
        {"tests/golden/gpt2-micro-bf16-prefixed-untied", "3,3,3", NULL, NULL},
        {"tests/golden/transformer-pre", NULL, "<s>", "the cat sleeps"},
        {"tests/golden/transformer-post", NULL, "<s>", "the cat sleeps"},
        {"translate", NULL, "<s>", "the small black cat sees a white cow"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct story full;
        struct story story;
        struct input input = {.ids = texts[i].ids};
        struct input source = story_input(texts[i].source ? texts[i].source : "");
        struct generation_config generation = {
            .tokens = 60, .sampling = {.top_p = 1}, .past_end = true, .logits = true};
        if (texts[i].sentence)
            input = story_input(texts[i].sentence);
        story_open_beside(&full, texts[i].model, &input, texts[i].source ? &source : NULL);
        story_begin(&full, &generation);
        story_go_on(&full);
        ck_assert_ptr_nonnull(full.text.logits);
        story_open_beside(&story, texts[i].model, &input, texts[i].source ? &source : NULL);
        generation.logits = false;
        story_begin(&story, &generation);
        ck_assert(!story.text.screens); /* for so small a model it does not pay */
        story.text.screens = true;
        story_go_on(&story);
        ck_assert_ptr_null(story.text.logits);
        ck_assert_uint_gt(story.text.count, story.text.prompt_count + 5);
        ck_assert_uint_eq(story.text.count, full.text.count);
        ck_assert_mem_eq(story.text.ids, full.text.ids, full.text.count * sizeof *full.text.ids);
        story_release(&story);
        story_release(&full);
    }
}

/* What looks at more than the likeliest token has all logits. */
TEST(whoever_looks_at_logits_has_them)
{
    enum { LARGE = (1 << 20) / 96 }; /* words for that many weights */
    struct input input = story_input(start);
    struct selection logits = {.sites = site_bit(SITE_LOGITS)};
    struct selection norm = {.sites = site_bit(SITE_LN_F)};
    struct {
        struct generation_config generation;
        size_t words;
        enum precision precision;
        bool screens;
    } cases[] = {
        {{.tokens = 8}, LARGE, PRECISION_FP32, true},
        {{.tokens = 8, .selection = &norm}, LARGE, PRECISION_FP32, true},
        {{.tokens = 7}, LARGE, PRECISION_FP32, false},
        {{.tokens = 8}, LARGE - 1, PRECISION_FP32, false},
        {{.tokens = 8}, LARGE, PRECISION_BF16, false},
        {{.tokens = 8, .logits = true}, LARGE, PRECISION_FP32, false},
        {{.tokens = 8, .selection = &logits},
         LARGE,
         PRECISION_FP32,
         true}, /* by a pass of its own */
        {{.tokens = 8, .sampling = {.temperature = 1, .top_p = 1}}, LARGE, PRECISION_FP32, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct story story;
        story_open(&story, "tiny", &input);
        ck_assert_uint_eq(story.viewer.model.config.n_embd, 96);
        story.viewer.model.config.vocab_size = cases[i].words;
        story.viewer.model.weights.precision = cases[i].precision;
        story_begin(&story, &cases[i].generation);
        ck_assert_int_eq(story.text.screens, cases[i].screens);
        story_release(&story);
    }
}

TEST(what_is_kept_is_what_one_pass_over_the_whole_gives)
{
    static const size_t tokens[] = {0, 1, 7, 59, 100}; /* the context ends with 59 */
    static const char *const heads[] = {NULL, "1,3"};
    struct input input = story_input(start);
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        for (size_t h = 0; h < 2; h++) {
            struct story story;
            story_open(&story, "tiny", &input);
            story_select(&story, heads[h]);
            struct generation_config generation = {
                .tokens = tokens[i],
                .sampling = {.temperature = 0.3, .top_p = 1, .seed = i}, /* whole words */
                .selection = &story.selection,
            };
            story_begin(&story, &generation);
            story_go_on(&story);
            story_expect_report(&story);
            story_release(&story);
        }
}

TEST(a_text_ends_with_the_context)
{
    struct story story;
    struct input input = story_input(start);
    struct generation_config generation = {.tokens = 1000, .sampling = {.top_p = 1}};
    story_open(&story, "tiny", &input);
    story_begin(&story, &generation);
    story_go_on(&story);
    ck_assert_int_eq(story.text.end, END_OF_CONTEXT);
    ck_assert_uint_eq(story.text.count, 64);
    bool more = true;
    ck_assert_int_eq(continuation_next(&story.text, &more, NULL), 0);
    ck_assert(!more);
    story_release(&story);
}

/* With the second token of what follows as the end of text. */
TEST(a_text_ends_where_the_model_ends_it)
{
    struct input input = story_input("The keys");
    struct generation_config generation = {.tokens = 3, .sampling = {.top_p = 1}};
    struct story free_story;
    story_open(&free_story, "tiny", &input);
    story_begin(&free_story, &generation);
    story_go_on(&free_story);
    ck_assert_uint_eq(free_story.text.count, 5);
    const uint32_t *ids = free_story.text.ids;
    ck_assert_uint_ne(ids[2], ids[3]);
    for (int past_end = 0; past_end < 2; past_end++) {
        struct story story;
        story_open(&story, "tiny", &input);
        story.viewer.model.config.eos_id = ids[3];
        generation.past_end = past_end;
        story_begin(&story, &generation);
        story_go_on(&story);
        ck_assert_int_eq(story.text.end, past_end ? END_AS_ASKED : END_OF_TEXT);
        ck_assert_uint_eq(story.text.count, past_end ? 5 : 3);
        ck_assert_mem_eq(story.text.ids, ids, story.text.count * sizeof *ids);
        const char *text = free_story.text.text.bytes;
        ck_assert(strncmp(text, story.text.text.bytes, story.text.text.size) == 0);
        ck_assert_int_eq(strlen(text) == story.text.text.size, past_end);
        ck_assert_uint_eq(story.text.chosen, past_end ? ids[4] : ids[3]);
        story_release(&story);
    }
    story_release(&free_story);
}

TEST(a_prompt_of_ids_has_the_words_of_its_ids)
{
    struct story story;
    struct input words = story_input(start);
    struct generation_config generation = {.tokens = 1, .sampling = {.top_p = 1}};
    struct report report;
    struct err err = {0};
    story_open(&story, "tiny", &words);
    story_begin(&story, &generation);
    const char *ids = story_ids(&story);
    struct input input = {.ids = ids};
    continuation_release(&story.text);
    int failed = viewer_read(&story.viewer, &story.prompt, &input, NULL, &story.arena, &err);
    ck_assert_msg(!failed, "%s", err.text);
    story_begin(&story, &generation);
    ck_assert_str_eq(story.text.text.bytes, start);
    story_go_on(&story);
    ck_assert_int_eq(continuation_report(&story.text, &report, &story.arena, NULL), 0);
    ck_assert_uint_eq(report.sentence.tokens[4].start, 14);
    ck_assert_uint_eq(report.sentence.tokens[4].end, 18);
    ck_assert_ptr_eq(report.sentence.text, story.text.text.bytes);
    tokenizer_free(story.viewer.tokenizer);
    story.viewer.tokenizer = NULL;
    continuation_release(&story.text);
    story_begin(&story, &generation);
    ck_assert_str_eq(story.text.text.bytes, ids);
    ck_assert_int_eq(continuation_report(&story.text, &report, &story.arena, NULL), 0);
    ck_assert_ptr_null(report.sentence.text);
    story_release(&story);
}

TEST(models_that_cannot_go_on_are_refused)
{
    static const struct {
        const char *model, *sentence, *message;
    } cases[] = {
        {"life", "Life is",
         "'life': a text cannot grow token by token where every token sees those after it: "
         "expected field 'causal' to be true, found false"},
        {"life-causal", "Life is",
         "'life-causal': a model of type \"attention\" has no logits to choose a next token by"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct story story;
        struct input input = story_input(cases[i].sentence);
        struct generation_config generation = {.tokens = 1};
        struct err err = {0};
        story_open(&story, cases[i].model, &input);
        ck_assert_int_eq(
            continuation_open(&story.text, &story.viewer, &story.prompt, &generation, &err), -1);
        ck_assert_str_eq(err.text, cases[i].message);
        ck_assert_int_eq(err.kind, ERR_UNSUPPORTED);
        story_release(&story);
    }
}

/* All of it, as often as it takes for allocations from the first to the last to fail once: of a
 * text, beside a source, and without logits. */
TEST_LOOP(every_allocation_that_fails_is_an_error, 3)
{
    bool beside = _i == 1;
    bool screens = _i == 2;
    struct input input = story_input(beside ? "<s> le" : start);
    struct input cats = story_input("the small black cat sleeps");
    size_t failures = 0;
    for (int done = 0; !done;) {
        struct story story;
        struct report report;
        struct err err = {0};
        bool more = true;
        story_open_beside(&story, beside ? "translate" : "tiny", &input, beside ? &cats : NULL);
        story_select(&story, beside ? "0" : "2");
        struct generation_config generation = {
            .tokens = 2, .sampling = {1, 5, 0.9, 1}, .selection = &story.selection};
        if (screens)
            generation = (struct generation_config){.tokens = 2, .sampling = {.top_p = 1}};
        heap_fail_at(failures + 1, 0);
        int failed =
            continuation_open(&story.text, &story.viewer, &story.prompt, &generation, &err);
        story.text.screens = screens;
        while (!failed && more)
            failed = continuation_next(&story.text, &more, &err);
        if (!failed)
            failed = continuation_report(&story.text, &report, &story.arena, &err);
        done = !failed;
        heap_fail_at(0, 0);
        ck_assert(done || strncmp(err.text, "out of memory: ", 15) == 0);
        failures += done ? 0 : 1 + failures / 32;
        story_release(&story);
    }
    ck_assert_uint_gt(failures, 10);
}
