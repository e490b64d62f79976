/* head_table.h: what heads do, a line a head.
 *
 *     layer head   prev first  self  dup.  ind. entr. dist.
 *         0    1   0.93  0.02  0.00  0.00  0.00  0.30  1.26  previous token
 *
 *     layer,head,previous-token,first-token,…
 */
#ifndef ATTN_MEASURE_HEAD_TABLE_H
#define ATTN_MEASURE_HEAD_TABLE_H

#include <stddef.h>

#include "base/err.h"
#include "base/stream.h"
#include "measure/head_scores.h"
#include "write/format.h"

struct head_line {
    size_t layer, head;
    double scores[SCORES]; /* NaN: there is none */
};

/* For people: as wide as the page, every column of a colour scale of its own. */
int head_table_write(struct stream *out, const struct head_line *lines, size_t count,
                     const struct place *place, struct err *err);

void head_table_csv(struct stream *out, const struct head_line *lines, size_t count);

#endif
