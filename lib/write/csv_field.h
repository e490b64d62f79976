/* csv_field.h: one text in a line of CSV. */
#ifndef ATTN_WRITE_CSV_FIELD_H
#define ATTN_WRITE_CSV_FIELD_H

#include "base/buf.h"

/* Append a field as RFC 4180 has it: in quotes, with its own quotes doubled, when it holds a comma,
 * a quote or the end of a line. A byte that is not UTF-8 (a token may be a part of a character)
 * becomes U+FFFD, because readers of data files refuse the whole file for it. */
void csv_field(struct buf *out, const char *text);

#endif
