/* lines_change.h: one change in a text of lines: words and lines exchanged, repeated, left out,
 * replaced by odd ones; other ends of lines.
 *
 *     struct buf text = {0};
 *     lines_change(&text, file->bytes, file->size, made);
 */
#ifndef ATTN_TESTS_LINES_CHANGE_H
#define ATTN_TESTS_LINES_CHANGE_H

#include "made.h"

void lines_change(struct buf *out, const char *bytes, size_t size, struct made *made);

/* Where line number `index` stands; false behind the last one. Its newline is not of it. */
bool lines_find(const char **line, size_t *line_size, const char *bytes, size_t size, size_t index);
size_t lines_count(const char *bytes, size_t size);

#endif
