/* arrow_reader.h: a file of Apache Arrow as CSV, read by what its format says of FlatBuffers and
 * messages, not by what we know of ours: a null is an empty cell. The test fails where anything is
 * not as the format has it.
 *
 *     struct buf csv = {0};
 *     size_t batches = arrow_reader_csv(&csv, bytes, size);
 */
#ifndef ATTN_TESTS_ARROW_READER_H
#define ATTN_TESTS_ARROW_READER_H

#include "base/buf.h"

size_t arrow_reader_csv(struct buf *csv, const char *bytes, size_t size);

#endif
