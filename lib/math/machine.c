#include "math/machine.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/memory.h"
#include "base/num.h"
#include "base/platform.h"
#include "math/tensor.h"

/* --- threads ---------------------------------------------------------------------------------- */

static const double work_worth_threads = 500e3; /* multiply-adds in about 10 µs, the time to wake a
                                                 * thread */

/* Iterations of a thread's waiting loop before the thread sleeps: about 100 µs, longer than most
 * times between two loops of a pass. Waking a thread takes 10 µs. */
enum { SPINS = 8000 };

struct worker {
    struct pool *pool;
    pthread_t thread;
    size_t index;
    int started_from; /* the processor of the thread that started the worker */
};

/* The rounds of a thread: adjacent rounds, in order, because they read adjacent memory. A thread
 * that has finished its own rounds runs rounds of other threads. */
struct share {
    atomic_size_t next;
    size_t end;
    char apart[112]; /* keeps shares two cache lines apart: processors fetch pairs of lines */
};

struct pool {
    size_t threads;
    size_t started; /* number of running workers, not counting the caller's thread */
    struct worker *workers;
    struct loop loop;
    void *context;
    struct share *shares;     /* [threads] the rounds of each thread */
    atomic_size_t generation; /* incremented for every loop, and when the pool is freed */
    atomic_size_t busy;       /* workers that have not finished this loop */
    atomic_bool closing;
    pthread_mutex_t mutex; /* for threads that sleep until `generation` or `busy` changes */
    pthread_cond_t wake, done;
};

int pool_open(struct pool **pool, size_t threads, struct err *err)
{
    if (threads > POOL_THREADS_MAX)
        return err_usage(err, "threads: expected at most %d, found %zu", POOL_THREADS_MAX, threads);
    struct pool *opened = heap_alloc(1, sizeof *opened, err);
    if (!opened)
        return -1;
    opened->threads = threads;
    opened->workers = heap_alloc(threads, sizeof *opened->workers, err);
    opened->shares = heap_alloc(threads, sizeof *opened->shares, err);
    if (!opened->workers || !opened->shares) {
        heap_free(opened->workers);
        heap_free(opened->shares);
        heap_free(opened);
        return -1;
    }
    pthread_mutex_init(&opened->mutex, NULL);
    pthread_cond_init(&opened->wake, NULL);
    pthread_cond_init(&opened->done, NULL);
    *pool = opened;
    return 0;
}

size_t pool_threads(const struct pool *pool)
{
    return pool->threads;
}

static void take_rounds(struct pool *pool, size_t thread)
{
    for (size_t i = 0; i < pool->threads; i++) {
        struct share *share = &pool->shares[(thread + i) % pool->threads];
        size_t round = 0;
        while ((round = atomic_fetch_add_explicit(&share->next, 1, memory_order_relaxed)) <
               share->end)
            pool->loop.round(pool->context, round, thread);
    }
}

static inline void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Wait for the next loop: spin for a moment, then sleep. Returns the new generation. */
static size_t await_loop(struct pool *pool, size_t seen)
{
    for (int i = 0; i < SPINS && atomic_load(&pool->generation) == seen; i++)
        pause_briefly();
    if (atomic_load(&pool->generation) != seen)
        return atomic_load(&pool->generation);
    pthread_mutex_lock(&pool->mutex);
    while (atomic_load(&pool->generation) == seen)
        pthread_cond_wait(&pool->wake, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
    return atomic_load(&pool->generation);
}

/* Tell the workers that there is a new loop, or that the pool is closing; wakes sleeping
 * workers. */
static void announce(struct pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->generation, 1);
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct pool *pool = worker->pool;
    size_t seen = 0;
    /* Some systems wake a thread on the processor of the thread that wakes it, and leave both there
     * for tens of milliseconds while others idle; a thread that has run on another processor is
     * woken on that processor. */
    platform_step_aside(worker->started_from, worker->index);
    for (;;) {
        seen = await_loop(pool, seen);
        if (atomic_load(&pool->closing))
            break;
        take_rounds(pool, worker->index);
        if (atomic_fetch_sub(&pool->busy, 1) != 1)
            continue;
        pthread_mutex_lock(&pool->mutex); /* the last worker wakes the caller */
        pthread_cond_signal(&pool->done);
        pthread_mutex_unlock(&pool->mutex);
    }
    return NULL;
}

/* Start the workers. If the system refuses a thread, loops run with fewer threads. Workers block
 * all signals except those that a thread causes itself: faults, and a write to a closed pipe. Other
 * signals thus go to the thread that runs the pool, and wait while that thread blocks them. */
static void start_workers(struct pool *pool)
{
    static const int own[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGPIPE};
    sigset_t before, blocked;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    while (pool->started + 1 < pool->threads) {
        struct worker *worker = &pool->workers[pool->started];
        *worker =
            (struct worker){pool, .index = pool->started + 1, .started_from = platform_processor()};
        if (pthread_create(&worker->thread, NULL, work, worker))
            pool->threads = pool->started + 1;
        else
            pool->started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void pool_run(struct pool *pool, struct loop loop, void *context)
{
    if (pool->threads == 1 || loop.rounds < 2 || loop.work < work_worth_threads) {
        for (size_t round = 0; round < loop.rounds; round++)
            loop.round(context, round, 0);
        return;
    }
    start_workers(pool);
    pool->loop = loop;
    pool->context = context;
    for (size_t t = 0; t < pool->threads; t++) {
        atomic_store(&pool->shares[t].next, loop.rounds * t / pool->threads);
        pool->shares[t].end = loop.rounds * (t + 1) / pool->threads;
    }
    atomic_store(&pool->busy, pool->started);
    announce(pool);
    take_rounds(pool, 0);
    for (int i = 0; i < SPINS && atomic_load(&pool->busy) > 0; i++)
        pause_briefly();
    pthread_mutex_lock(&pool->mutex);
    while (atomic_load(&pool->busy) > 0)
        pthread_cond_wait(&pool->done, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}

void pool_free(struct pool *pool)
{
    if (!pool)
        return;
    atomic_store(&pool->closing, true);
    announce(pool);
    for (size_t i = 0; i < pool->started; i++)
        pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_cond_destroy(&pool->done);
    pthread_mutex_destroy(&pool->mutex);
    heap_free(pool->workers);
    heap_free(pool->shares);
    heap_free(pool);
}

/* --- the machine ------------------------------------------------------------------------------ */

int machine_open(struct machine *machine, size_t threads, struct err *err)
{
    *machine = (struct machine){0};
    threads = threads ? threads : num_min(platform_processors(), POOL_THREADS_MAX);
    bool failed =
        pool_open(&machine->pool, threads, err) || kernels_open(&machine->kernels, err) ||
        !(machine->buffers = arena_alloc(&machine->arena, threads, sizeof *machine->buffers, err));
    for (size_t t = 0; t < threads && !failed; t++) {
        float *sums = arena_alloc(&machine->arena, 3 * (size_t)SUMS_ROOM, sizeof *sums, err);
        failed = !sums;
        if (sums)
            machine->buffers[t] =
                (struct thread_buffers){sums, sums + SUMS_ROOM, sums + 2 * SUMS_ROOM};
    }
    if (failed)
        machine_release(machine);
    return err_if(failed);
}

void machine_release(struct machine *machine)
{
    pool_free(machine->pool);
    kernels_free(machine->kernels);
    heap_free(machine->rounded);
    arena_release(&machine->arena);
    *machine = (struct machine){0};
}

int machine_hold_rounded(struct machine *machine, size_t rows, size_t columns, struct err *err)
{
    size_t size = rows * matrix_stride(columns);
    if (size <= machine->rounded_size)
        return 0;
    float *rounded = heap_alloc(size, sizeof *rounded, err);
    if (!rounded)
        return -1;
    heap_free(machine->rounded);
    machine->rounded = rounded;
    machine->rounded_size = size;
    return 0;
}
