/* kill_points.h: where a command can be killed: at every system call that names a file there, by
 * strace. Between two of them it changes nothing that has a name.
 *
 *     if (kill_points_are_possible()) ...
 *     run(kill_points_watch);                       the prefix of a shell's command
 *     kill_points_read(&points, "trace", "/tmp/scratch", &err);
 *     kill_points_prefix(prefix, &points.calls[0]);
 *     run(prefix);
 */
#ifndef ATTN_TESTS_KILL_POINTS_H
#define ATTN_TESTS_KILL_POINTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { KILL_POINTS_MAX = 4096, CALL_NAME_BYTES = 24, KILL_PREFIX_BYTES = 256 };

struct kill_points {
    struct kill_point {
        char call[CALL_NAME_BYTES];
        size_t nth; /* such call of the process */
    } calls[KILL_POINTS_MAX];
    size_t count;
};

/* Whether strace is there and may trace. */
bool kill_points_are_possible(void);

/* What goes before a command to have its calls in ../../trace. */
extern const char kill_points_watch[];

/* The calls in a trace that name something below `place`, or by a path without a slash in front. */
int kill_points_read(struct kill_points *points, const char *trace, const char *place,
                     struct err *err);

void kill_points_prefix(char prefix[KILL_PREFIX_BYTES], const struct kill_point *point);

#endif
