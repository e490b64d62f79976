/* measured_page.h: measures of heads as a page for people.
 *
 *     entropy · how evenly a query looks, in nats: -sum w ln w
 *     mean over up to 220000 queries
 *
 *     layer  head 0  head 1  head 2
 *     0      1.2345  0.9012  1.1111
 *
 * Measures of cells are matrices of queries and keys, as those of one text. `place` says how wide
 * and long the page is, and which colours it has.
 */
#ifndef ATTN_WRITE_MEASURED_PAGE_H
#define ATTN_WRITE_MEASURED_PAGE_H

#include "base/err.h"
#include "base/stream.h"
#include "lens/measured.h"
#include "write/format.h"

int measured_page_write(struct stream *out, const struct measured_list *list,
                        const struct place *place, struct err *err);

#endif
