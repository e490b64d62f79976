#include "measure/head_scores.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "lens/prediction.h"
#include "model/new_model.h"
#include "model/model.h"

/* One head with uniform attention: q and k are 0. */
static const char even[] = "{\"model_type\": \"gpt2\", \"vocab_size\": 5, \"n_positions\": 6, "
                           "\"n_embd\": 2, \"n_layer\": 1, \"n_head\": 1}";

static const uint32_t ids[] = {1, 3, 2, 3};
static const bool marked[] = {true, false, true, false};

static struct score_list scores;
static struct head_survey survey;
static struct head_sums sums;
static struct arena arena;
static struct err err;

static void leave(void)
{
    arena_release(&arena);
}

FIXTURE(NULL, leave)

static size_t choose(const char *name)
{
    const struct score *score = score_choose(&scores, "--score", name, &err);
    ck_assert_msg(score, "%s", err.text);
    return (size_t)(score - scores.items);
}

/* Measure all scores except those on repeated tokens, which are also measured on the texts. */
static void measure(const struct head_text *texts, size_t count, bool with_baseline)
{
    struct new_model new_model;
    struct viewer viewer = {0};
    struct head_text needle = texts[0];
    survey = (struct head_survey){
        .viewer = &viewer, .scores = &scores, .on_texts = true, .with_baseline = with_baseline};
    needle.marked = marked;
    int failed = new_model_open(&new_model, "even", even, strlen(even), &err) ||
                 model_open_folder(&viewer.model, &new_model.folder, &err) ||
                 machine_open(&viewer.machine, 1, &err);
    viewer.model.config.bos_id = 2; /* without a tokenizer */
    failed = failed || head_survey_open(&survey, &arena, &err) ||
             head_sums_init(&sums, &survey, &arena, &err) ||
             head_survey_run(&survey, &viewer, OF_TEXTS, texts, count, &err) ||
             head_survey_run(&survey, &viewer, OF_NEEDLES, &needle, 1, &err);
    ck_assert_msg(!failed, "%s", err.text);
    viewer_release(&viewer);
    new_model_release(&new_model);
}

TEST(a_head_with_uniform_attention_has_known_scores)
{
    /* weights 1/2 1/2, then thirds, then quarters */
    static const struct {
        const char *name;
        double expected;
    } cases[] = {
        {"previous-token", (1 / 2. + 1 / 3. + 1 / 4.) / 3},
        {"first-token", (1 / 2. + 1 / 3. + 1 / 4.) / 3},
        {"self", (1 / 2. + 1 / 3. + 1 / 4.) / 3},
        {"entropy", 0.9945},
        {"distance", (1 / 2. + 3 / 3. + 6 / 4.) / 3},
        {"distance-variance", (1 / 2. + 5 / 3. + 14 / 4.) / 3 - 1},
        {"sink", (1 / 2. + 2 / 3. + 2 / 4.) / 3}, /* token 2 is the beginning-of-text token */
        {"offset:0", (1 / 2. + 1 / 3. + 1 / 4.) / 3},
        {"offset:-2", (1 / 3. + 1 / 4.) / 2},
        {"offset:-3", 1 / 4.},
        {"duplicate-token:texts", 1 / 4.}, /* only for the last token */
        {"induction:texts", 1 / 4.},
        {"needle", 2 / 4.},
        {"needle-top", 0}, /* all weights are equal */
    };
    const struct head_text text = {{ids, 4}, NULL, 0, &sums};
    size_t chosen[COUNT(cases)];
    for (size_t i = 0; i < COUNT(cases); i++)
        chosen[i] = choose(cases[i].name);
    measure(&text, 1, true);
    for (size_t i = 0; i < COUNT(cases); i++) {
        double found = mean_value(&sums.found[chosen[i]]);
        double expected = i == 3 ? (log(2) + log(3) + log(4)) / 3 : cases[i].expected;
        ck_assert_msg(fabs(found - expected) < 1e-6, "%s: expected %g, found %g", cases[i].name,
                      expected, found);
        /* uniform on random tokens, too */
        ck_assert_double_eq(mean_value(&sums.random[chosen[i]]), found);
    }
}

TEST(roles_are_compared_with_uniform_attention)
{
    const struct head_text text = {{ids, 4}, NULL, 0, &sums};
    choose("self");
    measure(&text, 1, false);
    for (size_t i = 0; i < ROLES; i++) {
        ck_assert_str_eq(head_roles.items[i].score, score_rows[i].name);
        double found = mean_value(&sums.roles[i * survey.heads]);
        double uniform = mean_value(&sums.uniform[i]);
        if (i < 5)
            ck_assert_double_eq_tol(found, uniform, 1e-6);
        else /* this model sees no next token, and has no separator */
            ck_assert(isnan(found) && isnan(uniform));
    }
}

TEST(words_are_equal_without_their_leading_space)
{
    static const struct label labels[] = {{.text = "red"}, {.text = "␣fox"}, {.text = "␣red"},
                                          {.text = "␣"},   {.text = "Red"},  {.text = "␣red"}};
    const struct tokenized read = {.labels = labels, .count = COUNT(labels)};
    const uint32_t *before = head_copies(&read, &arena, &err);
    ck_assert_ptr_nonnull(before);
    for (size_t i = 0; i < COUNT(labels); i++)
        ck_assert_uint_eq(before[i], i == 2 ? 0 : i == 5 ? 2 : HEAD_NO_COPY);
}

TEST(a_score_without_queries_is_nan)
{
    static const uint32_t once[] = {0, 1, 2, 3};
    const struct head_text text = {{once, 4}, NULL, 0, &sums};
    size_t far = choose("offset:-4");
    size_t near = choose("offset:-1");
    measure(&text, 1, false);
    ck_assert(isnan(mean_value(&sums.found[far])));
    ck_assert(!isnan(mean_value(&sums.found[near])));
    ck_assert(isnan(mean_value(&sums.random[near])));
}

TEST(texts_of_one_pass_have_separate_sums)
{
    struct head_sums one = {0};
    struct head_sums other = {0};
    struct head_text texts[] = {{{ids, 4}, NULL, 0, &one}, {{ids, 3}, NULL, 1, &other}};
    struct head_text again[] = {{{ids, 4}, NULL, 0, &sums}, {{ids, 3}, NULL, 1, &sums}};
    survey = (struct head_survey){.scores = &scores, .heads = 1};
    choose("self");
    choose("entropy");
    ck_assert(!head_sums_init(&one, &survey, &arena, &err));
    ck_assert(!head_sums_init(&other, &survey, &arena, &err));
    measure(texts, 2, true);
    ck_assert_uint_eq(one.found[0].count, 3);
    ck_assert_uint_eq(other.found[0].count, 2);
    head_sums_merge(&one, &survey, &other);
    measure(again, 2, true);
    ck_assert_uint_eq(sums.counts[OF_TEXTS], 2);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_uint_eq(one.found[i].count, 5);
        ck_assert_double_eq_tol(one.found[i].sum, sums.found[i].sum, 1e-12);
        ck_assert_double_eq_tol(one.random[i].sum, sums.random[i].sum, 1e-12);
    }
}

/* The share of a row of |map| on the query itself, mean over all queries but the first. */
static double self_share(const struct report *report, enum site site, size_t layer, size_t head)
{
    const struct array *map = report_find(report, SITE_OF(BRANCH_MIXER, site), layer);
    const size_t tokens = map->rows.size;
    double mean = 0;
    for (size_t i = 1; i < tokens; i++) {
        const float *row = map->data + (head * tokens + i) * tokens;
        double sum = 0;
        for (size_t j = 0; j < tokens; j++)
            sum += fabs((double)row[j]);
        mean += fabs((double)row[i]) / sum / (double)(tokens - 1);
    }
    return mean;
}

TEST(heads_that_keep_a_state_have_scores_of_their_maps)
{
    static const struct {
        const char *model, *show;
        enum site site;
        size_t across;
    } rows[] = {{"qwen3_5_text", "mix_map", SITE_WEIGHTS, 4},
                {"lfm2", "mix_map_norm", SITE_MAP_NORM, 2}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct viewer viewer;
        struct report report;
        struct text_with_source pair;
        struct selection selection = {0};
        const struct input input = {.ids = "1,3,2,3,4"};
        const struct capture_request asked = {&selection, &pair, 1, 0, &report, NULL};
        char path[128];
        snprintf(path, sizeof path, "tests/references/golden-families/%s", rows[i].model);
        scores.count = 0;
        const size_t self = choose("self");
        ck_assert_int_eq(viewer_open(&viewer, path, 2, &err), 0);
        const struct config *config = &viewer.model.config;
        survey = (struct head_survey){.viewer = &viewer, .scores = &scores, .on_texts = true};
        struct head_text text = {.sums = &sums};
        int failed = selection_sites(&selection, rows[i].show, config, &err) ||
                     selection_layers(&selection, NULL, config, &arena, &err) ||
                     viewer_read(&viewer, &pair, &input, NULL, &arena, &err) ||
                     viewer_capture(&viewer, &asked, &arena, &err) ||
                     head_survey_open(&survey, &arena, &err) ||
                     head_sums_init(&sums, &survey, &arena, &err);
        text.text = viewer_text(&pair);
        failed = failed || head_survey_run(&survey, &viewer, OF_TEXTS, &text, 1, &err);
        ck_assert_msg(!failed, "%s", err.text);
        ck_assert_uint_eq(survey.across, rows[i].across);
        for (size_t k = 0; k < report.array_count; k++) {
            const struct array *map = &report.arrays[k];
            for (size_t head = 0; head < (map->heads.name ? map->heads.size : 1); head++) {
                const size_t at = (size_t)map->layer * survey.across + head;
                ck_assert_double_eq_tol(mean_value(&sums.found[self * survey.heads + at]),
                                        self_share(&report, rows[i].site, (size_t)map->layer, head),
                                        1e-6);
            }
        }
        viewer_release(&viewer);
    }
}
