/* machine.h: threads, kernels and buffers for products.
 *
 * Each thread of a pool runs its share of the rounds of a loop, then rounds of other threads; no
 * result depends on which thread runs a round. Threads start at the first loop with enough work.
 *
 *     if (machine_open(&machine, 2, err)) ...
 *     pool_run(machine.pool, (struct loop){.rounds = panels, .work = flops, .round = f}, &panels);
 *     machine_release(&machine);
 */
#pragma once

#include "base/memory.h"
#include "base/progress_sink.h"
#include "math/kernel.h"

/* --- threads ---------------------------------------------------------------------------------- */

enum { POOL_THREADS_MAX = 256 };

struct pool;

struct loop {
    size_t rounds;
    double work; /* approximate number of multiply-adds in all rounds; a loop with little work runs
                  * on one thread */
    void (*round)(void *context, size_t round, size_t thread); /* thread: 0 … threads - 1 */
};

/* Make a pool of `threads` threads, at most POOL_THREADS_MAX, including the caller's thread. */
int pool_open(struct pool **pool, size_t threads, struct err *err);
void pool_free(struct pool *pool);

size_t pool_threads(const struct pool *pool);

/* Run all rounds, and return when all are done. Only one thread may call this at a time. */
void pool_run(struct pool *pool, struct loop loop, void *context);

/* --- the machine ------------------------------------------------------------------------------ */

enum {
    COPY_COLUMNS = 64,               /* columns of a panel that is copied for one use */
    PANEL_ROWS = 512,                /* maximum number of rows of a copied panel */
    SUMS_ROOM = 1024 * COPY_COLUMNS, /* number of floats in each of the thread_buffers */
};

struct thread_buffers {
    float *panel;   /* a panel copied from a weight, or a row converted to floats */
    float *sums;    /* sums of a product, or a row of a weight (argmax.h) */
    float *segment; /* sums of one segment (gemm.h) */
};

struct machine {
    struct pool *pool;
    struct kernels *kernels;
    struct thread_buffers *buffers; /* [thread] buffers for products */
    float *rounded;                 /* [rounded_size] memory for x rounded to bf16, see
                                     * machine_hold_rounded */
    size_t rounded_size;
    bool whole_sums; /* kernels compute each sum as one chain, without segments (gemm.h): set for
                      * training */
    const struct progress_sink *progress; /* counts the layers of a pass; NULL: nothing is
                                           * counted */
    struct arena arena;
};

/* Start a machine with `threads` threads; 0: one for each usable processor. */
int machine_open(struct machine *machine, size_t threads, struct err *err);
void machine_release(struct machine *machine);

/* Allocate enough memory for x [rows, columns] rounded to bf16 (gemm.h), unless the machine has
 * it. */
int machine_hold_rounded(struct machine *machine, size_t rows, size_t columns, struct err *err);
