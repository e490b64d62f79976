/* benchmark.h: how fast a model runs on this machine, held against what the machine can do.
 *
 * In each round everything is measured once, one after another, with the machine's limits before
 * and after: what slows the machine down for a minute slows all of it. Reported are medians over
 * the rounds.
 *
 *     struct bench_plan plan = {&folder, .rounds = 5, .choice = {.kinds = TASKS_ALL}};
 *     struct bench_report report = {0};
 *     if (benchmark(&report, &plan, &arena, err)) ...
 */
#ifndef ATTN_BENCH_BENCHMARK_H
#define ATTN_BENCH_BENCHMARK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/folder.h"
#include "base/stream.h"
#include "bench/peak.h"
#include "bench/task.h"

/* Where a benchmark stands. */
struct bench_progress {
    size_t done, count;
    const struct task *task; /* what comes next */
};

struct bench_plan {
    const struct folder *folder; /* the model's; its path names it */
    size_t threads;              /* 0: one a processor */
    size_t rounds;
    struct task_choice choice;
    void (*progress)(void *context, const struct bench_progress *here); /* NULL: not told */
    void *progress_context;
};

/* The limits of the machine, in operations and bytes a second. */
struct bench_limits {
    size_t threads;
    double fma[FMA_FORMS]; /* 0: this processor does not have it */
    double read;
};

/* A measurement, or the median of several. */
struct bench_sample {
    double seconds;
    double of_compute; /* the share of the machine's multiply-adds that went into it: of twice as
                          many where it is bf16 */
    double of_memory;  /* the same of what memory gives; 0 where the weights fit the caches */
    double over;       /* in-place, capture: prefill of the same length takes 1; else 0 */
    double faster;     /* bf16: so many times as fast as float32; else 0 */
};

struct bench_result {
    struct task task;
    struct work work;
    struct bench_sample median;
};

enum { DEVIATION_TOKENS = 256 }; /* of the text, or as many as the model takes */

/* How far a pass in bf16 is from float32: the largest differences over all layers, heads and
 * tokens. */
struct deviation {
    size_t tokens;
    double weights;       /* of attention, from 0 to 1 */
    double logits;        /* 0 where the model has none */
    double largest_logit; /* what they are to be held against */
};

struct bench_report {
    const char *model;
    size_t parameters;
    const char *kernels;   /* their instruction set */
    const char *processor; /* "" where the system does not say */
    size_t rounds;
    struct bench_limits alone, together; /* one thread; all of them */
    const struct bench_result *results;  /* [result_count] */
    size_t result_count;
    struct deviation deviation; /* of bf16 from float32; no tokens where nothing is in bf16 */
};

/* Measure. What the report points to is the folder's and the arena's. */
int benchmark(struct bench_report *report, const struct bench_plan *plan, struct arena *arena,
              struct err *err);

/* Tokens a second; 0 for what is no pass. */
double bench_tokens_per_second(const struct bench_result *result);

/* Run a text with both precisions, the first pass kept whole. */
int deviation_measure(struct deviation *deviation, struct bench_subject *subject, struct err *err);

/* As a page for people, 80 columns wide; as one JSON object, in seconds, operations and bytes. */
int bench_page_write(struct stream *out, const struct bench_report *report, struct err *err);
int bench_json_write(struct stream *out, const struct bench_report *report, struct err *err);

#endif
