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
typedef int measured_writer(struct stream *out, const struct measured_list *list,
                            const struct place *place, struct err *err);
extern measured_writer measured_csv_write, measured_tidy_write, measured_json_write,
    measured_jsonl_write, measured_npy_write, measured_tensors_write, measured_page_write;

/* The names of the columns that tell one from the others, or what they hold: each with its comma.
 */
void measured_columns(struct buf *line, const struct measured *measured, bool names);

/* The lines of one, and the header of all: for writers that do not have all at once. */
int measured_tidy_head(struct stream *out, const struct measured *measured, struct err *err);
int measured_tidy_lines(struct stream *out, const struct measured *measured, struct err *err);

/* {"entropy": {…}, …}: the measures alone, on one line. */
void measured_json_measures(struct stream *out, const struct measured *measured);

#endif
