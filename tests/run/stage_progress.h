/* stage_progress.h: progress of a test program, which tests/run/run.sh shows on a terminal.
 *
 *     tell_progress(done, total);      total 0: unknown
 *
 * Writes to the file that ATTN_TEST_PROGRESS names, if it is set, at most ten times a second and at
 * the end.
 */
#pragma once

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
