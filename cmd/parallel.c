#include "parallel.h"

#include <assert.h>
#include <pthread.h>

#include "base/held_signals.h"
#include "base/platform.h"

/* Step n is in slot n % slots. Those before `begun` are done or being worked on. */
struct line {
    const struct parallel *parallel;
    size_t read, begun, written, started;
    bool done[PARALLEL_SLOTS_MAX];
    bool closing;
    int started_from;      /* the caller's processor */
    pthread_mutex_t mutex; /* only the caller changes `read` and `written` */
    pthread_cond_t waiting, finished;
    pthread_t threads[PARALLEL_THREADS_MAX];
};

/* Work on the next step; the mutex is held before and after. */
static void work_once(struct line *line, size_t thread)
{
    const struct parallel *parallel = line->parallel;
    size_t slot = line->begun++ % parallel->slots;
    pthread_mutex_unlock(&line->mutex);
    parallel->work(parallel->context, slot, thread);
    pthread_mutex_lock(&line->mutex);
    line->done[slot] = true;
    pthread_cond_signal(&line->finished);
}

static void *work(void *argument)
{
    struct line *line = argument;
    pthread_mutex_lock(&line->mutex);
    size_t thread = ++line->started;
    platform_step_aside(line->started_from, thread); /* as in lib/math/pool.c */
    for (;;) {
        while (line->begun == line->read && !line->closing)
            pthread_cond_wait(&line->waiting, &line->mutex);
        if (line->closing)
            break;
        work_once(line, thread);
    }
    pthread_mutex_unlock(&line->mutex);
    return NULL;
}

static int read_step(struct line *line, bool *more, struct err *err)
{
    const struct parallel *parallel = line->parallel;
    size_t slot = line->read % parallel->slots;
    if (parallel->read(parallel->context, slot, more, err))
        return -1;
    pthread_mutex_lock(&line->mutex);
    line->done[slot] = false;
    line->read += *more;
    pthread_cond_signal(&line->waiting);
    pthread_mutex_unlock(&line->mutex);
    return 0;
}

/* Write the oldest step once it is done; until then work on others. */
static int write_step(struct line *line, struct err *err)
{
    const struct parallel *parallel = line->parallel;
    size_t slot = line->written % parallel->slots;
    pthread_mutex_lock(&line->mutex);
    while (!line->done[slot])
        if (line->begun < line->read)
            work_once(line, 0);
        else
            pthread_cond_wait(&line->finished, &line->mutex);
    pthread_mutex_unlock(&line->mutex);
    line->written++;
    return parallel->write(parallel->context, slot, err);
}

int parallel_run(const struct parallel *parallel, struct err *err)
{
    struct line line = {.parallel = parallel, .started_from = platform_processor()};
    bool more = true;
    int failed = 0;
    size_t others = 0;
    sigset_t before;
    assert(parallel->threads <= PARALLEL_THREADS_MAX && parallel->slots <= PARALLEL_SLOTS_MAX);
    pthread_mutex_init(&line.mutex, NULL);
    pthread_cond_init(&line.waiting, NULL);
    pthread_cond_init(&line.finished, NULL);
    held_signals_begin(&before); /* signals come to the caller: see held_signals.h */
    while (others + 1 < parallel->threads &&
           !pthread_create(&line.threads[others], NULL, work, &line))
        others++;
    held_signals_end(&before);
    while (!failed && (more || line.written < line.read)) {
        bool has_slot = line.read - line.written < parallel->slots;
        failed = more && has_slot ? read_step(&line, &more, err) : write_step(&line, err);
    }
    pthread_mutex_lock(&line.mutex);
    line.closing = true;
    pthread_cond_broadcast(&line.waiting);
    pthread_mutex_unlock(&line.mutex);
    for (size_t i = 0; i < others; i++)
        pthread_join(line.threads[i], NULL);
    pthread_cond_destroy(&line.finished);
    pthread_cond_destroy(&line.waiting);
    pthread_mutex_destroy(&line.mutex);
    return failed ? -1 : 0;
}
