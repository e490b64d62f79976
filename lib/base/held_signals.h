/* held_signals.h: a few steps that no signal comes between: one that ends the process waits until
 * they are done. Faults of memory do not wait.
 *
 *     sigset_t before;
 *     held_signals_begin(&before);
 *     ... make a folder, note that it is ours ...
 *     held_signals_end(&before);
 */
#ifndef ATTN_BASE_HELD_SIGNALS_H
#define ATTN_BASE_HELD_SIGNALS_H

#include <signal.h>
#include <stddef.h>

static inline void held_signals_begin(sigset_t *before)
{
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGTRAP};
    sigset_t held;
    sigfillset(&held);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&held, faults[i]);
    pthread_sigmask(SIG_BLOCK, &held, before);
}

static inline void held_signals_end(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

#endif
