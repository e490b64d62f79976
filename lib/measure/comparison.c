#include "measure/comparison.h"

#include "base/amount.h"
#include "base/buf.h"
#include "base/num.h"
#include "model/pass.h"
#include "model/mechanism.h"

enum { CELLS_KEPT = 1 << 26 };

static const double SECONDS_LEAST = 0.001; /* of one measurement: what takes less is done again */

struct trial {
    const struct comparison_plan *plan;
    struct comparison *comparison;
    struct difference_sum *sums; /* [way_count][layers, heads] */
    double *samples;             /* [way_count + 1][rounds], dense after the others */
    struct selection timed;      /* what a stopwatch watches */
    size_t passes, passes_done;  /* for who shows how far it is: all passes of a way count as one */
    struct arena *arena;
    struct arena of_dense, of_other; /* what the passes gave */
};

static const struct config *config_of(const struct comparison_plan *plan)
{
    return &plan->viewer->model.config;
}

static struct comparison_result *result_at(const struct trial *trial, size_t way)
{
    struct comparison *comparison = trial->comparison;
    return way < trial->plan->way_count ? &comparison->results[way] : &comparison->dense;
}

static size_t heads_of(const struct comparison *comparison)
{
    return comparison->layer_count * comparison->head_count;
}

/* --- what is compared ------------------------------------------------------------------------- */

/* 0, 1, 2, … where all heads are compared. */
static int choose_heads(struct comparison *comparison, const struct selection *selection,
                        const struct config *config, struct arena *arena, struct err *err)
{
    comparison->layers = selection->layers.items;
    comparison->layer_count = selection->layers.count;
    comparison->heads = selection->heads;
    comparison->head_count = selection->head_count;
    if (selection->heads)
        return 0;
    size_t *heads = arena_alloc(arena, config->n_head, sizeof *heads, err);
    for (size_t i = 0; heads && i < config->n_head; i++)
        heads[i] = i;
    comparison->heads = heads;
    comparison->head_count = config->n_head;
    return heads ? 0 : -1;
}

static int prepare(struct trial *trial, struct err *err)
{
    const struct comparison_plan *plan = trial->plan;
    struct comparison *comparison = trial->comparison;
    struct arena *arena = trial->arena;
    *comparison = (struct comparison){
        .plan = plan,
        .results = arena_alloc(arena, plan->way_count, sizeof *comparison->results, err),
        .threads = pool_threads(plan->viewer->machine.pool),
    };
    trial->samples =
        arena_alloc(arena, (plan->way_count + 1) * plan->rounds, sizeof *trial->samples, err);
    if (!comparison->results || !trial->samples ||
        choose_heads(comparison, plan->selection, config_of(plan), arena, err) ||
        selection_layers(&trial->timed, NULL, config_of(plan), arena, err) ||
        !(comparison->dense.name = mechanism_attention_name(&comparison->dense.way, arena, err)))
        return -1;
    for (size_t way = 0; way < plan->way_count; way++) {
        struct comparison_result *result = &comparison->results[way];
        result->way = plan->ways[way];
        result->name = mechanism_attention_name(&result->way, arena, err);
        if (result->name && plan->edits)
            result->name = arena_format(arena, err, "%s edited", result->name);
        if (!result->name || mechanism_check(&result->way, config_of(plan), err))
            return -1;
    }
    trial->sums =
        arena_alloc(arena, plan->way_count * heads_of(comparison), sizeof *trial->sums, err);
    return trial->sums ? 0 : -1;
}

/* --- differences ------------------------------------------------------------------------------ */

static size_t keys_of(const struct text_pair *pair)
{
    return pair->source.count ? pair->source.count : pair->sentence.count;
}

/* As many layers as may be kept together. */
static size_t layers_at_once(const struct trial *trial, const struct text_pair *pair)
{
    double most = trial->plan->most_cells ? (double)trial->plan->most_cells : CELLS_KEPT;
    double cells = (double)trial->comparison->head_count * (double)pair->sentence.count *
                   (double)keys_of(pair);
    return cells >= most ? 1 : (size_t)(most / cells);
}

static void count_pass(struct trial *trial)
{
    progress_tell(trial->plan->progress, ++trial->passes_done, trial->passes);
}

/* Let the model attend so from now on. */
static int choose_way(struct trial *trial, const struct comparison_result *result, struct err *err)
{
    bool is_dense = result == &trial->comparison->dense;
    trial->plan->viewer->edits = is_dense ? NULL : trial->plan->edits;
    return viewer_set_mechanism(trial->plan->viewer, &result->way, err);
}

static int look(struct report *report, struct trial *trial, const struct comparison_result *result,
                const struct look *at, struct arena *arena, struct err *err)
{
    struct look one = *at;
    one.reports = report;
    arena_clear(arena);
    if (choose_way(trial, result, err) || viewer_look(trial->plan->viewer, &one, arena, err))
        return -1;
    count_pass(trial);
    return 0;
}

/* "--attention window:8, --ablate '0.1'": as the command line has it; where nothing but edits is
 * compared, they alone. */
static int blame_way(const struct trial *trial, const struct comparison_result *result,
                     struct err *err)
{
    struct buf words = {0};
    const struct edits *edits = trial->plan->edits;
    const char *name = mechanism_attention_name(&result->way, trial->arena, err);
    if (name && !(edits && result->way.kind == ATTENTION_DENSE))
        buf_format(&words, "--attention %s", name);
    edits_write(&words, edits);
    if (words.size)
        err_prefix(err, "%s", words.bytes);
    buf_release(&words);
    return -1;
}

/* Hold some layers of one text against dense attention. */
static int compare_layers(struct trial *trial, const struct look *at, size_t first, struct err *err)
{
    struct report dense, other;
    if (look(&dense, trial, &trial->comparison->dense, at, &trial->of_dense, err))
        return -1;
    for (size_t way = 0; way < trial->plan->way_count; way++) {
        const struct comparison_result *result = &trial->comparison->results[way];
        if (look(&other, trial, result, at, &trial->of_other, err))
            return blame_way(trial, result, err);
        difference_add(trial->sums + way * heads_of(trial->comparison) +
                           first * trial->comparison->head_count,
                       &dense, &other);
    }
    return 0;
}

static int compare_text(struct trial *trial, size_t text, struct err *err)
{
    const struct comparison *comparison = trial->comparison;
    const struct text_pair *pair = &trial->plan->pairs[text];
    size_t step = layers_at_once(trial, pair);
    for (size_t first = 0; first < comparison->layer_count; first += step) {
        struct selection selection = {
            .sites = site_bit(SITE_WEIGHTS) | site_bit(SITE_CONTEXT),
            .layers = {comparison->layers + first, num_min(comparison->layer_count - first, step)},
            .heads = comparison->heads,
            .head_count = comparison->head_count,
        };
        struct look at = {&selection, pair, 1, text, NULL};
        if (compare_layers(trial, &at, first, err))
            return -1;
    }
    return 0;
}

/* --- time ------------------------------------------------------------------------------------- */

/* Attention of all layers and texts, once. */
static int time_once(const struct trial *trial, struct stopwatch *stopwatch, struct err *err)
{
    const struct comparison_plan *plan = trial->plan;
    for (size_t text = 0; text < plan->pair_count; text++) {
        struct look at = {&trial->timed, &plan->pairs[text], 1, text, NULL};
        if (viewer_watch(plan->viewer, &at, stopwatch_tap(stopwatch), err))
            return -1;
    }
    return 0;
}

/* Ways take turns: what slows the machine down for a while slows all of them. */
static int time_round(struct trial *trial, size_t round, struct err *err)
{
    for (size_t way = 0; way <= trial->plan->way_count; way++) {
        struct stopwatch stopwatch = {0};
        double times = 0;
        if (choose_way(trial, result_at(trial, way), err))
            return -1;
        for (; stopwatch.seconds < SECONDS_LEAST; times++)
            if (time_once(trial, &stopwatch, err))
                return -1;
        trial->samples[way * trial->plan->rounds + round] = stopwatch.seconds / times;
        trial->passes_done += trial->plan->pair_count - 1;
        count_pass(trial);
    }
    return 0;
}

/* --- the results ------------------------------------------------------------------------------ */

/* Of the text for which it takes the most. */
static size_t memory_of(const struct trial *trial, const struct mechanism *way)
{
    struct config config = *config_of(trial->plan);
    size_t most = 0;
    config.mechanism = *way;
    for (size_t text = 0; text < trial->plan->pair_count; text++) {
        const struct text_pair *pair = &trial->plan->pairs[text];
        size_t bytes = attention_whole_bytes(&config, pair->sentence.count, keys_of(pair),
                                             trial->comparison->threads);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static int finish(struct trial *trial, struct err *err)
{
    const struct comparison_plan *plan = trial->plan;
    size_t heads = heads_of(trial->comparison);
    double *sorted = arena_alloc(trial->arena, plan->rounds, sizeof *sorted, err);
    if (!sorted)
        return -1;
    for (size_t way = 0; way <= plan->way_count; way++) {
        struct comparison_result *result = result_at(trial, way);
        result->seconds =
            median(trial->samples + way * plan->rounds, sizeof *sorted, plan->rounds, sorted);
        result->bytes = memory_of(trial, &result->way);
        if (way == plan->way_count)
            continue;
        const struct difference_sum *sums = trial->sums + way * heads;
        struct difference *of_heads = arena_alloc(trial->arena, heads, sizeof *of_heads, err);
        for (size_t i = 0; of_heads && i < heads; i++)
            of_heads[i] = difference_of(&sums[i], 1);
        result->heads = of_heads;
        result->all = difference_of(sums, heads);
        if (!of_heads)
            return -1;
    }
    for (size_t text = 0; text < plan->pair_count; text++)
        if (plan->pairs[text].sentence.count > trial->comparison->longest)
            trial->comparison->longest = plan->pairs[text].sentence.count;
    return 0;
}

/* Every text is run once to be compared, or once for some layers of it, and once a round. */
static int measure(struct trial *trial, struct err *err)
{
    const struct comparison_plan *plan = trial->plan;
    trial->passes = plan->rounds * plan->pair_count;
    for (size_t text = 0; text < plan->pair_count; text++) {
        size_t step = layers_at_once(trial, &plan->pairs[text]);
        trial->passes += (trial->comparison->layer_count + step - 1) / step;
    }
    trial->passes *= plan->way_count + 1;
    for (size_t text = 0; text < plan->pair_count; text++)
        if (compare_text(trial, text, err))
            return -1;
    for (size_t round = 0; round < plan->rounds; round++)
        if (time_round(trial, round, err))
            return -1;
    return 0;
}

int comparison_make(struct comparison *comparison, const struct comparison_plan *plan,
                    struct arena *arena, struct err *err)
{
    struct trial trial = {
        .plan = plan,
        .comparison = comparison,
        .timed.sites = STOPWATCH_SITES,
        .arena = arena,
    };
    struct config *config = &plan->viewer->model.config;
    struct mechanism before = config->mechanism;
    int failed = prepare(&trial, err) || measure(&trial, err) || finish(&trial, err);
    config->mechanism = before;
    plan->viewer->edits = NULL;
    arena_release(&trial.of_dense);
    arena_release(&trial.of_other);
    return failed ? -1 : 0;
}
