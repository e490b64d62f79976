/* benchmark.h: how fast a model runs on this machine, held against what the machine can do.
 *
 * In each round everything is measured once, with the machine's limits before and after: clocks and
 * neighbours change from one second to the next. Reported are medians over the rounds.
 *
 *     struct bench_plan plan = {&folder, .rounds = 5, .choice = {.kinds = TASKS_ALL}};
 *     struct bench_report report = {0};
 *     if (benchmark(&report, &plan, &arena, err) || bench_page_write(&out, &report, err)) ...
 */
#ifndef ATTN_BENCH_BENCHMARK_H
#define ATTN_BENCH_BENCHMARK_H

#include "base/stream.h"
#include "bench/task.h"
#include "math/pool.h"

/* --- what the machine can do at most, right now: measured in a few milliseconds --------------- */

/* Kinds of vectors, the widest first. Plain is what C has everywhere: a product, then a sum. */
enum fma_form { FMA_AVX512, FMA_AVX2, FMA_PLAIN, FMA_FORMS };

extern const struct fma_row {
    const char *name;
    int lanes; /* floats of its vectors */
} fma_rows[FMA_FORMS];

enum { FMA_CHAINS = 12 }; /* a latency of 4 cycles and 2 units need 8; 16 registers hold them */

/* Some thousand multiply-adds in every lane of so many chains that do not depend on each other.
 * Returns what they come to, so that no compiler leaves them out. NULL where this processor does
 * not have the instructions. */
typedef float fma_loop(void);
fma_loop *fma_loop_find(enum fma_form form);

/* Floating-point operations a second on all threads of the pool, two a multiply-add; or 0. */
double peak_fma(struct pool *pool, enum fma_form form);

/* More memory than the caches hold; and bytes a second that all threads together read from it. */
struct peak_memory {
    float *data;
    size_t size_bytes;
    size_t cache_bytes; /* the last level of the caches */
    size_t next_byte;   /* where it is read next */
};

int peak_memory_init(struct peak_memory *memory, struct arena *arena, struct err *err);
double peak_read(struct pool *pool, struct peak_memory *memory);

/* --- what is measured ------------------------------------------------------------------------- */

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
    double of_compute; /* the share of the machine's multiply-adds, of twice as many in bf16 */
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

/* How far a pass in bf16 is from float32: the largest differences over layers, heads and tokens. */
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
int deviation_measure(struct deviation *deviation, struct bench_subject *subject, struct err *err);

/* Tokens a second; 0 for what is no pass. */
double bench_tokens_per_second(const struct bench_result *result);

/* As a page for people, 80 columns wide; as one JSON object, in seconds, operations and bytes. */
int bench_page_write(struct stream *out, const struct bench_report *report, struct err *err);
int bench_json_write(struct stream *out, const struct bench_report *report, struct err *err);

#endif
