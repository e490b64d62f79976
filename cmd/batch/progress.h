/* progress.h: how far a batch is, on standard error: a bar on a terminal, a line every few seconds
 * elsewhere, nothing with --quiet.
 *
 *     [########............] 4000 of 10000, 812/s, 7 s left, 2 failed
 */
#ifndef ATTN_CMD_PROGRESS_H
#define ATTN_CMD_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

struct progress {
    bool silent;
    bool terminal;
    size_t count;  /* of all jobs */
    size_t before; /* that were done by another process: they say nothing of speed */
    double begin, shown;
};

void progress_begin(struct progress *progress, size_t count, size_t before, bool silent);

/* Show how far it is, when it is time. */
void progress_show(struct progress *progress, size_t done, size_t failed);

/* Take the bar away. */
void progress_end(struct progress *progress);

#endif
