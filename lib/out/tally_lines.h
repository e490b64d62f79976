/* tally_lines.h: tallies as lines of text: for people's data frames, and for machines that go on
 * counting.
 *
 *     measure,layer,head,query,key,count,value       the mean, as nine digits
 *     entropy,0,3,,,220000,1.2345
 *
 *     entropy,0,3,,,220000,1f3a…                      the sum, exact: exact_sum.h
 *
 * Query and key are empty for measures of rows.
 */
#ifndef ATTN_OUT_TALLY_LINES_H
#define ATTN_OUT_TALLY_LINES_H

#include "base/err.h"
#include "base/stream.h"
#include "lens/tally.h"

/* A line for each entry. `settings` are the fields behind the measure's name, each with its comma,
 * or "". */
void tally_write_values(struct stream *out, const struct tally *tally, const char *settings);

/* A line for each entry with its exact sum; and read one, without its end, and count it. What is no
 * such line, or has no place in the tally, is refused. */
void tally_write_sums(struct stream *out, const struct tally *tally);
int tally_read_sum(struct tally *tally, const char *line, size_t size, struct err *err);

#endif
