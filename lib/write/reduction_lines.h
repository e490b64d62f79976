/* reduction_lines.h: reductions as lines of text, for machines that go on counting: the sums, exact
 * (exact_sum.h).
 *
 *     entropy,0,3,,,220000,1f3a…        measure, layer, head, query, key, count, sum
 *
 * Query and key are empty for measures of rows.
 */
#ifndef ATTN_WRITE_REDUCTION_LINES_H
#define ATTN_WRITE_REDUCTION_LINES_H

#include "base/err.h"
#include "base/stream.h"
#include "lens/reduction.h"

/* A line for each entry with its exact sum; and read one, without its end, and count it. What is no
 * such line, or has no place in the reduction, is refused. */
void reduction_write_sums(struct stream *out, const struct reduction *reduction);
int reduction_read_sum(struct reduction *reduction, const char *line, size_t size, struct err *err);

#endif
