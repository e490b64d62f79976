#include "measure/head_scores.h"

#include "math/rng.h"

enum { RANDOM_HALF = 25 }; /* tokens that come twice */

const struct score_row score_rows[SCORES] = {
    [SCORE_PREVIOUS] = {"previous-token", "weight on the token before", "previous", "prev",
                        "previous token", 0.5, false, MEASURE_PREVIOUS_TOKEN},
    [SCORE_FIRST] = {"first-token", "weight on the first token", "first", "first", "first token",
                     0.6, false, MEASURE_FIRST_TOKEN},
    [SCORE_SELF] = {"self", "weight on the token itself", "self", "self", "itself", 0.5, false,
                    MEASURE_SELF},
    [SCORE_DUPLICATE] = {"duplicate-token", "weight on earlier tokens that are the same",
                         "duplicate", "dup.", "duplicates", 0.4, true, MEASURE_DUPLICATE_TOKEN},
    [SCORE_INDUCTION] = {"induction", "weight on what followed the same token before", "induction",
                         "ind.", "induction", 0.4, true, MEASURE_INDUCTION},
    [SCORE_ENTROPY] = {"entropy", "how evenly it looks, in nats", "entropy", "entr.", NULL, 0,
                       false, MEASURE_ENTROPY},
    [SCORE_DISTANCE] = {"distance", "how far it looks, in tokens", "distance", "dist.", NULL, 0,
                        false, MEASURE_DISTANCE},
};

int head_survey_open(struct head_survey *survey, struct viewer *viewer, uint64_t seed,
                     struct arena *arena, struct err *err)
{
    const struct config *config = &viewer->model.config;
    struct reduction *reductions[] = {&survey->of_texts, &survey->of_repeats};
    struct reduction_size size = {config->n_layer, config->n_head, SIZE_MAX, SIZE_MAX, true};
    unsigned measures = 0;
    *survey = (struct head_survey){.viewer = viewer, .seed = seed};
    survey->selection.sites = site_bit(SITE_WEIGHTS);
    survey->selection.head_count = config->n_head;
    if (config->cross)
        return err_unsupported(err, "expected a model of one text, found one that looks at a "
                                    "second text, too");
    if (!config->causal)
        return err_unsupported(err, "expected a model whose tokens look back, found one that looks "
                                    "ahead");
    for (int score = 0; score < SCORES; score++)
        measures |= 1u << score_rows[score].measure;
    for (size_t i = 0; i < 2; i++) {
        if (reduction_init(reductions[i], measures, &size, arena, err))
            return -1;
        reductions[i]->first_query =
            1; /* the first one sees nothing but itself, and says nothing */
        reductions[i]->every_head = true;
    }
    return selection_layers(&survey->selection, NULL, config, arena, err);
}

/* Run a text and count how every head looks at it. */
static int add(struct head_survey *survey, struct reduction *reduction, const uint32_t *ids,
               size_t count, struct err *err)
{
    struct viewer *viewer = survey->viewer;
    struct text text = {.ids = ids, .count = count};
    struct text_list one = {.items = &text, .count = 1};
    struct reduction_text reduced = {reduction, &survey->selection, ids};
    struct reduction_sink sink;
    if (reduction_sink_init(&sink, &reduced, 1, reduction->size.layers, &viewer->scratch, err))
        return -1;
    return viewer_run(viewer, &survey->selection, &one,
                      (struct tap){.sink = reduction_sink_see, .context = &sink}, err);
}

void head_survey_repeat(uint32_t *ids, size_t half, size_t limit, uint64_t key)
{
    for (size_t i = 0; i < half; i++)
        ids[i] = ids[i + half] = (uint32_t)rng_below(key, i, limit);
}

int head_survey_add_repeat(struct head_survey *survey, size_t number, struct err *err)
{
    uint32_t ids[2 * RANDOM_HALF];
    const struct config *config = &survey->viewer->model.config;
    size_t positions = config->n_positions;
    size_t half = positions && positions < 2 * RANDOM_HALF ? positions / 2 : RANDOM_HALF;
    head_survey_repeat(ids, half, config->vocab_size, rng_fold_in(survey->seed, number));
    return add(survey, &survey->of_repeats, ids, 2 * half, err);
}

int head_survey_add_text(struct head_survey *survey, const struct tokenized *text, struct err *err)
{
    int failed = add(survey, &survey->of_texts, text->ids, text->count, err);
    survey->texts += !failed;
    return failed;
}

static const struct reduction *source_of(const struct head_survey *survey, enum score score)
{
    bool repeats = !survey->texts || score_rows[score].of_repeats;
    return repeats ? &survey->of_repeats : &survey->of_texts;
}

double head_survey_score(const struct head_survey *survey, size_t layer, size_t head,
                         enum score score)
{
    struct reduction_entry entry = {
        score_rows[score].measure, layer, head, NO_PLACE, NO_PLACE, {.count = 0}};
    entry.cell = reduction_find(source_of(survey, score), &entry);
    return reduction_value(&entry);
}

/* mean over up to 784 queries of 16 texts of repeated random tokens */
static int measure_score(struct measurement *item, const struct head_survey *survey,
                         enum score score, struct arena *arena, struct err *err)
{
    struct reduction reduction = *source_of(survey, score);
    struct measured alone;
    bool repeats = source_of(survey, score) == &survey->of_repeats;
    size_t texts = repeats ? HEAD_SURVEY_REPEATS : survey->texts;
    reduction.measures = 1u << score_rows[score].measure;
    if (reduction_measure(&alone, &reduction, arena, err))
        return -1;
    *item = alone.items[0];
    item->about = score_rows[score].about;
    item->basis = arena_format(arena, err, "%s of %zu text%s%s", item->basis, texts,
                               texts == 1 ? "" : "s", repeats ? " of repeated random tokens" : "");
    return item->basis ? 0 : -1;
}

int head_survey_measure(struct measured *measured, const struct head_survey *survey,
                        enum score only, struct arena *arena, struct err *err)
{
    struct measurement *items = arena_alloc(arena, SCORES, sizeof *items, err);
    *measured = (struct measured){
        .name = survey->viewer->model.name,
        .model = survey->viewer->model.name,
        .texts = survey->texts,
        .items = items,
    };
    for (int score = 0; items && score < SCORES; score++)
        if ((only == SCORES || (int)only == score) &&
            measure_score(&items[measured->count++], survey, (enum score)score, arena, err))
            return -1;
    return items ? 0 : -1;
}
