#include "measure/head_survey.h"

#include "base/buf.h"
#include "lens/reading.h"
#include "math/rng.h"

enum { RANDOM_HALF = 25 }; /* tokens that come twice */

int head_survey_open(struct head_survey *survey, struct viewer *viewer, uint64_t seed,
                     struct arena *arena, struct err *err)
{
    const struct config *config = &viewer->model.config;
    *survey = (struct head_survey){.viewer = viewer, .seed = seed};
    return head_scores_open(&survey->of_texts, config, arena, err) ||
                   head_scores_open(&survey->of_repeats, config, arena, err)
               ? -1
               : 0;
}

int head_survey_add_repeat(struct head_survey *survey, size_t number, struct err *err)
{
    uint32_t ids[2 * RANDOM_HALF];
    struct model *model = &survey->viewer->model;
    size_t positions = model->config.n_positions;
    size_t half = positions && positions < 2 * RANDOM_HALF ? positions / 2 : RANDOM_HALF;
    struct sequence sequence = {.ids = ids, .count = 2 * half};
    head_scores_repeat(ids, half, model->config.vocab_size, rng_fold_in(survey->seed, number));
    return head_scores_add(&survey->of_repeats, model, &survey->viewer->machine, &sequence, err);
}

int head_survey_add_text(struct head_survey *survey, const struct reading *text, struct err *err)
{
    struct arena arena = {0};
    struct viewer *viewer = survey->viewer;
    uint32_t *ids = arena_alloc(&arena, text->count, sizeof *ids, err);
    for (size_t i = 0; ids && i < text->count; i++)
        ids[i] = text->tokens[i].id;
    struct sequence sequence = {.ids = ids, .count = text->count};
    int failed = !ids || head_scores_add(&survey->of_texts, &viewer->model, &viewer->machine,
                                         &sequence, err);
    arena_release(&arena);
    survey->texts += !failed;
    return failed ? -1 : 0;
}

static const struct head_scores *source_of(const struct head_survey *survey, enum score score)
{
    bool repeats = !survey->texts || score_rows[score].of_repeats;
    return repeats ? &survey->of_repeats : &survey->of_texts;
}

double head_survey_score(const struct head_survey *survey, size_t layer, size_t head,
                         enum score score)
{
    return head_score(source_of(survey, score), layer, head, score);
}

/* --- as layers × heads -------------------------------------------------------------------------
 */

/* mean over up to 784 queries of 16 texts of repeated random tokens */
static const char *name_basis(const struct head_survey *survey, enum score score, uint64_t most,
                              struct arena *arena, struct err *err)
{
    struct buf text = {0};
    const char *basis = NULL;
    bool repeats = source_of(survey, score) == &survey->of_repeats;
    size_t texts = repeats ? HEAD_SURVEY_REPEATS : survey->texts;
    buf_format(&text, "mean over up to %llu %s of %zu text%s%s", (unsigned long long)most,
               most == 1 ? "query" : "queries", texts, texts == 1 ? "" : "s",
               repeats ? " of repeated random tokens" : "");
    if (!buf_check(&text, err))
        basis = arena_text(arena, text.bytes, text.size, err);
    buf_release(&text);
    return basis;
}

static int make_axis(struct axis *axis, const char *name, size_t size, struct arena *arena,
                     struct err *err)
{
    *axis = (struct axis){.name = name, .size = size};
    axis->labels = labels_of_numbers(size, arena, err);
    return axis->labels ? 0 : -1;
}

static int measure_score(struct measurement *item, const struct head_survey *survey,
                         enum score score, struct arena *arena, struct err *err)
{
    const struct config *config = &survey->viewer->model.config;
    size_t size = config->n_layer * config->n_head;
    struct sheet *sheet = arena_alloc(arena, 1, sizeof *sheet, err);
    const uint64_t **list = arena_alloc(arena, 1, sizeof *list, err);
    float *values = arena_alloc(arena, size, sizeof *values, err);
    uint64_t *counts = arena_alloc(arena, size, sizeof *counts, err);
    if (!sheet || !list || !values || !counts)
        return -1;
    *item = (struct measurement){
        .name = score_rows[score].name, .about = score_rows[score].about, .count = 1};
    for (size_t i = 0; i < size; i++) {
        size_t layer = i / config->n_head;
        size_t head = i % config->n_head;
        values[i] = (float)head_survey_score(survey, layer, head, score);
        counts[i] = head_score_count(source_of(survey, score), layer, head, score);
        item->most = counts[i] > item->most ? counts[i] : item->most;
    }
    *list = counts;
    *sheet = (struct sheet){.tensor = item->name, .layer = -1, .head = -1, .values = values};
    item->sheets = sheet;
    item->counts = list;
    item->basis = name_basis(survey, score, item->most, arena, err);
    return !item->basis || make_axis(&sheet->rows, "layer", config->n_layer, arena, err) ||
                   make_axis(&sheet->columns, "head", config->n_head, arena, err)
               ? -1
               : 0;
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
