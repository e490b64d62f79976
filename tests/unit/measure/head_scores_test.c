#include "measure/head_scores.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "model/new_model.h"
#include "model/model.h"

/* One head that looks evenly at all it sees: q and k are 0. */
static const char even[] = "{\"model_type\": \"gpt2\", \"vocab_size\": 5, \"n_positions\": 6, "
                           "\"n_embd\": 2, \"n_layer\": 1, \"n_head\": 1}";

static struct head_survey survey;
static struct arena arena;

static void measure(const uint32_t *ids, size_t count)
{
    struct err err = {0};
    struct new_model new_model;
    struct viewer viewer = {0};
    struct tokenized text = {.ids = ids, .count = count};
    int failed = new_model_open(&new_model, "even", even, strlen(even), &err) ||
                 model_open_folder(&viewer.model, &new_model.folder, &err) ||
                 machine_open(&viewer.machine, 1, &err) ||
                 head_survey_open(&survey, &viewer, 1, &arena, &err) ||
                 head_survey_add_text(&survey, &text, &err);
    ck_assert_msg(!failed, "%s", err.text);
    viewer_release(&viewer);
    new_model_release(&new_model);
}

/* What the text said, of duplicates too. */
static double score_of(enum score score)
{
    struct reduction_entry entry = {
        .measure = score_rows[score].measure, .query = NO_PLACE, .key = NO_PLACE};
    entry.cell = reduction_find(&survey.of_texts, &entry);
    return reduction_value(&entry);
}

TEST(an_even_head_has_even_scores)
{
    /* weights 1/2 1/2, then thirds, then quarters; token 3 comes again at the end */
    static const uint32_t ids[] = {1, 3, 2, 3};
    const double expected[SCORES] = {
        [SCORE_PREVIOUS] = (1 / 2. + 1 / 3. + 1 / 4.) / 3,
        [SCORE_FIRST] = (1 / 2. + 1 / 3. + 1 / 4.) / 3,
        [SCORE_SELF] = (1 / 2. + 1 / 3. + 1 / 4.) / 3,
        [SCORE_DUPLICATE] = 1 / 4.,
        [SCORE_INDUCTION] = 1 / 4.,
        [SCORE_ENTROPY] = (log(2) + log(3) + log(4)) / 3,
        [SCORE_DISTANCE] = (1 / 2. + 3 / 3. + 6 / 4.) / 3,
    };
    measure(ids, 4);
    for (int score = 0; score < SCORES; score++) {
        double found = score_of((enum score)score);
        ck_assert_msg(fabs(found - expected[score]) < 1e-6, "%s: expected %g, found %g",
                      score_rows[score].name, expected[score], found);
        if (!score_rows[score].of_repeats)
            ck_assert_double_eq(head_survey_score(&survey, 0, 0, (enum score)score), found);
    }
    arena_release(&arena);
}

TEST(what_never_comes_again_is_not_counted)
{
    static const uint32_t ids[] = {0, 1, 2};
    measure(ids, 3);
    ck_assert(isnan(score_of(SCORE_INDUCTION)));
    ck_assert(isnan(score_of(SCORE_DUPLICATE)));
    ck_assert(!isnan(score_of(SCORE_PREVIOUS)));
    arena_release(&arena);
}

TEST(a_score_has_the_name_of_its_measure)
{
    for (int score = 0; score < SCORES; score++)
        ck_assert_str_eq(score_rows[score].name, measure_rows[score_rows[score].measure].name);
}

TEST(random_tokens_come_twice)
{
    uint32_t ids[20];
    head_survey_repeat(ids, 10, 7, 3);
    ck_assert_mem_eq(ids, ids + 10, 10 * sizeof *ids);
    for (size_t i = 0; i < 10; i++)
        ck_assert_uint_lt(ids[i], 7);
}
