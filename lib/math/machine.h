/* machine.h: what products run on: threads, kernels and memory to work in.
 *
 * A pool's threads share the rounds of a loop, which a counter hands out; no result depends on
 * which thread runs a round. Threads start at the first loop that is worth them.
 *
 *     if (machine_open(&machine, 2, err)) ...
 *     pool_run(machine.pool, (struct loop){.rounds = panels, .work = flops, .round = f}, &panels);
 *     machine_release(&machine);
 */
#ifndef ATTN_MATH_MACHINE_H
#define ATTN_MATH_MACHINE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/progress_sink.h"
#include "math/kernel.h"

/* --- threads ---------------------------------------------------------------------------------- */

enum { POOL_THREADS_MAX = 256 };

struct pool;

struct loop {
    size_t rounds;
    double work; /* multiply-adds of all rounds, roughly: little work stays on one thread */
    void (*round)(void *context, size_t round, size_t thread); /* thread: 0 … threads - 1 */
};

/* A pool of `threads` threads, POOL_THREADS_MAX at most, including the caller's. */
int pool_open(struct pool **pool, size_t threads, struct err *err);
void pool_free(struct pool *pool);

size_t pool_threads(const struct pool *pool);

/* Run all rounds; returns when the last one is done. Called by one thread at a time. */
void pool_run(struct pool *pool, struct loop loop, void *context);

/* The processors that this process may use. */
size_t pool_processors(void);

/* --- the machine ------------------------------------------------------------------------------ */

enum {
    COPY_COLUMNS = 64,               /* of a panel that is copied for one use, */
    PANEL_ROWS = 512,                /* and its rows at most */
    SUMS_ROOM = 1024 * COPY_COLUMNS, /* for as many sums, or numbers that they are made of */
};

struct machine {
    struct pool *pool;
    struct kernels *kernels;
    float **panels;   /* [thread][SUMS_ROOM] for a panel that is copied, or a row that is widened */
    float **sums;     /* [thread][SUMS_ROOM] for what a product makes of those, at most */
    float **segments; /* [thread][SUMS_ROOM] for the same of one segment (gemm.h) */
    float *rounded;   /* [rounded_size] for a matrix that is rounded; see machine_hold_rounded */
    size_t rounded_size;
    bool whole_sums; /* of many rows, no segments (gemm.h): the order that trained models/tiny */
    const struct progress_sink *progress; /* of the layers of a pass; NULL: not told */
    struct arena arena;
};

/* `threads` 0: as many as there are processors. */
int machine_open(struct machine *machine, size_t threads, struct err *err);
void machine_release(struct machine *machine);

/* Hold memory for x [rows, columns] of products in bf16, which is rounded into it (gemm.h). */
int machine_hold_rounded(struct machine *machine, size_t rows, size_t columns, struct err *err);

#endif
