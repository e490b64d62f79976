/* benchmark.h: the speed of a model on this machine, relative to the machine's limits; or how time
 * and memory of attention grow with the length of the text or the width of a head (`ways`).
 *
 * Each round measures the limits (not with `ways`) and every task, since clock rates and other
 * processes change both. The result is the median over rounds of the fastest pass of each round.
 *
 *     struct bench_plan plan = {.folder = &folder, .rounds = 5, .kinds = TASKS_ALL};
 *     struct report result;
 *     if (benchmark(&result, &plan, &arena, &err)) ...
 */
#pragma once

#include "base/file.h"
#include "base/memory.h"
#include "base/progress_sink.h"
#include "lens/viewer.h"

enum task_kind { TASK_PREFILL, TASK_DECODE, TASK_KINDS, TASKS_ALL = (1 << TASK_KINDS) - 1 };

extern const struct task_row {
    const char *name, *about;
} task_rows[TASK_KINDS];

struct bench_plan {
    const struct folder *folder; /* folder of the model; with `widths`: `width_count` folders */
    size_t threads;              /* number of threads; 0: one for each usable processor */
    size_t rounds;
    unsigned kinds;               /* without `ways`: the tasks to measure, one bit for each */
    const struct mechanism *ways; /* kinds of attention to measure; NULL: measure tasks instead */
    size_t way_count;
    const size_t *widths; /* with `ways`: the width of the heads in each of `width_count` folders,
                           * measured at the first length; NULL: there is one folder */
    size_t width_count;
    const size_t *lengths; /* lengths of texts in tokens; NULL: lengths are chosen that fit the
                            * context */
    size_t length_count;
    double seconds_most;      /* without `lengths` and `ways`: 1,024 tokens are not run if 256
                               * tokens take more than this number of seconds */
    enum precision precision; /* with `ways`: must be f32 */
    const struct progress_sink *progress; /* receives the progress; NULL: no reports */
};

/* Measure, and make a table with a row for each length of prefill and one for decode, or for each
 * kind of attention and each length or width; the arena owns it. Texts longer than the context, and
 * attention that does not fit the model, are refused. With `ways`, only attention is measured (with
 * an encoder, the decoder's self-attention), since the rest of a layer grows linearly. */
int benchmark(struct report *result, const struct bench_plan *plan, struct arena *arena,
              struct err *err);

/* Write a number with at most three decimals and a unit: `251 GFLOP/s`. Returns `text`. */
enum { AMOUNT_BYTES = 32 };
const char *amount_write(char text[AMOUNT_BYTES], double value, const char *unit);

/* The median of a member of `count` structs, at least one: `first` is the member in the first
 * struct, `step_bytes` the size of a struct. `sorted` has room for `count` numbers. */
double median(const double *first, size_t step_bytes, size_t count, double *sorted);

/* The exponent b of y = a * x^b, fitted to the last points, at least half of all; NAN: these points
 * have the same x. */
double growth_exponent(const size_t *x, const double *y, size_t count);

/* The largest difference between growth_exponent and the exponent of two neighbouring points; NAN:
 * growth_exponent is NAN. */
double growth_spread(const size_t *x, const double *y, size_t count);
