/* benchmark.h: how fast a model runs on this machine, compared with the limits of the machine; how
 * time and memory of attention grow with the length of a text.
 *
 * Each round measures the limits and every task: clocks and other processes change both from one
 * second to the next. Reported is the fastest pass of a round, the median over all rounds.
 *
 *     struct bench_plan plan = {.folder = &folder, .rounds = 5, .kinds = TASKS_ALL};
 *     struct report result;
 *     if (benchmark(&result, &plan, &arena, &err)) ...
 */
#ifndef ATTN_BENCH_BENCHMARK_H
#define ATTN_BENCH_BENCHMARK_H

#include "base/arena.h"
#include "base/folder.h"
#include "base/progress_sink.h"
#include "lens/viewer.h"

enum task_kind { TASK_PREFILL, TASK_DECODE, TASK_KINDS, TASKS_ALL = (1 << TASK_KINDS) - 1 };

extern const struct task_row {
    const char *name, *about;
} task_rows[TASK_KINDS];

struct bench_plan {
    const struct folder *folder; /* the model's */
    size_t threads;              /* 0: one for each processor */
    size_t rounds;
    unsigned kinds;               /* a bit for each task */
    const struct mechanism *ways; /* kinds of attention to measure in place of tasks, or NULL */
    size_t way_count;
    const size_t *lengths; /* of texts, in tokens; NULL: what suits the context */
    size_t length_count;
    enum precision precision;             /* f32 with ways */
    const struct progress_sink *progress; /* or NULL */
};

/* The result is a table with a row for each task, or for each kind of attention and length, in
 * memory of the arena. A text longer than the context and attention that the model cannot have are
 * usage errors. With ways only attention is measured (of an encoder-decoder model the decoder's
 * self-attention): the rest of a layer grows linearly. */
struct report;
int benchmark(struct report *result, const struct bench_plan *plan, struct arena *arena,
              struct err *err);

#endif
