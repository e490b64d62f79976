/* task.h: the things that are measured, each done once on demand, and which of them are.
 *
 *     struct task task = {TASK_PREFILL, {.texts = 1, .tokens = 64}};
 *     if (bench_subject_open(&subject, folder, threads, err) ||
 *         task_run(&task, &subject, &seconds, err)) ...
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
#include "bench/work.h"
#include "math/machine.h"
#include "math/precision.h"
#include "model/model.h"

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

struct bench_subject {
    const struct folder *folder;
    struct model model;
    struct machine machine;
    struct arena scratch, kept; /* a pass's, and what it leaves; the next pass has their memory */
};

struct task {
    enum task_kind kind;
    struct pass_size size; /* 0 texts: it is no pass */
    enum precision precision;
};

struct task_row {
    const char *name;
    const char *about;
    bool by_length;        /* one for each length of text that is asked for */
    bool in_bf16;          /* where bf16 is asked for it is measured with that, too */
    struct pass_size size; /* of those that are not */
    int (*run)(const struct task *task, struct bench_subject *subject, double *seconds,
               struct err *err);
};

/* In the order in which they are measured; what is there for each length stands together. */
extern const struct task_row task_rows[TASK_KINDS];

/* Can it be done with such a model? (A text grows where attention is causal and there are logits.)
 */
bool task_suits(enum task_kind kind, const struct config *config);

/* Open the model of a folder, which must outlive it, on `threads` threads (0: one a processor).
 * `subject` must not move while it is open. On failure nothing is held. */
int bench_subject_open(struct bench_subject *subject, const struct folder *folder, size_t threads,
                       struct err *err);
void bench_subject_release(struct bench_subject *subject);

/* Sequences of ids that jump about in the vocabulary, and their sources where the model has such.
 * NULL with `err`. */
struct text *task_texts(const struct pass_size *size, const struct config *config,
                        struct arena *arena, struct err *err);

/* Do it once and tell how long it took, without what has to be prepared and put away around it. */
int task_run(const struct task *task, struct bench_subject *subject, double *seconds,
             struct err *err);

/* --- which things are measured, and in which order ---------------------------------------------
 */

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

/* In the order of the table; kinds that are there for each length stand side by side, length after
 * length; what is measured in bf16 stands after the same in float32. What does not suit the model
 * is left out. Refused as wrong usage: a length of more tokens than the model has positions. */
int task_list_make(struct task_list *list, const struct task_choice *choice,
                   const struct config *config, struct arena *arena, struct err *err);

#endif
