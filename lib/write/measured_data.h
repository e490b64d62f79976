/* measured_data.h: measures of heads as data files, and as a page for people.
 *
 *     layer\head,0,1                                     CSV: a labelled matrix; several are one
 *     0,1.2345,0.9012                                    table
 *
 *     measure,model,layer,head,query,key,count,value     tidy: a line a number; query and key are
 *     entropy,life,0,3,,,220000,1.2345                   empty where a measure has none
 *
 *     {"format": "attn-cli/measures/1", "groups": [{"model": "tiny", "texts": 2, "measures": {
 *      "entropy": {"basis": "…", "layers": [0, 1], "heads": [0, 1], "values": [[1.2, …], …]},
 *      "mean": {"basis": "…", "maps": [{"layer": 0, "head": 0, "values": [[1], [0.5, 0.5]]}]}}}]}
 *
 * In JSON null is where nothing was counted; jsonl has a line for each group. npy stacks all
 * sheets, which must be of one size, as [sheets, rows, columns]; safetensors names each: induction,
 * max.l00.h03, of several groups model.induction. A page is as wide and long, and has the colours,
 * that `place` says; measures of cells are matrices of queries and keys there, as those of a text:
 *
 *     entropy · how evenly a query looks, in nats: -sum w ln w
 *     mean over up to 220000 queries
 *
 *     layer  head 0  head 1  head 2
 *     0      1.2345  0.9012  1.1111
 */
#ifndef ATTN_WRITE_MEASURED_DATA_H
#define ATTN_WRITE_MEASURED_DATA_H

#include "lens/measured.h"
#include "write/format.h"

/* The rows' writers of measured_form.h. */
int measured_csv_write(struct stream *, const struct measured_list *, const struct place *,
                       struct err *);
int measured_tidy_write(struct stream *, const struct measured_list *, const struct place *,
                        struct err *);
int measured_arrow_write(struct stream *, const struct measured_list *, const struct place *,
                         struct err *);
int measured_json_write(struct stream *, const struct measured_list *, const struct place *,
                        struct err *);
int measured_jsonl_write(struct stream *, const struct measured_list *, const struct place *,
                         struct err *);
int measured_npy_write(struct stream *, const struct measured_list *, const struct place *,
                       struct err *);
int measured_tensors_write(struct stream *, const struct measured_list *, const struct place *,
                           struct err *);
int measured_page_write(struct stream *, const struct measured_list *, const struct place *,
                        struct err *);

/* The names of the columns that tell one from the others, or what they hold: each with its comma.
 */
void measured_columns(struct buf *line, const struct measured *measured, bool names);

/* The lines of one, and the header of all: for writers that do not have all at once. */
int measured_tidy_head(struct stream *out, const struct measured *measured, struct err *err);
int measured_tidy_lines(struct stream *out, const struct measured *measured, struct err *err);

/* {"entropy": {…}, …}: the measures alone, on one line. */
void measured_json_measures(struct stream *out, const struct measured *measured);

#endif
