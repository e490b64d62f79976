/* benchmark.h: how fast a model runs on this machine, compared with the limits of the machine.
 *
 * Each round runs every task once and measures the limits before each: clocks and other processes
 * change both from one second to the next. Reported are medians over the rounds.
 *
 *     struct bench_plan plan = {ATTN_VERSION, &folder, .rounds = 5, .kinds = TASKS_ALL};
 *     struct bench_report report;
 *     if (benchmark(&report, &plan, &arena, err) || bench_text_write(&out, &report, err)) ...
 */
#ifndef ATTN_BENCH_BENCHMARK_H
#define ATTN_BENCH_BENCHMARK_H

#include "base/arena.h"
#include "base/folder.h"
#include "base/progress_sink.h"
#include "base/stream.h"
#include "lens/viewer.h"

struct pass_size {
    size_t texts;
    size_t tokens; /* of each text; 0 in task_rows: one task for each length */
    size_t cached; /* keys and values of each text that were computed before */
    bool logits;   /* of the last token of each text */
    bool largest;  /* only the largest logit */
};

/* Texts of made-up ids (and sources, for models that have them); NULL with `err`. */
struct text *bench_texts(size_t texts, size_t tokens, const struct config *config,
                         struct arena *arena, struct err *err);

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
    double
        operations; /* floating-point, a second, of products alone, in the precision of the pass */
    double bytes;   /* a second, read from memory */
};

int peak_init(struct peak *peak, struct machine *machine, enum precision precision,
              struct arena *arena, struct err *err);
struct limits peak_measure(struct peak *peak, struct machine *machine); /* takes some 70 ms */

/* --- the benchmark ---------------------------------------------------------------------------- */

enum task_kind { TASK_PREFILL, TASK_CAPTURE, TASK_DECODE, TASK_GREEDY, TASK_BATCH, TASK_KINDS };
enum { TASKS_ALL = (1 << TASK_KINDS) - 1 };

extern const struct task_row {
    const char *name, *about;
    struct pass_size size;
} task_rows[TASK_KINDS];

struct bench_plan {
    const char *version;         /* of the program */
    const struct folder *folder; /* the model's */
    size_t threads;              /* 0: one for each processor */
    size_t rounds;
    unsigned kinds;        /* a bit for each task */
    const size_t *lengths; /* of texts, in tokens; NULL: 6, 64, 256, 1024, up to the context */
    size_t length_count;
    enum precision precision;
    const struct progress_sink *progress; /* or NULL */
};

struct bench_result {
    enum task_kind kind;
    struct pass_size size;
    struct work work;
    double *seconds;       /* [rounds] */
    struct limits *limits; /* [rounds], measured before each */
    double median;         /* of the seconds */
    double of_compute;     /* share of the rate of products alone */
    double of_memory;      /* share of the bytes that it could read; 0: weights fit the caches */
};

struct bench_report {
    const char *version, *model, *kernels;
    const char *bf16; /* instructions that multiply bf16; NULL: float32 */
    size_t parameters, threads, rounds;
    struct limits limits; /* medians */
    struct bench_result *results;
    size_t result_count;
};

/* A text longer than the context is refused as wrong usage. The arena owns the results. */
int benchmark(struct bench_report *report, const struct bench_plan *plan, struct arena *arena,
              struct err *err);
int bench_check_lengths(const size_t *lengths, size_t count, const struct config *config,
                        struct err *err);

typedef int bench_writer(struct stream *out, const struct bench_report *report, struct err *err);
extern bench_writer bench_text_write, bench_json_write;

#endif
