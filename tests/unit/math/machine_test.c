#include "math/machine.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../rigs/starve.h"
#include "../unit.h"
#include "base/platform.h"

enum { ROUNDS_MAX = 5000 };

static const double much_work = 1e9;

/* Counts by the rounds of a loop. */
struct trace {
    atomic_int runs[ROUNDS_MAX]; /* of each round */
    atomic_int foreign_rounds;   /* run by other threads than the caller */
    atomic_size_t highest_thread;
    pthread_t caller;
};

static void leave_trace(void *context, size_t round, size_t thread)
{
    struct trace *trace = context;
    atomic_fetch_add(&trace->runs[round], 1);
    if (!pthread_equal(pthread_self(), trace->caller))
        atomic_fetch_add(&trace->foreign_rounds, 1);
    size_t highest = atomic_load(&trace->highest_thread);
    while (thread > highest)
        if (atomic_compare_exchange_weak(&trace->highest_thread, &highest, thread))
            break;
}

static struct pool *opened(size_t threads)
{
    struct pool *pool = NULL;
    struct err err = {0};
    ck_assert_msg(!pool_open(&pool, threads, &err), "%s", err.text);
    return pool;
}

static void run(struct pool *pool, size_t rounds, double work, struct trace *trace)
{
    *trace = (struct trace){.caller = pthread_self()};
    pool_run(pool, (struct loop){.rounds = rounds, .work = work, .round = leave_trace}, trace);
}

TEST(every_round_is_run_exactly_once)
{
    static const size_t thread_counts[] = {1, 2, 3, 8, 64};
    static const size_t round_counts[] = {0, 1, 2, 3, 7, 100, ROUNDS_MAX};
    static struct trace trace;
    for (size_t t = 0; t < COUNT(thread_counts); t++) {
        struct pool *pool = opened(thread_counts[t]);
        ck_assert_uint_eq(pool_threads(pool), thread_counts[t]);
        for (size_t i = 0; i < COUNT(round_counts); i++) {
            run(pool, round_counts[i], much_work, &trace);
            for (size_t round = 0; round < ROUNDS_MAX; round++)
                ck_assert_int_eq(trace.runs[round], round < round_counts[i]);
            ck_assert_uint_lt(trace.highest_thread, thread_counts[t]);
        }
        pool_free(pool);
    }
}

TEST(no_round_of_many_loops_is_lost)
{
    static struct trace trace;
    struct pool *pool = opened(3);
    trace.caller = pthread_self();
    for (int loop = 0; loop < 2000; loop++)
        pool_run(pool, (struct loop){.rounds = 5, .work = much_work, .round = leave_trace}, &trace);
    for (size_t round = 0; round < 5; round++)
        ck_assert_int_eq(trace.runs[round], 2000);
    pool_free(pool);
}

/* Two rounds wait for each other, so they end only if two threads run them. */
static void meet(void *context, size_t round, size_t thread)
{
    (void)round, (void)thread;
    pthread_barrier_wait(context);
}

TEST(rounds_run_in_parallel)
{
    pthread_barrier_t barrier;
    struct pool *pool = opened(2);
    pthread_barrier_init(&barrier, NULL, 2);
    pool_run(pool, (struct loop){.rounds = 2, .work = much_work, .round = meet}, &barrier);
    pthread_barrier_destroy(&barrier);
    pool_free(pool);
}

TEST(little_work_is_done_by_the_caller)
{
    static struct trace trace;
    struct pool *pool = opened(4);
    run(pool, 1000, 1000, &trace);
    ck_assert_int_eq(trace.foreign_rounds, 0);
    ck_assert_uint_eq(trace.highest_thread, 0);
    pool_free(pool);
}

TEST(a_pool_of_one_starts_no_thread)
{
    static struct trace trace;
    struct pool *pool = opened(1);
    run(pool, 1000, much_work, &trace);
    ck_assert_int_eq(trace.foreign_rounds, 0);
    pool_free(pool);
}

TEST(a_pool_that_was_never_used_is_freed)
{
    pool_free(opened(POOL_THREADS_MAX));
    pool_free(NULL);
}

#if !defined(__SANITIZE_ADDRESS__)
static size_t address_space(void)
{
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%zu", &pages), 1);
    ck_assert_int_eq(fclose(file), 0);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* valgrind needs more of the address space */
TEST_IF(a_pool_works_without_threads_that_cannot_be_started, !getenv("ATTN_UNIT_FEW"))
{
    static struct trace trace;
    struct pool *pool = opened(16);
    rlim_t limit = address_space() + 64 * 1024; /* no room for another stack */
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &(struct rlimit){limit, limit}), 0);
    run(pool, 1000, much_work, &trace);
    for (size_t round = 0; round < 1000; round++)
        ck_assert_int_eq(trace.runs[round], 1);
    ck_assert_uint_eq(pool_threads(pool), 1);
    pool_free(pool);
}
#endif

TEST(the_processors_are_counted)
{
    ck_assert_uint_ge(platform_processors(), 1);
    ck_assert_uint_le(platform_processors(), (size_t)sysconf(_SC_NPROCESSORS_CONF));
}

TEST(a_pool_without_memory_is_an_error)
{
    struct starve starve = {.least = 2};
    while (starve_next(&starve)) {
        struct pool *pool = NULL;
        struct err err = {0};
        if (starve_check(&starve, pool_open(&pool, 4, &err), &err))
            ck_assert_ptr_null(pool);
        pool_free(pool);
    }
}

/* --- the machine ------------------------------------------------------------------------------ */

TEST(a_machine_has_the_requested_number_of_threads)
{
    static const size_t threads[] = {1, 2, 7, POOL_THREADS_MAX};
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        struct machine machine;
        ck_assert_int_eq(machine_open(&machine, threads[i], NULL), 0);
        ck_assert_uint_eq(pool_threads(machine.pool), threads[i]);
        machine_release(&machine);
    }
}

TEST(the_default_is_one_thread_for_each_processor)
{
    struct machine machine;
    ck_assert_int_eq(machine_open(&machine, 0, NULL), 0);
    ck_assert_uint_eq(pool_threads(machine.pool), platform_processors());
    machine_release(&machine);
}

TEST(releasing_twice_or_nothing_is_harmless)
{
    struct machine machine = {0};
    machine_release(&machine);
    ck_assert_int_eq(machine_open(&machine, 1, NULL), 0);
    machine_release(&machine);
    machine_release(&machine);
    ck_assert_ptr_null(machine.pool);
    ck_assert_ptr_null(machine.kernels);
}

TEST(without_memory_everything_is_released)
{
    struct starve starve = {.least = 3};
    while (starve_next(&starve)) {
        struct machine machine;
        struct err err = {0};
        if (!starve_check(&starve, machine_open(&machine, 3, &err), &err))
            machine_release(&machine);
        ck_assert_ptr_null(machine.pool);
        ck_assert_ptr_null(machine.kernels);
    }
}
