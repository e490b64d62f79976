/* ground.h: the folder of a case, made for each case, with a model.
 *
 *     struct ground ground;
 *     if (ground_open(&ground, root, &err)) ...
 *     if (ground_clear(&ground, "life", &err)) ...
 *     ground_close(&ground);
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

struct ground {
    const char *root; /* the repository; an absolute path, borrowed */
    char path[64];    /* the working directory after ground_open() */
};

/* The contents of the folder. */
struct inventory {
    struct buf names;  /* sorted lines; files have size and time */
    size_t size_bytes; /* of all files */
};

int ground_open(struct ground *ground, const char *root, struct err *err);
void ground_close(struct ground *ground);

/* Remove everything; then, unless `model` is NULL, copy models/MODEL, tests/references/golden/MODEL
 * or tests/references/golden-families/MODEL to m. */
int ground_clear(const struct ground *ground, const char *model, struct err *err);

/* Remove everything below a folder. */
int ground_empty(const char *folder, struct err *err);

int inventory_take(struct inventory *inventory, struct err *err);
void inventory_release(struct inventory *inventory);
