/* json_cursor.h: a walk through JSON without a tree, for tables of a hundred thousand entries.
 * The document is checked once, as json_parse does, but texts may hold U+0000; after that nothing
 * can be wrong but types.
 *
 *     struct json_cursor cursor;
 *     if (json_cursor_open(&cursor, NULL, bytes, size, err)) ...
 *     json_cursor_enter(&cursor);
 *     while (json_cursor_next(&cursor)) {
 *         struct json_span name = json_cursor_name(&cursor);
 *         struct json_span value = json_cursor_value(&cursor);
 *     }
 */
#ifndef ATTN_FORMAT_JSON_CURSOR_H
#define ATTN_FORMAT_JSON_CURSOR_H

#include "base/err.h"

struct json_extent;

/* Bytes of the document, alive as long as it is. A text's are those between its quotes, with their
 * escapes. */
struct json_span {
    const char *bytes;
    size_t size;
};

struct json_cursor {
    const char *at; /* the first byte of a value, a name or a closing bracket */
    const char *end;
    const struct json_extent *extent; /* or NULL */
};

/* Check a document and stand before its value; or before one that was passed in an open document.
 * `extent`, which may be NULL, lives as long as the cursor, and helps to pass large values. */
int json_cursor_open(struct json_cursor *cursor, struct json_extent *extent, const char *bytes,
                     size_t size, struct err *err);
struct json_cursor json_cursor_at(struct json_span value);

/* What kind of value comes: '{', '[', '"', 't' or 'f', 'n' for null, '0' for a number. */
char json_cursor_kind(const struct json_cursor *cursor);

/* Step into the object or array that comes; true before a further member or item, false at the end,
 * which is passed. */
void json_cursor_enter(struct json_cursor *cursor);
bool json_cursor_next(struct json_cursor *cursor);

/* Pass a member's name, and stand before its value. */
struct json_span json_cursor_name(struct json_cursor *cursor);

/* Pass the text that comes; the second writes the bytes that it stands for to `out`, which has room
 * for as many as it is written with, and returns how many they are. */
struct json_span json_cursor_text(struct json_cursor *cursor);
size_t json_cursor_read(struct json_cursor *cursor, char *out);

/* Pass the colon after a name that was passed as a text. */
void json_cursor_colon(struct json_cursor *cursor);

/* Pass the value that comes, whatever it is; a text's span has its quotes. The second tells by the
 * way how many members or items it has. */
struct json_span json_cursor_value(struct json_cursor *cursor);
struct json_span json_cursor_count(struct json_cursor *cursor, size_t *count);

/* Pass the number that comes when it is whole, in [0, max] and written in digits alone; else false,
 * and json_parse on the value's span tells what it is. `max` is far below SIZE_MAX. */
bool json_cursor_number(struct json_cursor *cursor, size_t max, size_t *value);

/* The bytes that a text stands for, as json_cursor_read. */
size_t json_unescape(char *out, struct json_span text);

/* True when the text stands for `name`, written without escapes. */
bool json_span_is(struct json_span text, const char *name);

#endif
