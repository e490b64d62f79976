#include "bench/growth.h"

#include <math.h>
#include <stdio.h>

#include "bench/benchmark.h"
#include "model/pass.h"

static const size_t usual_lengths[] = {256, 512, 1024, 2048, 4096};

enum { USUAL = sizeof usual_lengths / sizeof *usual_lengths, SHORTEST = 4, NOTE_BYTES = 128 };

static const double SECONDS_LEAST = 0.005; /* of one round: what takes less is done again */

struct trials {
    const struct growth_plan *plan;
    struct growth *growth;
    struct bench_subject subject;
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

/* As many halves of the context as there are usual lengths. */
static int choose_halves(struct growth *growth, size_t context, struct arena *arena,
                         struct err *err)
{
    size_t *lengths = arena_alloc(arena, USUAL, sizeof *lengths, err);
    if (!lengths)
        return -1;
    for (size_t i = USUAL; i-- > 0;) {
        size_t length = context >> i;
        if (length >= SHORTEST || i == 0)
            lengths[growth->length_count++] = length;
    }
    growth->lengths = lengths;
    return 0;
}

static int choose_lengths(struct trials *trials, struct err *err)
{
    const struct growth_plan *plan = trials->plan;
    struct growth *growth = trials->growth;
    size_t most = growth->config.n_positions;
    if (!plan->lengths && most && most < usual_lengths[USUAL - 1])
        return choose_halves(growth, most, trials->arena, err);
    growth->lengths = plan->lengths ? plan->lengths : usual_lengths;
    growth->length_count = plan->lengths ? plan->length_count : USUAL;
    return bench_check_lengths(growth->lengths, growth->length_count, &growth->config, err);
}

static int prepare_way(struct trials *trials, size_t index, struct err *err)
{
    size_t lengths = trials->growth->length_count;
    struct growth_way *way = &trials->growth->ways[index];
    struct config config = trials->growth->config;
    config.mechanism = trials->plan->ways[index];
    way->seconds = arena_alloc(trials->arena, lengths, sizeof(double), err);
    way->bytes = arena_alloc(trials->arena, lengths, sizeof(double), err);
    way->products = arena_alloc(trials->arena, lengths, sizeof(double), err);
    way->name = mechanism_attention_name(&config.mechanism, trials->arena, err);
    if (!way->seconds || !way->bytes || !way->products || !way->name ||
        mechanism_check(&config.mechanism, &config, err))
        return -1;
    for (size_t i = 0; i < lengths; i++) {
        size_t n = trials->growth->lengths[i];
        way->bytes[i] = (double)attention_whole_bytes(&config, n, n, trials->growth->threads);
        if (work_of_attention(&way->products[i], &config, n, err))
            return -1;
    }
    return 0;
}

static int prepare(struct trials *trials, struct err *err)
{
    const struct growth_plan *plan = trials->plan;
    struct growth *growth = trials->growth;
    if (bench_subject_open(&trials->subject, plan->folder, plan->threads, err))
        return -1;
    trials->subject.viewer.model.weights.packing = true;
    *growth = (struct growth){
        .model = plan->folder->path,
        .config = trials->subject.viewer.model.config,
        .threads = pool_threads(trials->subject.viewer.machine.pool),
        .rounds = plan->rounds,
        .kernels = kernels_target(trials->subject.viewer.machine.kernels),
        .way_count = plan->way_count,
    };
    growth->ways = arena_alloc(trials->arena, plan->way_count, sizeof *growth->ways, err);
    if (!growth->ways || choose_lengths(trials, err))
        return -1;
    for (size_t way = 0; way < plan->way_count; way++)
        if (prepare_way(trials, way, err))
            return -1;
    return 0;
}

/* One pass, up to the contexts of the last layer. */
static int time_pass(struct trials *trials, size_t length, struct stopwatch *stopwatch,
                     struct err *err)
{
    struct viewer *viewer = &trials->subject.viewer;
    const struct config *config = &viewer->model.config;
    struct pass_size size = {.texts = 1, .tokens = length};
    struct selection selection = {.sites = STOPWATCH_SITES};
    struct text_list text = {.count = 1};
    text.items = task_texts(&size, config, &viewer->scratch, err);
    if (!text.items || selection_layers(&selection, NULL, config, &viewer->scratch, err))
        return -1;
    return viewer_run(viewer, &selection, &text, stopwatch_tap(stopwatch), err);
}

/* The first pass of a length takes its memory, and does not count. What counts is the least of all
 * rounds: what else the machine does only makes a pass longer, and a long one more often. */
static int time_way(struct trials *trials, size_t way, size_t length, struct err *err)
{
    double *least = &trials->growth->ways[way].seconds[length];
    size_t tokens = trials->growth->lengths[length];
    double sum = 0;
    trials->subject.viewer.model.config.mechanism = trials->plan->ways[way];
    for (bool first = true; sum < SECONDS_LEAST; first = false) {
        struct stopwatch stopwatch = {0};
        if (time_pass(trials, tokens, &stopwatch, err))
            return -1;
        if (!first && (*least == 0 || stopwatch.seconds < *least))
            *least = stopwatch.seconds;
        sum += first ? 0 : stopwatch.seconds;
    }
    return 0;
}

static void tell(const struct trials *trials, size_t round, size_t length, size_t way)
{
    const struct growth_plan *plan = trials->plan;
    size_t lengths = trials->growth->length_count;
    char note[NOTE_BYTES];
    snprintf(note, sizeof note, "%zu tokens, %s", trials->growth->lengths[length],
             trials->growth->ways[way].name);
    progress_tell_more(plan->progress, (round * lengths + length) * plan->way_count + way,
                       plan->rounds * lengths * plan->way_count, note);
}

/* Ways take turns: what slows the machine down for a while slows all of them. */
static int run_round(struct trials *trials, size_t round, struct err *err)
{
    const struct growth_plan *plan = trials->plan;
    for (size_t length = 0; length < trials->growth->length_count; length++) {
        for (size_t way = 0; way < plan->way_count; way++) {
            tell(trials, round, length, way);
            if (time_way(trials, way, length, err))
                return -1;
        }
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
    for (size_t i = 0; i < plan->way_count && !failed; i++) {
        struct growth_way *way = &growth->ways[i];
        way->time_exponent = growth_exponent(growth->lengths, way->seconds, growth->length_count);
        way->memory_exponent = growth_exponent(growth->lengths, way->bytes, growth->length_count);
    }
    bench_subject_release(&trials.subject);
    return failed ? -1 : 0;
}
