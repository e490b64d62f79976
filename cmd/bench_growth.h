/* bench_growth.h: `attn-cli bench --attention`: how attention grows with a text, in several ways.
 */
#ifndef ATTN_CMD_BENCH_GROWTH_H
#define ATTN_CMD_BENCH_GROWTH_H

#include "base/err.h"
#include "base/folder.h"
#include "options.h"

/* What can be known before a model is opened. */
int bench_growth_check(const struct options *options, struct err *err);

/* Measure the model of a folder, and write what came of it; `lengths` NULL: the usual ones. */
int bench_growth(const struct options *options, const struct folder *folder, const size_t *lengths,
                 size_t length_count, struct err *err);

#endif
