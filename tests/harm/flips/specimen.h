/* specimen.h: a small model in memory that is opened and run many times, each time damaged.
 *
 *     struct specimen specimen = {.folder = "models/life", .text = "Life is", .is_model = true};
 *     if (specimen_open(&specimen, &err)) ...
 *     enum err_kind kind = specimen_try(&specimen, file, bytes, size, &err);
 *     specimen_close(&specimen);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/file.h"
#include "lens/viewer.h"

enum { SPECIMEN_FILES_MAX = 8 };

struct specimen {
    const char *folder; /* from the repository's root */
    const char *text;   /* input of the runs */
    bool is_model;      /* false: only a tokenizer */

    const char *names[SPECIMEN_FILES_MAX];
    struct file files[SPECIMEN_FILES_MAX];
    size_t count;
    struct viewer viewer; /* all runs use its machine */
};

/* Read its files; fails if it cannot run without damage. */
int specimen_open(struct specimen *specimen, struct err *err);
void specimen_close(struct specimen *specimen);

/* Open it with other bytes in one of its files, and run it up to the attention weights. */
int specimen_try(struct specimen *specimen, size_t file, const char *bytes, size_t size,
                 struct err *err);
