/* folder_out.h: reports spread over a folder: a file for every matrix, tensor or sentence.
 *
 * `DIR/weights.l00.h00.csv`, `DIR/h.0.weights.npy`, `DIR/sentence.json`; where there are several
 * sentences each has a sub-folder of its own, `DIR/0000/`. Beside them stands `manifest.json`,
 * written last: the model, the sentence, its tokens, and which file holds which heads of which
 * tensor, so that no number is without its origin.
 */
#ifndef ATTN_WRITE_FOLDER_OUT_H
#define ATTN_WRITE_FOLDER_OUT_H

#include "base/target_folder.h"
#include "write/format.h"

/* Write one report into a folder that is open to be written. Each file is complete or not there. */
int folder_out_write(const struct target_folder *folder, const struct format *format,
                     const struct report *report, const struct place *place, struct err *err);

#endif
