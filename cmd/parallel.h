/* parallel.h: steps that one thread reads and writes in order, while several threads work on those
 * in between.
 *
 *     struct parallel parallel = {.threads = 2, .slots = 4, .context = &mine,
 *                                 .read = read, .work = work, .write = write};
 *     if (parallel_run(&parallel, err)) ...
 *
 * The calling thread reads and writes, and works when there is neither to do. A step occupies one
 * of `slots` from its read to its write: memory does not grow with the number of steps. With one
 * slot each step is read, worked on and written before the next.
 */
#ifndef ATTN_CMD_PARALLEL_H
#define ATTN_CMD_PARALLEL_H

#include "base/err.h"

enum { PARALLEL_THREADS_MAX = 256, PARALLEL_SLOTS_MAX = 2 * PARALLEL_THREADS_MAX };

struct parallel {
    size_t threads, slots; /* the caller included */
    void *context;

    /* Read the next step into a slot; *more false: there was none. */
    int (*read)(void *context, size_t slot, bool *more, struct err *err);

    /* Called for several slots at the same time, by threads 0 (the caller) to threads - 1. A
     * failure is kept in the slot, for `write` to return. */
    void (*work)(void *context, size_t slot, size_t thread);

    int (*write)(void *context, size_t slot, struct err *err);
};

/* Run all steps, or up to the first that cannot be read or written. If the system refuses a thread
 * there are fewer. */
int parallel_run(const struct parallel *parallel, struct err *err);

#endif
