/* text_matrix.h: one tensor on a page: a heading, and its heads as tables, side by side where they
 * fit.
 *
 *     weights · layer 0 · rows: query, columns: key
 *
 *     head 0    Life      is       head 1    Life      is
 *     Life    1.0000               Life    1.0000
 *     is      0.4512  0.5488       is      0.5010  0.4990
 */
#ifndef ATTN_WRITE_TEXT_MATRIX_H
#define ATTN_WRITE_TEXT_MATRIX_H

#include "base/err.h"
#include "base/stream.h"
#include "lens/report.h"
#include "write/format.h"

int text_matrix_write(struct stream *out, const struct report *report, const struct kept *kept,
                      const struct place *place, struct err *err);

#endif
