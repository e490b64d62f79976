#include "lens/continuation.h"
#include "lens/viewer.h"

#include <string.h>

#include "../unit.h"
#include "base/buf.h"

static const char start[] = "Life is short, eat"; /* five tokens */

/* A generated text and its prompt. */
struct story {
    struct viewer viewer;
    struct text_with_source prompt;
    struct selection selection;
    struct continuation text;
    struct arena arena;
};

/* Read a prompt and a source (NULL: none); without an input the prompt is the model's start. */
static void story_open(struct story *story, const char *model, const struct input *input,
                       const struct input *source)
{
    struct err err = {0};
    *story = (struct story){0};
    int failed = viewer_open(&story->viewer, model, 1, &err) ||
                 viewer_read(&story->viewer, &story->prompt, input, source, &story->arena, &err);
    ck_assert_msg(!failed, "%s", err.text);
}

static void story_release(struct story *story)
{
    continuation_release(&story->text);
    viewer_release(&story->viewer);
    arena_release(&story->arena);
}

static void story_begin(struct story *story, const struct generation_config *generation)
{
    struct err err = {0};
    int failed = continuation_prepare(&story->viewer, generation, 1, &err) ||
                 continuation_open(&story->text, &story->viewer, &story->prompt, generation, &err);
    ck_assert_msg(!failed, "%s", err.text);
}

static void story_go_on(struct story *story)
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

static struct input story_input(const char *text)
{
    return (struct input){.text = text, .size = strlen(text)};
}

/* The ids of a story, as "34,104", in its arena; encoding its text may give other ids. */
static const char *story_ids(struct story *story)
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

static void story_select(struct story *story, const char *heads)
{
    const struct config *config = &story->viewer.model.config;
    ck_assert_int_eq(selection_sites(&story->selection, "all", config, NULL), 0);
    site_set_remove(&story->selection.sites, SITE_SCORES);
    ck_assert_int_eq(selection_layers(&story->selection, "all", config, &story->arena, NULL), 0);
    ck_assert_int_eq(selection_heads(&story->selection, heads, config, &story->arena, NULL), 0);
}

/* The report has the bits of a run over the whole text. */
static void story_expect_report(struct story *story)
{
    struct report grown;
    struct report whole;
    struct input input = story_input(story->text.text.bytes);
    struct text_with_source pair;
    struct capture_request asked = {&story->selection, &pair, 1, 0, &whole};
    struct arena *arena = &story->arena;
    ck_assert_int_eq(continuation_report(&story->text, &grown, arena, NULL), 0);
    ck_assert_int_eq(viewer_read(&story->viewer, &pair, &input, NULL, arena, NULL), 0);
    pair.source = story->prompt.source;
    ck_assert_int_eq(viewer_capture(&story->viewer, &asked, arena, NULL), 0);
    ck_assert_uint_eq(grown.source.count, whole.source.count);
    ck_assert_str_eq(grown.text.raw, whole.text.raw);
    ck_assert_uint_eq(grown.text.count, whole.text.count);
    for (size_t i = 0; i < whole.text.count; i++) {
        ck_assert_uint_eq(grown.text.tokens[i].id, whole.text.tokens[i].id);
        ck_assert_uint_eq(grown.text.tokens[i].start, whole.text.tokens[i].start);
        ck_assert_uint_eq(grown.text.tokens[i].end, whole.text.tokens[i].end);
        ck_assert_str_eq(grown.text.labels[i].exact, whole.text.labels[i].exact);
    }
    ck_assert_uint_eq(grown.array_count, whole.array_count);
    for (size_t i = 0; i < whole.array_count; i++) {
        const struct array *one = &whole.arrays[i];
        const struct array *other = &grown.arrays[i];
        ck_assert_int_eq(one->site, other->site);
        ck_assert_int_eq(one->layer, other->layer);
        ck_assert_uint_eq(one->rows.size, other->rows.size);
        ck_assert_uint_eq(one->columns.size, other->columns.size);
        ck_assert_uint_eq(one->heads.size, other->heads.size);
        ck_assert_msg(memcmp(one->data, other->data, array_cells(one) * sizeof *one->data) == 0,
                      "'%s' of layer %d differs", site_name(one->site), one->layer);
        ck_assert(!one->heads.name == !other->heads.name);
        if (one->heads.name)
            ck_assert_mem_eq(one->heads.numbers, other->heads.numbers,
                             one->heads.size * sizeof *one->heads.numbers);
    }
}

/* --- decoders --------------------------------------------------------------------------------- */

/* Every token is the one with the largest logit, without computing all logits. */
TEST(greedy_generation_needs_no_logits)
{
    static const struct {
        const char *model, *ids, *sentence, *source;
    } texts[] = {
        {"tiny", NULL, start, NULL},
        {"tiny", NULL, "The keys to the cabinet", NULL},
        {"tests/references/golden/gpt2-micro", "1,2,3", NULL, NULL},
        {"tests/references/golden/gpt2-micro-f16", "4", NULL, NULL},
        {"tests/references/golden/gpt2-micro-bf16-prefixed-untied", "3,3,3", NULL, NULL},
        {"tests/references/golden/transformer-pre", NULL, "<s>", "the cat sleeps"},
        {"tests/references/golden/transformer-post", NULL, "<s>", "the cat sleeps"},
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
        story_open(&full, texts[i].model, &input, texts[i].source ? &source : NULL);
        story_begin(&full, &generation);
        story_go_on(&full);
        ck_assert_ptr_nonnull(full.text.logits);
        story_open(&story, texts[i].model, &input, texts[i].source ? &source : NULL);
        generation.logits = false;
        story_begin(&story, &generation);
        ck_assert(!story.text.screens); /* off by default for small models */
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

TEST(captured_tensors_have_the_bits_of_one_pass)
{
    static const size_t tokens[] = {0, 1, 7, 59, 100}; /* the context ends with 59 */
    static const char *const heads[] = {NULL, "1,3"};
    struct input input = story_input(start);
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        for (size_t h = 0; h < 2; h++) {
            struct story story;
            story_open(&story, "tiny", &input, NULL);
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

/* --- encoder and decoder ---------------------------------------------------------------------- */

static const char source[] = "the small black cat sees a white cow";

TEST(captured_tensors_with_a_source_have_the_bits_of_one_pass)
{
    static const char *const models[] = {"translate", "tests/references/golden/transformer-pre",
                                         "tests/references/golden/transformer-post"};
    static const size_t tokens[] = {1, 2, 9, 40};
    for (size_t m = 0; m < 3; m++)
        for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
            struct story story;
            struct input input = story_input("<s>");
            struct input cats = story_input(m ? "the cat sleeps" : source);
            story_open(&story, models[m], &input, &cats);
            story_select(&story, i % 2 ? "0" : NULL);
            site_set_join(&story.selection.sites, SITE_SET(SITE_OF(BRANCH_CROSS, SITE_SCORES),
                                                           SITE_OF(BRANCH_SOURCE, SITE_SCORES)));
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

/* Compare the logits of the last step with a pass over the whole text. */
static void expect_logits(struct story *story, size_t count)
{
    struct selection logits = {.sites = SITE_SET(SITE_LOGITS)};
    struct input ids = {.ids = story_ids(story)};
    struct text_with_source pair;
    struct report report;
    struct capture_request asked = {&logits, &pair, 1, 0, &report};
    size_t words = story->viewer.model.config.vocab_size;
    bool greedy = !story->text.forced && story->text.count < story->text.capacity;
    ck_assert_int_eq(viewer_read(&story->viewer, &pair, &ids, NULL, &story->arena, NULL), 0);
    pair.source = story->prompt.source;
    ck_assert_int_eq(viewer_capture(&story->viewer, &asked, &story->arena, NULL), 0);
    const float *row = report.arrays[0].data + (count - 1) * words;
    ck_assert_mem_eq(story->text.logits, row, words * sizeof *row);
    for (size_t id = 0; id < words && greedy; id++)
        ck_assert_float_le(row[id], row[story->text.chosen]);
}

static const struct {
    const char *model, *source; /* NULL: ids */
} sourced[] = {
    {"translate", source},
    {"tests/references/golden/transformer-pre", "the cat sleeps"},
    {"tests/references/golden/transformer-post", "the cat sleeps"},
    {"tests/references/golden/transformer-paper", "the cat sleeps"},
    {"tests/references/golden-families/t5", NULL},
    {"tests/references/golden-families/t5-gated-untied", NULL},
    {"tests/references/golden-families/mt5", NULL},
    {"tests/references/golden-families/umt5", NULL},
    {"tests/references/golden-families/bart", NULL},
    {"tests/references/golden-families/mbart", NULL},
    {"tests/references/golden-families/pegasus", NULL},
    {"tests/references/golden-families/marian", NULL},
    {"tests/references/golden-families/marian-two-vocabularies", NULL},
    {"tests/references/golden-families/m2m_100", NULL},
};

/* With one and two threads, greedily and with beams, which are a batch. */
TEST_LOOP(every_step_with_a_source_has_the_logits_of_one_pass, 4 * COUNT(sourced))
{
    const char *words = sourced[_i / 4].source;
    struct story story;
    struct input input = story_input("<s>");
    struct input from = words ? story_input(words) : (struct input){.ids = "7,3,9,2,11"};
    struct generation_config generation = {
        .tokens = 30, .sampling = {.top_p = 1}, .past_end = true, .logits = true};
    bool more = true;
    generation.beams = _i / 2 % 2 ? 3 : 1;
    story_open(&story, sourced[_i / 4].model, words ? &input : NULL, &from);
    machine_release(&story.viewer.machine);
    ck_assert_int_eq(machine_open(&story.viewer.machine, 1 + (size_t)_i % 2, NULL), 0);
    story_begin(&story, &generation);
    while (continuation_next(&story.text, &more, NULL) == 0 && more)
        expect_logits(&story, story.text.count - 1);
    ck_assert_uint_gt(story.text.count, 11);
    ck_assert_uint_eq(story.text.count, story.text.capacity);
    story_release(&story);
}

TEST(known_choices_of_a_translation_are_not_computed_again)
{
    struct input from = {.ids = "7,3,9,2,11"};
    struct story story;
    struct arena kept = {0};
    uint32_t *choices = NULL;
    for (size_t round = 0; round < 2; round++) {
        story_open(&story, "tests/references/golden-families/marian", NULL, &from);
        ck_assert_int_eq(continuation_translate(&story.prompt, &story.viewer, &choices, &kept,
                                                &story.arena, NULL),
                         0);
        const struct tokenized *text = &story.prompt.text;
        ck_assert_uint_gt(text->count, 2);
        ck_assert_mem_eq(text->ids + 1, choices, (text->count - 1) * sizeof *choices);
        choices[0] = 10; /* not the likeliest */
        story_release(&story);
    }
    arena_release(&kept);
}

/* --- tables ----------------------------------------------------------------------------------- */

TEST(a_table_has_every_choice_and_its_alternatives)
{
    struct story story;
    struct input input = story_input(start);
    struct generation_config generation = {.tokens = 2, .sampling = {.top_p = 1}, .logits = true};
    struct report report = {0};
    struct err err = {0};
    double logprobs[2];
    bool more = true;
    story_open(&story, "tiny", &input, NULL);
    story_begin(&story, &generation);
    for (size_t i = 0; i < COUNT(logprobs); i++) {
        ck_assert_int_eq(continuation_next(&story.text, &more, &err), 0);
        logprobs[i] = (double)story.text.logits[story.text.chosen] -
                      logsumexp(story.text.logits, story.viewer.model.config.vocab_size);
    }
    story_go_on(&story);
    ck_assert_int_eq(continuation_tables(&report, &story.text, &story.arena, &err), 0);
    ck_assert_uint_eq(report.table_count, 2);
    const struct table *steps = &report.tables[0];
    const struct table *best = &report.tables[1];
    ck_assert_uint_eq(steps->rows.size, 2);
    ck_assert_uint_eq(best->rows.size, 2 * CHOICE_BEST);
    for (size_t i = 0; i < 2; i++) { /* the most likely token was chosen */
        size_t first = i * CHOICE_BEST;
        ck_assert_int_eq(table_key(steps, "id", i), (int)story.text.ids[5 + i]);
        ck_assert_int_eq(table_key(best, "id", first), (int)story.text.ids[5 + i]);
        ck_assert_int_eq(table_key(best, "step", first), (int)i);
        ck_assert_int_eq(table_key(best, "rank", first + 1), 2);
        ck_assert_double_eq(column_float(&steps->columns[3], i), (double)(float)logprobs[i]);
    }
    story.text.choices = NULL;
    ck_assert_int_eq(continuation_tables(&report, &story.text, &story.arena, &err), 0);
    ck_assert_uint_eq(report.table_count, 1);
    ck_assert_uint_eq(report.tables->count, 3); /* step, id and text */
    story_release(&story);
}

TEST(positions_without_likely_tokens_have_no_rows)
{
    static const struct likely second[] = {{4, -0.5F}, {2, -1}};
    static const struct likely *const lists[] = {NULL, second};
    static const long long positions[] = {0, 1};
    static const struct column keys[] = {
        {"position", .kind = COLUMN_INTEGER, .flags = COLUMN_KEY, .values = positions}};
    const struct table places = {"places", {"token", 2, NULL, 0}, keys, 1};
    const struct likely_best best = {"best", &places, 1, lists, 2, NULL};
    struct arena arena = {0};
    struct err err = {0};
    struct table table;
    ck_assert_int_eq(likely_table(&table, &best, &arena, &err), 0);
    ck_assert_uint_eq(table.rows.size, 2);
    ck_assert_int_eq(table_key(&table, "position", 0), 1);
    ck_assert_int_eq(table_key(&table, "rank", 1), 2);
    ck_assert_int_eq(table_key(&table, "id", 1), 2);
    ck_assert_str_eq(table.rows.labels[0].plain, "4"); /* no tokenizer: the id */
    ck_assert_str_eq(likely_text(second, 2, NULL, &arena, &err), "4 -0.50  2 -1.00");
    arena_release(&arena);
}
