/* pool.h: a loop whose rounds are shared between threads, handed out by a counter; which thread
 * does which one never changes a result. Threads start at the first loop that is worth them.
 *
 *     if (pool_open(&pool, 2, err)) ...
 *     pool_run(pool, (struct loop){.rounds = panels, .work = flops, .round = one_panel}, &panels);
 *     pool_free(pool);
 */
#ifndef ATTN_MATH_POOL_H
#define ATTN_MATH_POOL_H

#include "base/err.h"

enum { POOL_THREADS_MAX = 256 };

struct pool;

struct loop {
    size_t rounds;
    double work; /* about how many multiply-adds all rounds take: little work stays on one thread */
    void (*round)(void *context, size_t round, size_t thread); /* thread: 0 … threads - 1 */
};

/* A pool of `threads` threads, POOL_THREADS_MAX at most, the caller's included. */
int pool_open(struct pool **pool, size_t threads, struct err *err);
void pool_free(struct pool *pool);

size_t pool_threads(const struct pool *pool);

/* Run all rounds; returns when the last one is done. Called by one thread at a time. */
void pool_run(struct pool *pool, struct loop loop, void *context);

/* The processors this process may use. */
size_t pool_processors(void);

#endif
