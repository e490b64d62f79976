/* benchmark.h: how fast a model runs on this machine, compared with the limits of the machine; how
 * time and memory of attention grow with the length of a text.
 *
 * Each round measures the limits and every task: clocks and other processes change both from one
 * second to the next. Reported is the fastest pass of a round, the median over all rounds.
 *
 *     struct bench_plan plan = {.folder = &folder, .rounds = 5, .kinds = TASKS_ALL};
 *     struct bench_report report;
 *     if (benchmark(&report, &plan, &arena, &err) ||
 *         bench_result(&result, &report, &arena, &err)) ...
 */
#ifndef ATTN_BENCH_BENCHMARK_H
#define ATTN_BENCH_BENCHMARK_H

#include "base/arena.h"
#include "base/folder.h"
#include "base/progress_sink.h"
#include "base/stream.h"
#include "lens/viewer.h"

struct pass_size {
    size_t tokens;
    size_t cached; /* keys and values that were computed before */
    bool logits;   /* of the last token */
};

/* The operations and memory reads of a pass. A multiply-add is two operations; each weight and each
 * cached key and value is read once. Embeddings, norms, softmax and activations are not counted.
 * `weight_bytes` is the size of one weight, `float_bytes` that of a cached number. */
struct work {
    double operations;
    double bytes;
};

struct work bench_work(const struct config *config, const struct pass_size *size,
                       size_t weight_bytes, size_t float_bytes);

/* --- limits of the machine -------------------------------------------------------------------- */

struct peak {
    float *data; /* more than the caches hold */
    size_t size_bytes, cache_bytes;
    size_t next_byte;     /* where it is read next */
    struct weight weight; /* of a product as large as those of a pass */
    struct matrix x, y;
};

struct limits {
    double operations; /* a second, of products alone, in the precision of the pass */
    double bytes;      /* a second, read from memory */
};

int peak_init(struct peak *peak, struct machine *machine, enum precision precision,
              struct arena *arena, struct err *err);
struct limits peak_measure(struct peak *peak, struct machine *machine); /* takes some 70 ms */

/* --- the benchmark ---------------------------------------------------------------------------- */

enum task_kind { TASK_PREFILL, TASK_CAPTURE, TASK_DECODE, TASK_KINDS, TASK_ATTENTION = TASK_KINDS };
enum { TASKS_ALL = (1 << TASK_KINDS) - 1 };

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

enum bench_value {
    BENCH_TOKENS,
    BENCH_CACHED,
    BENCH_SECONDS, /* median of the rounds */
    BENCH_RATE,    /* tokens a second */
    BENCH_OPERATIONS,
    BENCH_BYTES,
    BENCH_OF_COMPUTE,    /* share of the rate of products alone */
    BENCH_OF_MEMORY,     /* share of the bytes that could be read; NAN: weights fit the caches */
    BENCH_TIME_EXPONENT, /* of the fitted power of the length; NAN: one length */
    BENCH_MEMORY,        /* working memory of attention, in bytes */
    BENCH_MEMORY_EXPONENT,
    BENCH_VALUES,
};

struct bench_row {
    const char *name; /* of a task, or a kind of attention: "window:64" */
    double values[BENCH_VALUES];
};

struct bench_report {
    const char *model, *kernels;
    const char *bf16; /* instructions that multiply bf16; NULL: float32 */
    bool attention;   /* rows are of ways, not of tasks */
    size_t parameters, threads, rounds;
    struct limits limits; /* medians; not measured with ways */
    struct bench_row *rows;
    size_t row_count;
};

/* A text longer than the context and attention that the model cannot have are wrong usage. With
 * ways only attention is measured, of an encoder-decoder model the decoder's self-attention: the
 * rest of a layer grows linearly. The arena owns the results. */
int benchmark(struct bench_report *report, const struct bench_plan *plan, struct arena *arena,
              struct err *err);

/* The report as a table to write, in memory of the arena. */
struct report;
int bench_result(struct report *result, const struct bench_report *report, struct arena *arena,
                 struct err *err);

#endif
