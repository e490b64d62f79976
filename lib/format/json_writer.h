/* json_writer.h: texts and numbers as JSON writes them. */
#ifndef ATTN_FORMAT_JSON_WRITER_H
#define ATTN_FORMAT_JSON_WRITER_H

#include <stddef.h>

#include "base/buf.h"
#include "base/stream.h"

/* A quoted JSON text. Valid UTF-8 stays as it is; quotes, backslashes and controls are escaped;
 * each byte that is not UTF-8 becomes U+FFFD, because JSON has no other way. */
void json_write_text(struct stream *out, const char *bytes, size_t size);
void json_append_text(struct buf *out, const char *bytes, size_t size); /* the same, in memory */

/* The shortest number that reads back the same float32; infinities and NaN become null. */
void json_write_float(struct stream *out, float value);
void json_write_floats(struct stream *out, const float *values, size_t count); /* [1, 2] */

#endif
