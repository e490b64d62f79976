/* csv.h: matrices and tables as people load them into pandas, R and gnuplot: keys are columns,
 * queries rows. One matrix is a file of its own; several with the same columns, those of all heads,
 * are one table, in which every row begins with the tensor, layer and head.
 *
 *     query\key,0:Life,1:is             tensor,layer,head,row,0:Life,1:is
 *     0:Life,1,0                         weights,0,0,0:Life,1,0
 *     1:is,0.25,0.75                     weights,0,0,1:is,0.25,0.75
 *                                        weights,0,1,0:Life,1,0
 *
 * In pandas a head of a table is `t[(t.layer == 0) & (t["head"] == 3)].set_index("row").iloc[:,
 * 3:]`; in gnuplot, where commas separate, `plot "< grep -e ^tensor -e ^weights,0,3, heads.csv |
 * cut -d, -f4-" matrix rowheaders columnheaders with image`.
 */
#ifndef ATTN_WRITE_CSV_H
#define ATTN_WRITE_CSV_H

#include "write/format.h"

/* Append a field as in RFC 4180: in quotes, with its own quotes doubled, if it holds a comma, a
 * quote or the end of a line, or begins as a spreadsheet's formula does. Controls and invisible
 * characters become \xNN, as in labels. A byte that is not UTF-8 (a token may be a part of a
 * character) becomes U+FFFD, because readers of data files refuse the whole file for it. */
void csv_field(struct buf *out, const char *text);

#endif
