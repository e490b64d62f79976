#include "bench/bench_compare.h"

#include <math.h>
#include <string.h>

static const double LEAST = 0.02; /* two runs of the same program differ by that */
static const double SCORE = 2.5;  /* standard deviations: chance is beyond them once in eighty */

/* How far `wins`, of a * b pairs that chance decides, is from half of them, in standard deviations;
 * with half a pair's allowance, as pairs are whole. */
static double score_of(double wins, double a, double b)
{
    double distance = fmax(fabs(wins - a * b / 2) - 0.5, 0);
    return distance / sqrt(a * b * (a + b + 1) / 12);
}

/* 1 or -1 where the rounds of `now`, each multiplied, are slower or faster beyond noise; else 0. */
static int direction(const struct bench_change *change, size_t then_rounds, size_t now_rounds,
                     double factor)
{
    double wins = 0;
    double ratio = change->ratio * factor;
    for (size_t i = 0; i < now_rounds; i++) {
        double seconds = change->now->each[i] * factor;
        for (size_t j = 0; j < then_rounds; j++) {
            double other = change->then->each[j];
            wins += seconds > other ? 1 : seconds < other ? 0 : 0.5;
        }
    }
    double pairs = (double)then_rounds * (double)now_rounds;
    bool is_noise = score_of(wins, (double)then_rounds, (double)now_rounds) < SCORE;
    if (is_noise || fabs(ratio - 1) < LEAST || (wins > pairs / 2) != (ratio > 1))
        return 0;
    return ratio > 1 ? 1 : -1;
}

/* How fast the machine is now, by the limit that the task comes nearest to; what is no pass has
 * none. */
static double speed(const struct bench_compared *compared, const struct bench_result *result)
{
    const struct bench_sample *median = &result->median;
    double rate = median->of_memory > median->of_compute ? compared->read : compared->compute;
    return compared->same_machine && result->task.size.texts && rate > 0 ? rate : 1;
}

static void judge(struct bench_change *change, const struct bench_compared *compared)
{
    size_t then_rounds = compared->then->rounds;
    size_t now_rounds = compared->now->rounds;
    change->ratio = change->now->median.seconds / change->then->median.seconds;
    int found = direction(change, then_rounds, now_rounds, 1);
    change->beyond_noise =
        found && found == direction(change, then_rounds, now_rounds, speed(compared, change->now));
}

static bool is_same_task(const struct task *a, const struct task *b)
{
    return a->kind == b->kind && a->precision == b->precision && a->size.texts == b->size.texts &&
           a->size.tokens == b->size.tokens && a->size.cached == b->size.cached;
}

static const struct bench_result *find_task(const struct bench_report *report,
                                            const struct task *task)
{
    for (size_t i = 0; i < report->result_count; i++)
        if (is_same_task(&report->results[i].task, task))
            return &report->results[i];
    return NULL;
}

static void list_changes(struct bench_compared *compared)
{
    const struct bench_report *then = compared->then;
    const struct bench_report *now = compared->now;
    for (size_t i = 0; i < now->result_count; i++) {
        struct bench_change *change = &compared->changes[compared->change_count++];
        change->now = &now->results[i];
        change->then = find_task(then, &change->now->task);
        if (change->then)
            judge(change, compared);
    }
    for (size_t i = 0; i < then->result_count; i++)
        if (!find_task(now, &then->results[i].task))
            compared->changes[compared->change_count++].then = &then->results[i];
}

static void differ(struct bench_compared *compared, const char *name, const char *then,
                   const char *now)
{
    if (strcmp(then, now) != 0)
        compared->differences[compared->difference_count++] =
            (struct bench_difference){name, then, now};
}

static int list_differences(struct bench_compared *compared, struct arena *arena, struct err *err)
{
    const struct bench_report *reports[] = {compared->then, compared->now};
    const char *threads[2];
    const char *parameters[2];
    for (int i = 0; i < 2; i++) {
        threads[i] = arena_format(arena, err, "%zu", reports[i]->together.threads);
        parameters[i] = arena_format(arena, err, "%zu", reports[i]->parameters);
        if (!threads[i] || !parameters[i])
            return -1;
    }
    differ(compared, "processor", reports[0]->processor, reports[1]->processor);
    differ(compared, "threads", threads[0], threads[1]);
    differ(compared, "kernels", reports[0]->kernels, reports[1]->kernels);
    if (reports[0]->pairs && reports[1]->pairs)
        differ(compared, "bf16", reports[0]->pairs, reports[1]->pairs);
    compared->same_machine = !compared->difference_count;
    differ(compared, "version", reports[0]->version, reports[1]->version);
    differ(compared, "model", reports[0]->model, reports[1]->model);
    differ(compared, "parameters", parameters[0], parameters[1]);
    return 0;
}

double bench_compute(const struct bench_limits *limits)
{
    double highest = 0;
    for (int form = 0; form < FMA_FORMS; form++)
        highest = fmax(highest, limits->fma[form]);
    return highest;
}

static double ratio_of(double now, double then)
{
    return then > 0 && now > 0 ? now / then : 0;
}

int bench_compare(struct bench_compared *compared, const char *path,
                  const struct bench_report *then, const struct bench_report *now,
                  struct arena *arena, struct err *err)
{
    double rounds[] = {(double)then->rounds, (double)now->rounds};
    *compared = (struct bench_compared){
        .path = path,
        .then = then,
        .now = now,
        .compute = ratio_of(bench_compute(&now->together), bench_compute(&then->together)),
        .read = ratio_of(now->together.read, then->together.read),
        .can_tell = score_of(0, rounds[0], rounds[1]) >= SCORE,
        .changes = arena_alloc(arena, then->result_count + now->result_count,
                               sizeof *compared->changes, err),
    };
    if (!compared->changes || list_differences(compared, arena, err))
        return -1;
    list_changes(compared);
    return 0;
}
