/* csv_sheet.h: one matrix as people load it into pandas, R and gnuplot: keys on top, queries at the
 * left.
 */
#ifndef ATTN_OUT_CSV_SHEET_H
#define ATTN_OUT_CSV_SHEET_H

#include "base/err.h"
#include "base/stream.h"
#include "lens/sheet.h"

int csv_sheet_write(struct stream *out, const struct sheet *sheet, struct err *err);

#endif
