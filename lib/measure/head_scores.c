#include "measure/head_scores.h"

#include <math.h>
#include <string.h>

#include "lens/measure.h"
#include "math/rng.h"
#include "model/forward.h"

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
static double weight_behind(const uint32_t *ids, const float *row, size_t query, size_t offset)
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
        [SCORE_PREVIOUS] = (double)row[query - 1],
        [SCORE_FIRST] = (double)row[0],
        [SCORE_SELF] = (double)row[query],
        [SCORE_DUPLICATE] = weight_behind(ids, row, query, 0),
        [SCORE_INDUCTION] = weight_behind(ids, row, query, 1),
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

int head_scores_add(struct head_scores *scores, struct model *model, struct machine *machine,
                    const struct sequence *text, struct err *err)
{
    struct arena arena = {0};
    struct batch batch;
    struct watch watch;
    struct tap tap = {.watch = &watch, .sink = see, .context = scores};
    struct run run = {machine, &model->config, &model->weights, &batch};
    int failed = batch_init(&batch, &model->config, text, 1, &arena, err) ||
                 watch_init(&watch, &model->config, &arena, err);
    for (size_t layer = 0; !failed && layer < model->config.n_layer; layer++)
        watch_add(&watch, SITE_WEIGHTS, layer);
    scores->text = text;
    failed = failed || forward(&run, &tap, &arena, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}

double head_score(const struct head_scores *scores, size_t layer, size_t head, enum score score)
{
    size_t place = place_of(scores, layer, head) + score;
    return scores->sums[place] / scores->counts[place];
}

uint64_t head_score_count(const struct head_scores *scores, size_t layer, size_t head,
                          enum score score)
{
    return (uint64_t)scores->counts[place_of(scores, layer, head) + score];
}

void head_scores_repeat(uint32_t *ids, size_t half, size_t limit, uint64_t key)
{
    for (size_t i = 0; i < half; i++)
        ids[i] = ids[i + half] = (uint32_t)rng_below(key, i, limit);
}
