#include "measure/head_scores.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "lens/measure.h"
#include "lens/tokenized.h"
#include "math/rng.h"

enum { RANDOM_HALF = 25 }; /* tokens that come twice */

const struct score_row score_rows[SCORES] = {
    [SCORE_PREVIOUS] = {"previous-token", "weight on the token before", "previous", "prev",
                        "previous token", 0.5, false},
    [SCORE_FIRST] = {"first-token", "weight on the first token", "first", "first", "first token",
                     0.6, false},
    [SCORE_SELF] = {"self", "weight on the token itself", "self", "self", "itself", 0.5, false},
    [SCORE_DUPLICATE] = {"duplicate-token", "weight on earlier tokens that are the same",
                         "duplicate", "dup.", "duplicates", 0.4, true},
    [SCORE_INDUCTION] = {"induction", "weight on what followed the same token before", "induction",
                         "ind.", "induction", 0.4, true},
    [SCORE_ENTROPY] = {"entropy", "how evenly it looks, in nats", "entropy", "entr.", NULL, 0,
                       false},
    [SCORE_DISTANCE] = {"distance", "how far it looks, in tokens", "distance", "dist.", NULL, 0,
                        false},
};

int head_scores_open(struct head_scores *scores, const struct config *config, struct arena *arena,
                     struct err *err)
{
    size_t count = config->n_layer * config->n_head * SCORES;
    *scores = (struct head_scores){.config = config};
    if (config->cross)
        return err_unsupported(err, "expected a model of one text, found one that looks at a "
                                    "second text, too");
    if (!config->causal)
        return err_unsupported(err, "expected a model whose tokens look back, found one that looks "
                                    "ahead");
    scores->sums = arena_alloc(arena, count, sizeof *scores->sums, err);
    scores->counts = arena_alloc(arena, count, sizeof *scores->counts, err);
    return scores->sums && scores->counts ? 0 : -1;
}

static size_t place_of(const struct head_scores *scores, size_t layer, size_t head)
{
    return (layer * scores->config->n_head + head) * SCORES;
}

/* Weight on keys that are a token seen before (offset 0), or that follow one (1); NaN: none does.
 */
static double weight_at(const uint32_t *ids, const float *row, size_t query, size_t offset)
{
    double sum = 0;
    bool found = false;
    for (size_t key = offset; key < query + offset; key++) {
        if (ids[key - offset] != ids[query])
            continue;
        sum += (double)row[key];
        found = true;
    }
    return found ? sum : (double)NAN;
}

/* The first query sees nothing but itself, and says nothing. */
static void count_row(double *sums, double *counts, const uint32_t *ids, const float *row,
                      size_t query)
{
    const struct attention_row seen = {.weights = row, .keys = query + 1, .query = query};
    const double values[SCORES] = {
        [SCORE_PREVIOUS] = measure_rows[MEASURE_PREVIOUS_TOKEN].of_row(&seen),
        [SCORE_FIRST] = measure_rows[MEASURE_FIRST_TOKEN].of_row(&seen),
        [SCORE_SELF] = (double)row[query],
        [SCORE_DUPLICATE] = weight_at(ids, row, query, 0),
        [SCORE_INDUCTION] = weight_at(ids, row, query, 1),
        [SCORE_ENTROPY] = measure_rows[MEASURE_ENTROPY].of_row(&seen),
        [SCORE_DISTANCE] = measure_rows[MEASURE_DISTANCE].of_row(&seen),
    };
    for (int score = 0; score < SCORES; score++) {
        if (isnan(values[score]))
            continue;
        sums[score] += values[score];
        counts[score]++;
    }
}

/* A tap_sink; `context` are the scores. */
static int see(void *context, const struct announcement *seen, struct err *err)
{
    struct head_scores *scores = context;
    (void)err;
    for (size_t head = 0; head < scores->config->n_head; head++) {
        struct tensor square = tensor_slice(&seen->values, head);
        size_t place = place_of(scores, (size_t)seen->layer, head);
        for (size_t query = 1; query < scores->text->count; query++)
            count_row(scores->sums + place, scores->counts + place, scores->text->ids,
                      square.data + query * square.stride[0], query);
    }
    return 0;
}

int head_scores_add(struct head_scores *scores, struct viewer *viewer, const struct text *text,
                    struct err *err)
{
    struct selection selection = {.sites = site_bit(SITE_WEIGHTS)};
    struct text_list one = {.items = text, .count = 1};
    struct tap tap = {.sink = see, .context = scores};
    scores->text = text;
    if (selection_layers(&selection, NULL, scores->config, &viewer->scratch, err))
        return -1;
    return viewer_run(viewer, &selection, &one, tap, err);
}

double head_score(const struct head_scores *scores, size_t layer, size_t head, enum score score)
{
    size_t place = place_of(scores, layer, head) + score;
    return scores->sums[place] / scores->counts[place];
}

static uint64_t count_of(const struct head_scores *scores, size_t layer, size_t head,
                         enum score score)
{
    return (uint64_t)scores->counts[place_of(scores, layer, head) + score];
}

void head_scores_repeat(uint32_t *ids, size_t half, size_t limit, uint64_t key)
{
    for (size_t i = 0; i < half; i++)
        ids[i] = ids[i + half] = (uint32_t)rng_below(key, i, limit);
}

/* --- a survey --------------------------------------------------------------------------------- */

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
    const struct config *config = &survey->viewer->model.config;
    size_t positions = config->n_positions;
    size_t half = positions && positions < 2 * RANDOM_HALF ? positions / 2 : RANDOM_HALF;
    struct text text = {.ids = ids, .count = 2 * half};
    head_scores_repeat(ids, half, config->vocab_size, rng_fold_in(survey->seed, number));
    return head_scores_add(&survey->of_repeats, survey->viewer, &text, err);
}

int head_survey_add_text(struct head_survey *survey, const struct tokenized *text, struct err *err)
{
    struct text whole = {.ids = text->ids, .count = text->count};
    int failed = head_scores_add(&survey->of_texts, survey->viewer, &whole, err);
    survey->texts += !failed;
    return failed;
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

/* --- as layers × heads ------------------------------------------------------------------------ */

/* mean over up to 784 queries of 16 texts of repeated random tokens */
static const char *name_basis(const struct head_survey *survey, enum score score, uint64_t most,
                              struct arena *arena, struct err *err)
{
    struct buf text = {0};
    bool repeats = source_of(survey, score) == &survey->of_repeats;
    size_t texts = repeats ? HEAD_SURVEY_REPEATS : survey->texts;
    buf_format(&text, "mean over up to %llu %s of %zu text%s%s", (unsigned long long)most,
               most == 1 ? "query" : "queries", texts, texts == 1 ? "" : "s",
               repeats ? " of repeated random tokens" : "");
    return buf_keep(&text, arena, err);
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
        counts[i] = count_of(source_of(survey, score), layer, head, score);
        item->most = counts[i] > item->most ? counts[i] : item->most;
    }
    *list = counts;
    *sheet = (struct sheet){.tensor = item->name, .layer = -1, .head = -1, .values = values};
    item->sheets = sheet;
    item->counts = list;
    item->basis = name_basis(survey, score, item->most, arena, err);
    return !item->basis || axis_of_numbers(&sheet->rows, "layer", config->n_layer, arena, err) ||
                   axis_of_numbers(&sheet->columns, "head", config->n_head, arena, err)
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
