/* progress.h: a line on a terminal's standard error that shows how far a command is. It appears
 * after a second and is removed at the end. Nothing with --quiet, in a pipe or a file.
 *
 *     4000 of 10000 items, 812/s, 7 s left, 2 failed
 *
 *     progress_begin(&progress, "items");
 *     progress_show(&progress, done, count, NULL);             (as often as you like)
 *     progress_end(&progress);                                 (before results are written)
 */
#ifndef ATTN_CMD_PROGRESS_H
#define ATTN_CMD_PROGRESS_H

#include "base/err.h"
#include "base/progress_sink.h"

struct progress {
    bool shows;
    const char *things; /* what is counted; NULL: shown as a percentage */
    size_t before;      /* done by another process, left out of the speed */
    double begin, shown;
    struct progress_sink sink; /* for library functions: shows their progress here */
};

/* --quiet: neither progress nor notes. */
void progress_set_quiet(bool quiet);
bool progress_is_quiet(void);

void progress_begin(struct progress *progress, const char *things);

/* Show the state, if it is time; `note` is appended, NULL: nothing. */
void progress_show(struct progress *progress, size_t done, size_t count, const char *note);

/* Remove the line, which does not come back after progress_end. The third writes to standard error
 * in its place, also in a signal handler. */
void progress_end(struct progress *progress);
void progress_wipe(void);
void progress_say(const char *bytes, size_t size);

#endif
