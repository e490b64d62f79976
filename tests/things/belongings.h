/* belongings.h: all that lies below a folder, as it is: kinds, modes, owners, bytes, links, times.
 *
 *     struct belongings before = {0};
 *     if (belongings_take(&before, "try", &err)) ...
 *     const struct belonging *thing = belongings_find(&before, "here/notes");
 *     belongings_release(&before);
 */
#ifndef ATTN_TESTS_BELONGINGS_H
#define ATTN_TESTS_BELONGINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/err.h"

enum { BELONGINGS_MAX = 1024 };

struct belonging {
    const char *path; /* from the folder on */
    struct stat status;
    const char *bytes; /* of a file, or what a link says */
    size_t size;
};

struct belongings {
    struct belonging things[BELONGINGS_MAX]; /* a folder before what is in it */
    size_t count;
    struct arena arena;
};

/* Release it on failure, too. */
int belongings_take(struct belongings *all, const char *folder, struct err *err);
void belongings_release(struct belongings *all);

/* NULL where nothing has this path. */
const struct belonging *belongings_find(const struct belongings *all, const char *path);

/* What is different; NULL: nothing. A folder is the same whatever is in it. A copy need not be the
 * same file on the disk. */
const char *belonging_difference(const struct belonging *a, const struct belonging *b, bool copy);

#endif
