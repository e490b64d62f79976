/* benchmark.h: how fast a model runs on this machine, held against what the machine can do.
 *
 * In each round every task is done once, with the machine's limits before and after: clocks and
 * neighbours change from one second to the next. Reported are medians over the rounds, and the
 * least that a pass must do: what takes longer does so for reasons of its own.
 *
 *     struct bench_plan plan = {&folder, .rounds = 5, .choice = {.kinds = TASKS_ALL}};
 *     struct bench_report report = {0};
 *     if (benchmark(&report, &plan, &arena, err) || bench_page_write(&out, &report, err)) ...
 */
#ifndef ATTN_BENCH_BENCHMARK_H
#define ATTN_BENCH_BENCHMARK_H

#include <stdint.h>

#include "base/arena.h"
#include "base/folder.h"
#include "base/stream.h"
#include "lens/viewer.h"

/* --- passes over made-up texts ---------------------------------------------------------------- */

struct bench_subject {
    const struct folder *folder;
    struct viewer viewer;
    struct arena kept; /* what a pass leaves; the next pass has its memory */
};

/* Open the model of a folder, which must outlive it, on `threads` threads (0: one a processor).
 * `subject` must not move while it is open. On failure nothing is held. */
int bench_subject_open(struct bench_subject *subject, const struct folder *folder, size_t threads,
                       struct err *err);
void bench_subject_release(struct bench_subject *subject);

struct pass_size {
    size_t texts;   /* 0: it is no pass */
    size_t tokens;  /* of each text */
    size_t cached;  /* keys and values of each that are there already */
    bool logits;    /* of the last token of each */
    bool likeliest; /* … of which only the largest is wanted */
};

/* Sequences of ids that jump about in the vocabulary, and their sources where the model has such;
 * NULL with `err`. */
struct text *task_texts(const struct pass_size *size, const struct config *config,
                        struct arena *arena, struct err *err);

/* One pass over them that keeps sites of all layers, in memory of the subject's. `seconds` is its
 * own, without what was prepared. */
int bench_pass(struct capture *capture, struct bench_subject *subject, const struct pass_size *size,
               uint64_t sites, double *seconds, struct err *err);

/* Every product of the pass. With weights [in, out] a row takes 2 · in · out operations; scores and
 * context take 2 · (d_k + d_v) for each head, query and key that the query sees. Each weight and
 * each cached key and value is read once, a weight as it is held (weights_number_bytes), the others
 * as the precision says; the weights of the logits as bytes where only the largest is wanted
 * (argmax.h). A source is as long as its sentence. Left out, as small: embeddings, norms, softmax,
 * activation, and what the pass writes and reads again. */
struct work {
    double operations; /* floating-point: a multiply-add is two */
    double bytes;      /* read from memory */
};

struct work work_of_pass(const struct config *config, const struct pass_size *size,
                         size_t weight_bytes, enum precision precision);

/* The multiply-adds of attention alone over a text, in all layers and heads, by the config's
 * mechanism: d_k + d_v for every pair of a query and a key that it sees; of linear attention
 * d_k · d_v for every key, and again for every query. */
int work_of_attention(double *products, const struct config *config, size_t tokens,
                      struct err *err);

/* --- tasks ------------------------------------------------------------------------------------ */

enum task_kind {
    TASK_OPEN,
    TASK_PREFILL,
    TASK_IN_PLACE,
    TASK_CAPTURE,
    TASK_DECODE,
    TASK_GREEDY,
    TASK_BATCH,
    TASK_KINDS,
};

enum { TASKS_ALL = (1 << TASK_KINDS) - 1 };

struct task {
    enum task_kind kind;
    struct pass_size size;
    enum precision precision;
};

/* In the order in which they are measured; what is there for each length stands together. */
extern const struct task_row {
    const char *name;
    const char *about;
    bool by_length;        /* one for each length of text that is asked for */
    bool in_bf16;          /* where bf16 is asked for it is measured with that, too */
    struct pass_size size; /* of those that are not */
    int (*run)(const struct task *task, struct bench_subject *subject, double *seconds,
               struct err *err);
} task_rows[TASK_KINDS];

/* Can it be done with such a model? (A text grows where attention is causal and there are logits.)
 */
bool task_suits(enum task_kind kind, const struct config *config);

/* Do it once and tell how long it took, without what has to be prepared and put away around it. */
int task_run(const struct task *task, struct bench_subject *subject, double *seconds,
             struct err *err);

/* Refuse, as wrong usage, texts of more tokens than the model has positions. */
int bench_check_lengths(const size_t *lengths, size_t count, const struct config *config,
                        struct err *err);

struct task_choice {
    uint32_t kinds;        /* one bit each */
    const size_t *lengths; /* of texts, in tokens; NULL: 6, 64, 256 and 1024, up to the context */
    size_t length_count;
    enum precision precision; /* bf16: what can be measured with that is, beside float32 */
};

struct task_list {
    struct task *items;
    size_t count;
};

/* In the order of the table, length after length; bf16 after the same in float32; without what does
 * not suit the model. Refused as wrong usage: what bench_check_lengths refuses. */
int task_list_make(struct task_list *list, const struct task_choice *choice,
                   const struct config *config, struct arena *arena, struct err *err);

/* --- limits of the machine, each measured in a few milliseconds ------------------------------- */

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

/* The same of one kernel (kernel.h) as products of packed weights call it, its operands in a cache:
 * what is left of the limits above where memory is no matter. */
struct peak_kernel {
    struct kernel kernel;
    uint32_t *weights, *inputs; /* floats, or pairs of bf16 */
    float *sums;                /* of each thread its own */
};

int peak_kernel_init(struct peak_kernel *peak, size_t threads, struct arena *arena,
                     struct err *err);
double peak_kernel(struct pool *pool, struct kernels *kernels, struct peak_kernel *peak,
                   enum precision precision);

/* More memory than the caches hold; and bytes a second that all threads together read from it. */
struct peak_memory {
    float *data;
    size_t size_bytes;
    size_t cache_bytes; /* the last level of the caches */
    size_t next_byte;   /* where it is read next */
};

int peak_memory_init(struct peak_memory *memory, struct arena *arena, struct err *err);
double peak_read(struct pool *pool, struct peak_memory *memory);

/* --- the benchmark ---------------------------------------------------------------------------- */

struct bench_plan {
    const struct folder *folder; /* the model's; its path names it */
    size_t threads;              /* 0: one a processor */
    size_t rounds;
    struct task_choice choice;
    bool no_amx;
    const char *version;                  /* of the program: the report has it */
    const struct progress_sink *progress; /* told what comes next; or NULL */
};

/* The limits of the machine, in operations and bytes a second. */
struct bench_limits {
    size_t threads;
    double fma[FMA_FORMS]; /* 0: this processor does not have it */
    double read;
    double kernel[PRECISIONS]; /* 0: it was not asked for */
};

/* A measurement, or the median of several. */
struct bench_sample {
    double seconds;
    double of_compute; /* the share of the multiply-adds that the machine can do */
    double of_kernel;  /* the same of what one kernel does in a cache, in the task's precision */
    double of_memory;  /* the same of what memory gives; 0 where the weights fit the caches */
    double over;       /* in-place, capture: prefill of the same length takes 1; else 0 */
    double faster;     /* bf16: so many times as fast as float32; else 0 */
};

struct bench_result {
    struct task task;
    struct work work;
    struct bench_sample median;
    const double *each; /* [rounds] seconds, in their order */
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
    const char *version;
    const char *model;
    size_t parameters;
    const char *kernels;   /* their instruction set */
    const char *pairs;     /* what multiplies in bf16; NULL: that is not asked for */
    const char *processor; /* "" where the system does not say */
    size_t rounds;
    struct bench_limits alone, together; /* one thread; all of them */
    const struct bench_result *results;  /* [result_count] */
    size_t result_count;
    struct deviation deviation; /* of bf16 from float32; no tokens where nothing is in bf16 */
    const struct bench_compared *compared; /* with an earlier one (bench_compare.h); or NULL */
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

enum { BENCH_ROUNDS_MAX = 1000 };

/* That object, read again, without its deviation; its texts and rows are the arena's. The second
 * reads a file, whose path errors begin with. */
int bench_json_parse(struct bench_report *report, const char *bytes, size_t size,
                     struct arena *arena, struct err *err);
int bench_json_read(struct bench_report *report, const char *path, struct arena *arena,
                    struct err *err);

#endif
