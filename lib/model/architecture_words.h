/* architecture_words.h: a model's architecture in words, as lines of `info`. */
#pragma once

#include "model/config.h"

struct buf;

struct architecture_row {
    const char *name;                                            /* "norms" */
    void (*write)(struct buf *out, const struct config *config); /* writes nothing: no line */
};

extern const struct architecture_row architecture_rows[];
extern const size_t architecture_row_count;
