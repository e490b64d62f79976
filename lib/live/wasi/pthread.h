/* pthread.h: threads for WASI, which has only one thread. Starting another thread fails, and
 * lib/math/machine.c then runs on one. */
#pragma once

#include <errno.h>
#include <sys/types.h> /* defines the types, such as pthread_t */

#define PTHREAD_ONCE_INIT 0

#define pthread_create(thread, attributes, start, argument) \
    ((void)(start), (void)(argument), EAGAIN)
#define pthread_join(thread, result) ((void)(thread))
#define pthread_mutex_init(mutex, attributes) ((void)(mutex))
#define pthread_mutex_destroy(mutex) ((void)(mutex))
#define pthread_mutex_lock(mutex) ((void)(mutex))
#define pthread_mutex_unlock(mutex) ((void)(mutex))
#define pthread_cond_init(condition, attributes) ((void)(condition))
#define pthread_cond_destroy(condition) ((void)(condition))
#define pthread_cond_wait(condition, mutex) ((void)(condition))
#define pthread_cond_signal(condition) ((void)(condition))
#define pthread_cond_broadcast(condition) ((void)(condition))

static inline int pthread_once(pthread_once_t *once, void (*begin)(void))
{
    if (!*once)
        begin();
    *once = 1;
    return 0;
}
