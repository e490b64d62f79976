#include "lens/continuation.h"

#include <check.h>
#include <string.h>

#include "base/buf.h"
#include "base/heap.h"

Suite *continuation_suite(void);

static const char start[] = "Life is short, eat"; /* five tokens */

/* A text that went on, and what it went on from. */
struct story {
    struct viewer viewer;
    struct subject prompt;
    struct selection selection;
    struct continuation text;
    struct arena arena;
};

static void story_open(struct story *story, const char *model, const struct input *input)
{
    struct err err = {0};
    *story = (struct story){0};
    int failed = viewer_open(&story->viewer, model, 1, &err) ||
                 viewer_read(&story->viewer, &story->prompt, input, NULL, &story->arena, &err);
    ck_assert_msg(!failed, "%s", err.text);
}

static void story_release(struct story *story)
{
    continuation_release(&story->text);
    viewer_release(&story->viewer);
    arena_release(&story->arena);
}

static void begin(struct story *story, const struct wish *wish)
{
    struct err err = {0};
    ck_assert_msg(
        continuation_open(&story->text, &story->viewer, &story->prompt.sentence, wish, &err) == 0,
        "%s", err.text);
}

static void go_on(struct story *story)
{
    struct err err = {0};
    bool more = true;
    while (more) {
        size_t before = story->text.text.size;
        ck_assert_msg(continuation_next(&story->text, &more, &err) == 0, "%s", err.text);
        if (more)
            ck_assert_uint_eq(story->text.shown, before);
    }
}

static struct input input_of(const char *text)
{
    return (struct input){.text = text, .size = strlen(text)};
}

/* "34,104": the ids of a story, which its text may be cut into in another way; of the arena. */
static const char *ids_of(struct story *story)
{
    struct buf list = {0};
    for (size_t i = 0; i < story->text.count; i++)
        buf_format(&list, "%s%u", i ? "," : "", story->text.ids[i]);
    char *copy = arena_alloc(&story->arena, list.size + 1, 1, NULL);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, list.bytes, list.size + 1);
    buf_release(&list);
    return copy;
}

static void select_all(struct story *story, const char *heads)
{
    const struct config *config = &story->viewer.model.config;
    ck_assert_int_eq(selection_sites(&story->selection, "all", config, NULL), 0);
    story->selection.sites &= ~site_bit(SITE_SCORES);
    ck_assert_int_eq(selection_layers(&story->selection, "all", config, &story->arena, NULL), 0);
    ck_assert_int_eq(selection_heads(&story->selection, heads, config, &story->arena, NULL), 0);
}

/* --- tests -------------------------------------------------------------------------------------
 */

START_TEST(the_most_likely_token_follows_each_time)
{
    struct story story;
    struct input input = input_of(start);
    struct wish wish = {.tokens = 10, .sampling = {.top_p = 1}};
    story_open(&story, "tiny", &input);
    begin(&story, &wish);
    go_on(&story);
    ck_assert_int_eq(story.text.end, END_AS_WISHED);
    ck_assert_uint_eq(story.text.count, 5 + 10);
    /* the same by passes over all of it */
    struct selection logits = {.sites = site_bit(SITE_LOGITS)};
    struct input whole = {.ids = ids_of(&story)};
    struct subject subject;
    struct report report;
    struct look look = {&logits, &subject, 1, 0, &report};
    ck_assert_int_eq(viewer_read(&story.viewer, &subject, &whole, NULL, &story.arena, NULL), 0);
    ck_assert_uint_eq(subject.sentence.count, 15);
    ck_assert_int_eq(viewer_look(&story.viewer, &look, &story.arena, NULL), 0);
    size_t words = story.viewer.model.config.vocab_size;
    for (size_t i = 4; i + 1 < 15; i++) {
        const float *row = report.tensors[0].data + i * words;
        for (size_t id = 0; id < words; id++)
            ck_assert_float_le(row[id], row[story.text.ids[i + 1]]);
    }
    story_release(&story);
}
END_TEST

/* The report must be, to the bit, that of a run over the whole text. */
static void expect_report(struct story *story)
{
    struct report grown;
    struct report whole;
    struct input input = input_of(story->text.text.bytes);
    struct subject subject;
    struct look look = {&story->selection, &subject, 1, 0, &whole};
    struct arena *arena = &story->arena;
    ck_assert_int_eq(continuation_report(&story->text, &grown, arena, NULL), 0);
    ck_assert_int_eq(viewer_read(&story->viewer, &subject, &input, NULL, arena, NULL), 0);
    ck_assert_int_eq(viewer_look(&story->viewer, &look, arena, NULL), 0);
    ck_assert_str_eq(grown.sentence.text, whole.sentence.text);
    ck_assert_uint_eq(grown.sentence.count, whole.sentence.count);
    for (size_t i = 0; i < whole.sentence.count; i++) {
        ck_assert_uint_eq(grown.sentence.tokens[i].id, whole.sentence.tokens[i].id);
        ck_assert_uint_eq(grown.sentence.tokens[i].start, whole.sentence.tokens[i].start);
        ck_assert_uint_eq(grown.sentence.tokens[i].end, whole.sentence.tokens[i].end);
        ck_assert_str_eq(grown.sentence.labels[i].exact, whole.sentence.labels[i].exact);
    }
    ck_assert_uint_eq(grown.tensor_count, whole.tensor_count);
    for (size_t i = 0; i < whole.tensor_count; i++) {
        const struct kept *one = &whole.tensors[i];
        const struct kept *other = &grown.tensors[i];
        size_t count = one->shape[0] * one->shape[1] * (one->rank == 3 ? one->shape[2] : 1);
        ck_assert_int_eq(one->site, other->site);
        ck_assert_int_eq(one->layer, other->layer);
        ck_assert_uint_eq(one->rank, other->rank);
        ck_assert_mem_eq(one->shape, other->shape, sizeof one->shape);
        ck_assert_msg(memcmp(one->data, other->data, count * sizeof *one->data) == 0,
                      "'%s' of layer %d differs", site_rows[one->site].name, one->layer);
        ck_assert(!one->heads == !other->heads);
        if (one->heads)
            ck_assert_mem_eq(one->heads, other->heads, one->shape[0] * sizeof *one->heads);
    }
}

START_TEST(what_is_kept_is_what_one_pass_over_the_whole_gives)
{
    static const size_t tokens[] = {0, 1, 7, 59, 100}; /* the context ends with 59 */
    static const char *const heads[] = {NULL, "1,3"};
    struct input input = input_of(start);
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        for (size_t h = 0; h < 2; h++) {
            struct story story;
            story_open(&story, "tiny", &input);
            select_all(&story, heads[h]);
            struct wish wish = {
                .tokens = tokens[i],
                .sampling = {.temperature = 0.3, .top_p = 1, .seed = i}, /* whole words */
                .selection = &story.selection,
            };
            begin(&story, &wish);
            go_on(&story);
            expect_report(&story);
            story_release(&story);
        }
}
END_TEST

START_TEST(a_text_ends_with_the_context)
{
    struct story story;
    struct input input = input_of(start);
    struct wish wish = {.tokens = 1000, .sampling = {.top_p = 1}};
    story_open(&story, "tiny", &input);
    begin(&story, &wish);
    go_on(&story);
    ck_assert_int_eq(story.text.end, END_OF_CONTEXT);
    ck_assert_uint_eq(story.text.count, 64);
    bool more = true;
    ck_assert_int_eq(continuation_next(&story.text, &more, NULL), 0);
    ck_assert(!more);
    story_release(&story);
}
END_TEST

/* With the second token of what follows as the end of text. */
START_TEST(a_text_ends_where_the_model_ends_it)
{
    struct input input = input_of("The keys");
    struct wish wish = {.tokens = 3, .sampling = {.top_p = 1}};
    struct story free_story;
    story_open(&free_story, "tiny", &input);
    begin(&free_story, &wish);
    go_on(&free_story);
    ck_assert_uint_eq(free_story.text.count, 5);
    const uint32_t *ids = free_story.text.ids;
    ck_assert_uint_ne(ids[2], ids[3]);
    for (int past_end = 0; past_end < 2; past_end++) {
        struct story story;
        story_open(&story, "tiny", &input);
        story.viewer.model.config.eos_id = ids[3];
        wish.past_end = past_end;
        begin(&story, &wish);
        go_on(&story);
        ck_assert_int_eq(story.text.end, past_end ? END_AS_WISHED : END_OF_TEXT);
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
END_TEST

START_TEST(a_prompt_of_ids_has_the_words_of_its_ids)
{
    struct story story;
    struct input words = input_of(start);
    struct wish wish = {.tokens = 1, .sampling = {.top_p = 1}};
    struct report report;
    struct err err = {0};
    story_open(&story, "tiny", &words);
    begin(&story, &wish);
    const char *ids = ids_of(&story);
    struct input input = {.ids = ids};
    continuation_release(&story.text);
    int failed = viewer_read(&story.viewer, &story.prompt, &input, NULL, &story.arena, &err);
    ck_assert_msg(!failed, "%s", err.text);
    begin(&story, &wish);
    ck_assert_str_eq(story.text.text.bytes, start);
    go_on(&story);
    ck_assert_int_eq(continuation_report(&story.text, &report, &story.arena, NULL), 0);
    ck_assert_uint_eq(report.sentence.tokens[4].start, 14);
    ck_assert_uint_eq(report.sentence.tokens[4].end, 18);
    ck_assert_ptr_eq(report.sentence.text, story.text.text.bytes);
    tokenizer_free(story.viewer.tokenizer);
    story.viewer.tokenizer = NULL;
    continuation_release(&story.text);
    begin(&story, &wish);
    ck_assert_str_eq(story.text.text.bytes, ids);
    ck_assert_int_eq(continuation_report(&story.text, &report, &story.arena, NULL), 0);
    ck_assert_ptr_null(report.sentence.text);
    story_release(&story);
}
END_TEST

START_TEST(models_that_cannot_go_on_are_refused)
{
    static const struct {
        const char *model, *sentence, *message;
    } cases[] = {
        {"life", "Life is",
         "'life': a text cannot grow token by token where every token sees those behind it: "
         "expected field 'causal' to be true, found false"},
        {"life-causal", "Life is",
         "'life-causal': a model of type \"attention\" has no logits to choose a next token by"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct story story;
        struct input input = input_of(cases[i].sentence);
        struct wish wish = {.tokens = 1};
        struct err err = {0};
        story_open(&story, cases[i].model, &input);
        ck_assert_int_eq(
            continuation_open(&story.text, &story.viewer, &story.prompt.sentence, &wish, &err), -1);
        ck_assert_str_eq(err.text, cases[i].message);
        ck_assert_int_eq(err.kind, ERR_UNSUPPORTED);
        story_release(&story);
    }
}
END_TEST

/* All of it, as often as it takes for allocations from the first to the last to fail once. */
START_TEST(every_allocation_that_fails_is_an_error)
{
    struct input input = input_of(start);
    size_t failures = 0;
    for (int done = 0; !done;) {
        struct story story;
        struct report report;
        struct err err = {0};
        bool more = true;
        story_open(&story, "tiny", &input);
        select_all(&story, "2");
        struct wish wish = {.tokens = 2, .sampling = {1, 5, 0.9, 1}, .selection = &story.selection};
        heap_fail_at(failures + 1, 0);
        int failed =
            continuation_open(&story.text, &story.viewer, &story.prompt.sentence, &wish, &err);
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
END_TEST

Suite *continuation_suite(void)
{
    Suite *suite = suite_create("continuation");
    TCase *tests = tcase_create("continuation");
    tcase_add_test(tests, the_most_likely_token_follows_each_time);
    tcase_add_test(tests, what_is_kept_is_what_one_pass_over_the_whole_gives);
    tcase_add_test(tests, a_text_ends_with_the_context);
    tcase_add_test(tests, a_text_ends_where_the_model_ends_it);
    tcase_add_test(tests, a_prompt_of_ids_has_the_words_of_its_ids);
    tcase_add_test(tests, models_that_cannot_go_on_are_refused);
    tcase_add_test(tests, every_allocation_that_fails_is_an_error);
    suite_add_tcase(suite, tests);
    return suite;
}
