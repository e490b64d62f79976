/* progress.h: how far a command is, on a terminal: a line on standard error that appears after a
 * second and goes when all is done. Nothing with --quiet, in a pipe or a file.
 *
 *     4000 of 10000 items, 812/s, 7 s left, 2 failed
 *
 *     progress_begin(&progress, "items");
 *     progress_show(&progress, done, count, NULL);             (as often as one likes)
 *     progress_end(&progress);                                 (before results are written)
 */
#ifndef ATTN_CMD_PROGRESS_H
#define ATTN_CMD_PROGRESS_H

#include "base/err.h"
#include "base/progress_sink.h"

struct progress {
    bool shows;
    const char *things; /* what is counted; NULL: steps that say nothing to people */
    size_t before;      /* that were done by another process: they say nothing of speed */
    double begin, shown;
    struct progress_sink sink; /* for who does the work: shows it here */
};

/* --quiet, of the command that runs: neither progress nor notes. */
void progress_set_quiet(bool quiet);
bool progress_is_quiet(void);

void progress_begin(struct progress *progress, const char *things);

/* For a command that writes results to `output` (NULL or "-": standard output) all the while: in a
 * terminal or a pipe they show by themselves how far it is. */
void progress_begin_beside(struct progress *progress, const char *output, const char *things);

/* Show how far it is, when it is time; `note` says more, NULL: nothing. */
void progress_show(struct progress *progress, size_t done, size_t count, const char *note);

/* 48 s, 3 min 20 s, 2 h 5 min */
enum { PROGRESS_TIME_BYTES = 64 };
const char *progress_time(char text[PROGRESS_TIME_BYTES], double seconds);

/* Take the line away. */
void progress_end(struct progress *progress);

/* Take away whatever stands there, in a handler of signals, too: before a message, or the end. */
void progress_wipe(void);

#endif
