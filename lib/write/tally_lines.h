/* tally_lines.h: tallies as lines of text, for machines that go on counting: the sums, exact
 * (exact_sum.h).
 *
 *     entropy,0,3,,,220000,1f3a…        measure, layer, head, query, key, count, sum
 *
 * Query and key are empty for measures of rows.
 */
#ifndef ATTN_WRITE_TALLY_LINES_H
#define ATTN_WRITE_TALLY_LINES_H

#include "base/err.h"
#include "base/stream.h"
#include "lens/tally.h"

/* A line for each entry with its exact sum; and read one, without its end, and count it. What is no
 * such line, or has no place in the tally, is refused. */
void tally_write_sums(struct stream *out, const struct tally *tally);
int tally_read_sum(struct tally *tally, const char *line, size_t size, struct err *err);

#endif
