/* csv_sheet.h: matrices as people load them into pandas, R and gnuplot: keys on top, queries at the
 * left. One stands alone; several that have the same columns are one table, in which every row
 * begins with what it is of.
 *
 *     query\key,0:Life,1:is             tensor,layer,head,row,0:Life,1:is
 *     0:Life,1,0                         weights,0,0,0:Life,1,0
 *     1:is,0.25,0.75                     weights,0,0,1:is,0.25,0.75
 *                                        weights,0,1,0:Life,1,0
 */
#ifndef ATTN_WRITE_CSV_SHEET_H
#define ATTN_WRITE_CSV_SHEET_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/stream.h"
#include "lens/sheet.h"

/* One alone, with its header. */
int csv_sheet_write(struct stream *out, const struct sheet *sheet, struct err *err);

/* A table's header, and a sheet's rows of it. `names` are the first columns', the rows' labels the
 * last of them; `place` is what they hold in this sheet, each with its comma: "weights,0,1,". */
int csv_table_begin(struct stream *out, const char *names, const struct sheet *sheet,
                    struct err *err);
int csv_table_add(struct stream *out, const struct buf *place, const struct sheet *sheet,
                  struct err *err);

/* Whether two sheets can be rows of one table. */
bool csv_same_columns(const struct sheet *a, const struct sheet *b);

/* Append what a sheet is: "weights,0,1,"; "mean" where it is one over all. */
void csv_sheet_place(struct buf *line, const struct sheet *sheet);

#endif
