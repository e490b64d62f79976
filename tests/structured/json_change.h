/* json_change.h: one change somewhere in a JSON document, which stays one.
 *
 *     struct buf text = {0};
 *     if (json_change(&text, file->bytes, file->size, made))
 *         made_take(made, file, &text);
 *
 * A number becomes an odd one, a text another, a member gets another's name; children are
 * exchanged, repeated, left out, doubled; a field is added that nobody knows, as deep as they go.
 */
#ifndef ATTN_TESTS_JSON_CHANGE_H
#define ATTN_TESTS_JSON_CHANGE_H

#include "made.h"

/* Append the changed document in one line; false, and nothing is appended, where it is not JSON. */
bool json_change(struct buf *out, const char *bytes, size_t size, struct made *made);

/* The same for JSON that begins somewhere in a line, with what stands before and after it. */
bool json_change_line(struct buf *out, const char *line, size_t size, struct made *made);

#endif
