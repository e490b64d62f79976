#include "measure/head_scores.h"

#include <math.h>
#include <string.h>

#include "../unit.h"
#include "model/new_model.h"
#include "model/model.h"

/* One head that looks evenly at all it sees: q and k are 0. */
static const char even[] = "{\"model_type\": \"gpt2\", \"vocab_size\": 5, \"n_positions\": 6, "
                           "\"n_embd\": 2, \"n_layer\": 1, \"n_head\": 1}";

static void measure(struct head_scores *scores, const uint32_t *ids, size_t count,
                    struct arena *arena)
{
    struct err err = {0};
    struct new_model new_model;
    struct viewer viewer = {0};
    struct text text = {.ids = ids, .count = count};
    int failed = new_model_open(&new_model, "even", even, strlen(even), &err) ||
                 model_open_folder(&viewer.model, &new_model.folder, &err) ||
                 machine_open(&viewer.machine, 1, &err) ||
                 head_scores_open(scores, &new_model.config, arena, &err) ||
                 head_scores_add(scores, &viewer, &text, &err);
    ck_assert_msg(!failed, "%s", err.text);
    viewer_release(&viewer);
    new_model_release(&new_model);
}

TEST(an_even_head_has_even_scores)
{
    /* weights 1/2 1/2, then thirds, then quarters; token 3 comes again at the end */
    static const uint32_t ids[] = {1, 3, 2, 3};
    struct arena arena = {0};
    struct head_scores scores;
    struct config config = {.n_layer = 1, .n_head = 1};
    const double expected[SCORES] = {
        [SCORE_PREVIOUS] = (1 / 2. + 1 / 3. + 1 / 4.) / 3,
        [SCORE_FIRST] = (1 / 2. + 1 / 3. + 1 / 4.) / 3,
        [SCORE_SELF] = (1 / 2. + 1 / 3. + 1 / 4.) / 3,
        [SCORE_DUPLICATE] = 1 / 4.,
        [SCORE_INDUCTION] = 1 / 4.,
        [SCORE_ENTROPY] = (log(2) + log(3) + log(4)) / 3,
        [SCORE_DISTANCE] = (1 / 2. + 3 / 3. + 6 / 4.) / 3,
    };
    measure(&scores, ids, 4, &arena);
    scores.config = &config;
    for (int score = 0; score < SCORES; score++)
        ck_assert_msg(fabs(head_score(&scores, 0, 0, (enum score)score) - expected[score]) < 1e-6,
                      "%s: expected %g, found %g", score_rows[score].name, expected[score],
                      head_score(&scores, 0, 0, (enum score)score));
    arena_release(&arena);
}

TEST(what_never_comes_again_is_not_counted)
{
    static const uint32_t ids[] = {0, 1, 2};
    struct arena arena = {0};
    struct head_scores scores;
    struct config config = {.n_layer = 1, .n_head = 1};
    measure(&scores, ids, 3, &arena);
    scores.config = &config;
    ck_assert(isnan(head_score(&scores, 0, 0, SCORE_INDUCTION)));
    ck_assert(isnan(head_score(&scores, 0, 0, SCORE_DUPLICATE)));
    ck_assert(!isnan(head_score(&scores, 0, 0, SCORE_PREVIOUS)));
    arena_release(&arena);
}

TEST(random_tokens_come_twice)
{
    uint32_t ids[20];
    head_scores_repeat(ids, 10, 7, 3);
    ck_assert_mem_eq(ids, ids + 10, 10 * sizeof *ids);
    for (size_t i = 0; i < 10; i++)
        ck_assert_uint_lt(ids[i], 7);
}
