#include "bench/growth.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/benchmark.h"
#include "model/pass.h"
#include "text/label.h"

enum { LENGTHS = 5, LONGEST = 4096, SHORTEST = 4, NOTE_BYTES = 128 };

static const double SECONDS_LEAST = 0.005; /* of one round: shorter passes are repeated */

struct trials {
    const struct growth_plan *plan;
    struct growth *growth;
    struct viewer viewer;
    struct arena *arena;
};

double growth_exponent(const size_t *x, const double *y, size_t count)
{
    size_t first = count / 2 - (count > 1 && count % 2 == 0);
    double n = (double)(count - first);
    double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
    for (size_t i = first; i < count; i++) {
        double log_x = log((double)x[i]);
        double log_y = log(y[i]);
        sum_x += log_x;
        sum_y += log_y;
        sum_xx += log_x * log_x;
        sum_xy += log_x * log_y;
    }
    double spread = n * sum_xx - sum_x * sum_x;
    return n >= 2 && spread > 0 ? (n * sum_xy - sum_x * sum_y) / spread : NAN;
}

static int choose_lengths(struct trials *trials, struct err *err)
{
    const struct growth_plan *plan = trials->plan;
    struct growth *growth = trials->growth;
    size_t context = trials->viewer.model.config.n_positions;
    size_t top = context && context < LONGEST ? context : LONGEST;
    size_t *lengths = arena_alloc(trials->arena, LENGTHS, sizeof *lengths, err);
    if (!lengths)
        return -1;
    for (size_t i = LENGTHS; i-- > 0;)
        if (top >> i >= SHORTEST || i == 0)
            lengths[growth->length_count++] = top >> i;
    growth->lengths = lengths;
    if (plan->lengths) {
        growth->lengths = plan->lengths;
        growth->length_count = plan->length_count;
    }
    return bench_check_lengths(growth->lengths, growth->length_count, &trials->viewer.model.config,
                               err);
}

static int prepare_way(struct trials *trials, size_t index, struct err *err)
{
    size_t count = trials->growth->length_count;
    struct growth_way *way = &trials->growth->ways[index];
    struct config config = trials->viewer.model.config;
    config.mechanism = trials->plan->ways[index];
    for (int i = 0; i < GROWTH_QUANTITIES; i++)
        if (!(way->values[i] = arena_alloc(trials->arena, count, sizeof(double), err)))
            return -1;
    for (size_t i = 0; i < count; i++) {
        size_t n = trials->growth->lengths[i];
        size_t bytes = attention_whole_bytes(&config, n, n, trials->growth->threads);
        way->values[GROWTH_BYTES][i] = (double)bytes;
    }
    way->name = mechanism_attention_name(&config.mechanism, trials->arena, err);
    return way->name ? mechanism_check(&config.mechanism, &config, err) : -1;
}

static int prepare(struct trials *trials, struct err *err)
{
    const struct growth_plan *plan = trials->plan;
    struct growth *growth = trials->growth;
    if (viewer_open_folder(&trials->viewer, plan->folder, plan->threads, err))
        return -1;
    const struct config *c = &trials->viewer.model.config;
    char model[LABEL_EXCERPT_BYTES];
    label_excerpt(model, plan->folder->path, strlen(plan->folder->path));
    size_t threads = pool_threads(trials->viewer.machine.pool);
    trials->viewer.model.weights.packing = true;
    *growth = (struct growth){
        .model = plan->folder->path,
        .title =
            arena_format(trials->arena, err, "%s: %zu layer%s, %zu head%s of %zu, %zu thread%s",
                         model, c->n_layer, c->n_layer == 1 ? "" : "s", c->n_head,
                         c->n_head == 1 ? "" : "s", c->d_k, threads, threads == 1 ? "" : "s"),
        .threads = threads,
        .rounds = plan->rounds,
        .kernels = kernels_target(trials->viewer.machine.kernels),
        .ways = arena_alloc(trials->arena, plan->way_count, sizeof *growth->ways, err),
        .way_count = plan->way_count,
    };
    if (!growth->title || !growth->ways || choose_lengths(trials, err))
        return -1;
    for (size_t way = 0; way < plan->way_count; way++)
        if (prepare_way(trials, way, err))
            return -1;
    return 0;
}

/* The first pass of a length allocates its memory and is not counted. The least time counts: other
 * processes only make a pass longer. */
static int time_way(struct trials *trials, size_t way, size_t length, struct err *err)
{
    struct viewer *viewer = &trials->viewer;
    double *least = &trials->growth->ways[way].values[GROWTH_SECONDS][length];
    double sum = 0;
    viewer->model.config.mechanism = trials->plan->ways[way];
    for (bool first = true; sum < SECONDS_LEAST; first = false) {
        struct stopwatch stopwatch = {0};
        struct selection selection = {.sites = STOPWATCH_SITES};
        struct text_list text = {.count = 1};
        text.items = bench_texts(1, trials->growth->lengths[length], &viewer->model.config,
                                 &viewer->scratch, err);
        if (!text.items ||
            selection_layers(&selection, NULL, &viewer->model.config, &viewer->scratch, err) ||
            viewer_run(viewer, &selection, &text, stopwatch_tap(&stopwatch), err))
            return -1;
        if (!first && (*least == 0 || stopwatch.seconds < *least))
            *least = stopwatch.seconds;
        sum += first ? 0 : stopwatch.seconds;
    }
    return 0;
}

/* Kinds take turns: what slows the machine down for a while slows all of them. */
static int run_round(struct trials *trials, size_t round, struct err *err)
{
    const struct growth_plan *plan = trials->plan;
    const struct growth *growth = trials->growth;
    size_t count = growth->length_count * plan->way_count;
    for (size_t i = 0; i < count; i++) {
        size_t length = i / plan->way_count;
        char note[NOTE_BYTES];
        snprintf(note, sizeof note, "%zu tokens, %s", growth->lengths[length],
                 growth->ways[i % plan->way_count].name);
        progress_tell_more(plan->progress, round * count + i, plan->rounds * count, note);
        if (time_way(trials, i % plan->way_count, length, err))
            return -1;
    }
    return 0;
}

int growth_measure(struct growth *growth, const struct growth_plan *plan, struct arena *arena,
                   struct err *err)
{
    struct trials trials = {.plan = plan, .growth = growth, .arena = arena};
    int failed = prepare(&trials, err);
    for (size_t round = 0; round < plan->rounds && !failed; round++)
        failed = run_round(&trials, round, err);
    for (size_t i = 0; i < plan->way_count && !failed; i++)
        for (int q = 0; q < GROWTH_QUANTITIES; q++)
            growth->ways[i].exponents[q] =
                growth_exponent(growth->lengths, growth->ways[i].values[q], growth->length_count);
    viewer_release(&trials.viewer);
    return failed ? -1 : 0;
}
