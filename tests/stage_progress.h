/* stage_progress.h: how far a test program has come; tests/run.sh shows it on a terminal.
 *
 *     tell_progress(done, total);      total 0: nobody knows
 *
 * In the file that ATTN_TEST_PROGRESS names, where it does; written anew at most ten times a
 * second, and when all is done.
 */
#ifndef ATTN_TESTS_STAGE_PROGRESS_H
#define ATTN_TESTS_STAGE_PROGRESS_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline void tell_progress(size_t done, size_t total)
{
    static double written;
    struct timespec now;
    const char *path = getenv("ATTN_TEST_PROGRESS");
    clock_gettime(CLOCK_MONOTONIC, &now);
    double seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    if (!path || (seconds < written + 0.1 && done != total))
        return;
    FILE *out = fopen(path, "w");
    if (out) {
        fprintf(out, "%zu %zu\n", done, total);
        fclose(out);
    }
    written = seconds;
}

#endif
