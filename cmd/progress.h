/* progress.h: a progress line on standard error. It appears after a second, if standard error is a
 * terminal and --quiet is not given, and is removed at the end.
 *
 *     4000 of 10000 items, 812/s, 7 s left, 2 failed
 *
 *     progress_begin(&progress, "items");
 *     progress_show(&progress, done, count, NULL);             (as often as you like)
 *     progress_end(&progress);                                 (before results are written)
 */
#pragma once

#include "base/err.h"
#include "base/progress_sink.h"

struct progress {
    bool shows;
    const char *things; /* unit of the count; NULL: a percentage is shown */
    size_t before;      /* how many things an earlier process has done; not part of the speed */
    double begin, shown;
    struct progress_sink sink; /* passes progress of library functions to this line */
};

/* With --quiet, neither progress nor notes are printed. */
void progress_set_quiet(bool quiet);
bool progress_is_quiet(void);

void progress_begin(struct progress *progress, const char *things);

/* Update the line if a tenth of a second has passed. `note` is appended unless it is NULL. */
void progress_show(struct progress *progress, size_t done, size_t count, const char *note);

/* progress_end removes the line for good. progress_say writes to standard error in place of the
 * line, until the next progress_show, and is safe in a signal handler. */
void progress_end(struct progress *progress);
void progress_say(const char *bytes, size_t size);
