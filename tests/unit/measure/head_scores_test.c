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
static struct score_list scores;
static struct arena arena;

static void leave(void)
{
    arena_release(&arena);
}

FIXTURE(NULL, leave)

static const struct score *choose(const char *name)
{
    struct err err = {0};
    size_t index = 0;
    ck_assert_msg(!score_choose(&scores, &index, "--score", name, strlen(name), &arena, &err), "%s",
                  err.text);
    return &scores.items[index];
}

/* All but those that are taken from repeats, here from the text, too. */
static void measure(const uint32_t *ids, size_t count, bool with_baseline)
{
    struct err err = {0};
    struct new_model new_model;
    struct viewer viewer = {0};
    struct tokenized text = {.ids = ids, .count = count};
    static const bool marked[] = {true, false, true, false};
    survey = (struct head_survey){.viewer = &viewer,
                                  .scores = &scores,
                                  .bos = 2,
                                  .on_texts = true,
                                  .with_baseline = with_baseline};
    int failed = new_model_open(&new_model, "even", even, strlen(even), &err) ||
                 model_open_folder(&viewer.model, &new_model.folder, &err) ||
                 machine_open(&viewer.machine, 1, &err) ||
                 head_survey_open(&survey, &arena, &err) ||
                 head_survey_add_text(&survey, &text, &err) ||
                 head_survey_add_needle(&survey, &text, marked, &err);
    ck_assert_msg(!failed, "%s", err.text);
    viewer_release(&viewer);
    new_model_release(&new_model);
}

TEST(an_even_head_has_even_scores)
{
    /* weights 1/2 1/2, then thirds, then quarters */
    static const uint32_t ids[] = {1, 3, 2, 3};
    static const struct {
        const char *name;
        double expected;
    } cases[] = {
        {"previous-token", (1 / 2. + 1 / 3. + 1 / 4.) / 3},
        {"first-token", (1 / 2. + 1 / 3. + 1 / 4.) / 3},
        {"self", (1 / 2. + 1 / 3. + 1 / 4.) / 3},
        {"entropy", 0.9945},
        {"distance", (1 / 2. + 3 / 3. + 6 / 4.) / 3},
        {"sink", (1 / 2. + 2 / 3. + 2 / 4.) / 3}, /* token 2 begins texts */
        {"offset:0", (1 / 2. + 1 / 3. + 1 / 4.) / 3},
        {"offset:-2", (1 / 3. + 1 / 4.) / 2},
        {"offset:-3", 1 / 4.},
        {"needle", 2 / 4.},
        {"needle-top", 0}, /* all are equal */
    };
    const struct score *chosen[COUNT(cases)];
    for (size_t i = 0; i < COUNT(cases); i++)
        chosen[i] = choose(cases[i].name);
    measure(ids, 4, true);
    for (size_t i = 0; i < COUNT(cases); i++) {
        double found = mean_value(&chosen[i]->found[0]);
        double expected = i == 3 ? (log(2) + log(3) + log(4)) / 3 : cases[i].expected;
        ck_assert_msg(fabs(found - expected) < 1e-6, "%s: expected %g, found %g", cases[i].name,
                      expected, found);
        /* it looks at random tokens as it does at any */
        ck_assert_double_eq(mean_value(&chosen[i]->random[0]), found);
    }
}

TEST(what_no_query_has_is_not_counted)
{
    static const uint32_t ids[] = {0, 1, 2, 3};
    const struct score *far = choose("offset:-4");
    const struct score *near = choose("offset:-1");
    measure(ids, 4, false);
    ck_assert(isnan(mean_value(&far->found[0])));
    ck_assert(!isnan(mean_value(&near->found[0])));
    ck_assert(isnan(mean_value(&near->random[0])));
}
