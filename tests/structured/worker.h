/* worker.h: inputs one after another in a process of its own, which may end at any of them.
 *
 *     struct worker worker = {.kind = kind, .step = 1, .end = 500, .scratch = folder};
 *     worker.counts = shared;
 *     pid_t child = worker_start(&worker);
 *     ... waitpid: counts->at is the input at which it ended ...
 */
#ifndef ATTN_TESTS_WORKER_H
#define ATTN_TESTS_WORKER_H

#include <sys/types.h>

#include "kind.h"

enum {
    LIMIT_SECONDS = 5,   /* of the processor, for an input */
    LIMIT_WAITING = 120, /* seconds by the clock: it waits for something */
    LIMIT_MIB = 2048,
    STATUSES = 6,
};

/* What both processes see. */
struct counts {
    size_t at;                 /* the input that is being tried; behind the last: all are */
    size_t done;               /* inputs … */
    size_t statuses[STATUSES]; /* … and their command lines, by how they ended */
    size_t slowest;
    double slowest_seconds;
};

struct worker {
    const struct kind *kind;
    size_t first, step, end; /* inputs first, first + step, … below end */
    const char *scratch;     /* its own, empty; the log is in it */
    struct counts *counts;
};

/* The process's number; it exits with 0 when it has tried all. */
pid_t worker_start(const struct worker *worker);

/* Try one input in this process, in the working directory, and leave its files there. 0, or -1 when
 * it broke a promise. */
int worker_repeat(const struct kind *kind, size_t number);

#endif
