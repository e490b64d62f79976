/* tally_page.h: a tally as pages and as matrices.
 *
 *     entropy · how evenly a query looks, in nats: -sum w ln w
 *     mean over 220000 queries
 *
 *     layer  head 0  head 1  head 2
 *     0      1.2345  0.9012  1.1111
 *
 * Measures of cells are matrices of queries and keys, as those of one text.
 */
#ifndef ATTN_OUT_TALLY_PAGE_H
#define ATTN_OUT_TALLY_PAGE_H

#include "base/err.h"
#include "base/stream.h"
#include "lens/tally.h"
#include "out/format.h"

/* All measures of a tally; `title`, which may be NULL, says of what, and `place` which of several
 * tallies this is, and how wide and long the page. */
int tally_page_write(struct stream *out, const struct tally *tally, const char *title,
                     const struct place *place, struct err *err);
int tally_csv_write(struct stream *out, const struct tally *tally, const char *title,
                    const struct place *place, struct err *err);

#endif
