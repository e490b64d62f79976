/* holding.h: all files below a folder, with their bytes: what was there before, and after.
 *
 *     struct holding before = {0};
 *     if (holding_take(&before, "disk", &err)) ...
 *     const struct held *file = holding_find(&before, "disk/out.csv");
 *     holding_release(&before);
 */
#ifndef ATTN_TESTS_HOLDING_H
#define ATTN_TESTS_HOLDING_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

enum { HOLDING_FILES_MAX = 256 };

struct held {
    const char *path; /* with the folder's own in front */
    const char *bytes;
    size_t size;
    bool is_folder;
};

struct holding {
    struct held files[HOLDING_FILES_MAX]; /* folders, too; in the order of their paths */
    size_t count;
    size_t largest; /* bytes of the largest file */
    struct arena arena;
};

/* Release it on failure, too. */
int holding_take(struct holding *holding, const char *folder, struct err *err);
void holding_release(struct holding *holding);

/* NULL where nothing has this path. */
const struct held *holding_find(const struct holding *holding, const char *path);

bool held_same(const struct held *a, const struct held *b);

#endif
