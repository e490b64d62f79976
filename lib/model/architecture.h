/* architecture.h: what a config describes, in words, for `info`.
 *
 *     for (size_t i = 0; i < architecture_row_count; i++)
 *         architecture_rows[i].write(&text, &config);
 */
#ifndef ATTN_MODEL_ARCHITECTURE_H
#define ATTN_MODEL_ARCHITECTURE_H

#include "base/buf.h"
#include "model/config.h"

struct architecture_row {
    const char *name;                                            /* "norms" */
    void (*write)(struct buf *out, const struct config *config); /* nothing: it has none */
};

extern const struct architecture_row architecture_rows[];
extern const size_t architecture_row_count;

#endif
