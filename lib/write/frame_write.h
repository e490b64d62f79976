/* frame_write.h: frames in the formats that hold tables as they are. */
#ifndef ATTN_WRITE_FRAME_WRITE_H
#define ATTN_WRITE_FRAME_WRITE_H

#include "format/json_writer.h"
#include "lens/frame.h"
#include "write/format.h"

int frame_text_write(struct stream *out, const struct frame *frame, const struct place *place,
                     struct err *err);

/* Rows below a header, which the first report of a stream writes; columns that tell reports apart
 * come first. */
int frame_csv_write(struct stream *out, const struct frame *frame, const struct place *place,
                    struct err *err);

/* A line for every result, below tidy's header. */
int frame_tidy_write(struct stream *out, const struct frame *frame, const struct place *place,
                     struct err *err);

/* An array of objects, one for each row; the members of one row. */
void frame_json_write(struct json_writer *json, const struct frame *frame);
void frame_json_row(struct json_writer *json, const struct frame *frame, size_t row);

#endif
