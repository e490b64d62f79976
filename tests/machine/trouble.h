/* trouble.h: what may be wrong with a machine, and how the program may end then.
 *
 * A trouble comes in steps: a limit that becomes wider, a signal that comes later. It is made
 * before the program starts (arrange), in the process that becomes the program (afflict), or while
 * that runs (disturb).
 *
 *     for (const struct trouble *trouble = trouble_limits; trouble->name; trouble++)
 *         try(trouble);
 */
#ifndef ATTN_TESTS_TROUBLE_H
#define ATTN_TESTS_TROUBLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "scene.h"

/* Statuses as a set. */
enum {
    MAY_SUCCEED = 1 << 0,
    MAY_FAIL_ITEMS = 1 << 1, /* of a batch: one that needs too much is told, and the others go on */
    MAY_REFUSE_INPUT = 1 << 3,
    MAY_REFUSE_OUTPUT = 1 << 5,
};

struct trouble {
    const char *name;
    size_t steps;
    unsigned statuses; /* it may end with one of these, */
    int status_more;   /* or with this one, unless that is 0; */
    int signal;        /* or this signal may end it, unless that is 0 */
    bool to_stdout;    /* the chore prints; else it writes files */
    bool may_leave;    /* temporary files, as nobody was left to remove them */
    bool partly_read;  /* what was printed is not read to its end */

    bool (*is_mute)(const struct scene *scene); /* whether it cannot say a word; NULL: never */

    /* Whether it concerns the chore; NULL: all. Whether it can be made here, else why not. */
    bool (*suits)(const struct scene *scene);
    const char *(*lacks)(const struct scene *scene);

    int (*arrange)(struct scene *scene, struct err *err);
    void (*restore)(struct scene *scene);
    void (*fit_pipe)(struct scene *scene, int writing_end);
    void (*afflict)(const struct scene *scene);
    void (*disturb)(struct scene *scene);

    /* Where the statuses depend on the step. */
    unsigned (*expect)(const struct scene *scene);
};

/* Tables, each up to a row without a name. */
extern const struct trouble trouble_limits[], trouble_places[], trouble_streams[],
    trouble_signals[];

/* A limit by itself. */
extern struct trouble_limit {
    int resource;
    size_t value;
} trouble_limit;
void trouble_limit_plainly(const struct scene *scene);

/* A sanitizer asks for terabytes of addresses, and for a thread that looks for leaks. */
bool trouble_is_sanitized(void);

/* As somebody to whom permissions mean something. */
void trouble_become_nobody(const struct scene *scene);

#endif
