/* lacks.h: POSIX functions that WASI lacks, for a system without links and signals and with one
 * thread; build.sh includes it before all other code. It also defines fmaf, for which WebAssembly
 * has no instruction, in plain arithmetic that gives the same bits and that compilers can
 * vectorise. The functions of portable_math.h, which are computed one at a time, use a version with
 * a rarely taken branch. */
#pragma once

#include <__typedef_sigset_t.h>
#include <stddef.h>

#include "live/wasi/fuse.h"

#define fmaf fuse_one
#include "math/portable_math.h"
#undef fmaf
#define fmaf soft_fmaf

#define F_DUPFD_CLOEXEC 1030 /* Linux's number; WASI's fcntl refuses it */

static inline char *realpath(const char *path, char *resolved)
{
    (void)path, (void)resolved;
    return NULL;
}

static inline int madvise(void *memory, size_t size, int advice)
{
    (void)memory, (void)size, (void)advice;
    return 0;
}

#define sigfillset(set) ((void)(set))
#define sigdelset(set, signal) ((void)(signal))
#define pthread_sigmask(how, set, before) ((void)(set), (void)(before))
