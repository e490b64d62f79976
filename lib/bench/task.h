/* task.h: the things that are measured, each done once on demand; which of them are; and the least
 * that a pass must do, counted from the model's numbers: what takes longer does so for reasons of
 * its own.
 *
 *     struct task task = {TASK_PREFILL, {.sequences = 1, .tokens = 64}};
 *     if (bench_subject_open(&subject, folder, threads, err) ||
 *         task_run(&task, &subject, &seconds, err)) ...
 *     struct work work = work_of_pass(&config, &task.size, PRECISION_FP32);
 *     double share = work.operations / peak / seconds;
 *     bench_subject_release(&subject);
 */
#ifndef ATTN_BENCH_TASK_H
#define ATTN_BENCH_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/folder.h"
#include "lens/capture.h"
#include "math/machine.h"
#include "math/precision.h"
#include "model/model.h"

struct bench_subject {
    const struct folder *folder;
    struct model model;
    struct machine machine;
    struct arena scratch, kept; /* a pass's, and what it leaves; the next pass has their memory */
};

/* Open the model of a folder, which must outlive it, on `threads` threads (0: one a processor).
 * `subject` must not move while it is open. On failure nothing is held. */
int bench_subject_open(struct bench_subject *subject, const struct folder *folder, size_t threads,
                       struct err *err);
void bench_subject_release(struct bench_subject *subject);

struct pass_size {
    size_t sequences; /* 0: it is no pass */
    size_t tokens;    /* of each sequence */
    size_t cached;    /* keys and values of each that are there already */
    bool logits;      /* of the last token of each */
    bool likeliest;   /* … of which only the largest is wanted */
};

/* Sequences of ids that jump about in the vocabulary, and their sources where the model has such;
 * NULL with `err`. */
struct sequence *task_sequences(const struct pass_size *size, const struct config *config,
                                struct arena *arena, struct err *err);

/* One pass over them that keeps sites of all layers, in memory of the subject's. `seconds` is its
 * own, without what was prepared. */
int bench_pass(struct capture *capture, struct bench_subject *subject, const struct pass_size *size,
               uint64_t sites, double *seconds, struct err *err);

/* Every product of the pass. With weights [in, out] a row takes 2 · in · out operations; scores and
 * context take 2 · (d_k + d_v) for each head, query and key that the query sees. Each weight and
 * each cached key and value is read once, as float32 or bf16; the weights of the logits as bytes
 * where only the largest is wanted (argmax.h). A source is as long as its sentence. Left out, as
 * small: embeddings, norms, softmax, activation, and what the pass writes and reads again. */
struct work {
    double operations; /* floating-point: a multiply-add is two */
    double bytes;      /* read from memory */
};

struct work work_of_pass(const struct config *config, const struct pass_size *size,
                         enum precision precision);

/* The multiply-adds of attention alone over a text, in all layers and heads, by the config's
 * mechanism: d_k + d_v for every pair of a query and a key that it sees; of linear attention
 * d_k · d_v for every key, and again for every query. */
int work_of_attention(double *products, const struct config *config, size_t tokens,
                      struct err *err);

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

#endif
