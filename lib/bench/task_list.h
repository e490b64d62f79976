/* task_list.h: which things are measured, and in which order. */
#ifndef ATTN_BENCH_TASK_LIST_H
#define ATTN_BENCH_TASK_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "bench/task.h"
#include "model/config.h"

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
 * length; what is measured in bf16 stands behind the same in float32. What does not suit the model
 * is left out. Refused as wrong usage: a length of more tokens than the model has positions. */
int task_list_make(struct task_list *list, const struct task_choice *choice,
                   const struct config *config, struct arena *arena, struct err *err);

#endif
