/* json_writer.h: writes JSON value by value, with commas, to a stream or into memory.
 *
 * `name` is the name of a member, or NULL for an item of an array. A name may begin with a line
 * break and blanks, "\n model", which are written first; "\n " alone writes a line break before an
 * item. Write a name that comes from a file or a user with json_put_name, then its value with the
 * name NULL.
 *
 *     struct json_writer json = {.stream = &out};
 *     json_put_open(&json, NULL, '{');
 *     json_put_text(&json, "format", JSON_FORMAT("row"));
 *     json_put_text(&json, "model", "life");
 *     json_put_close(&json, '}');         {"format": "attn-cli/row/1", "model": "life"}
 */
#pragma once

#include "base/buf.h"
#include "base/stream.h"

/* The first member of a document: the name of its format, which data/schemas/NAME.json describes,
 * and a version that changes when a member is renamed or removed. */
#define JSON_FORMAT(name) "attn-cli/" name "/1"
/* Format of tables and tensors: see data/schemas/result.json. */
#define RESULT_FORMAT "attn-cli/result/2"

struct json_writer {
    struct stream *stream; /* the destination, which keeps the first error; NULL: write to `buf` */
    struct buf *buf;
    bool compact;  /* write no blank after a comma or a colon */
    bool one_line; /* write no line breaks */
    bool in_html;  /* escape <, U+2028 and U+2029 in texts and names */
    bool comma;    /* true if the next value needs a comma before it */
};

/* json_put_open begins an object or array with '{' or '[', json_put_close ends it with '}' or ']'.
 * json_put_gap writes white space, "\n ", before the next value; json_put_name writes the name of
 * the next value, which may have any bytes. */
void json_put_open(struct json_writer *json, const char *name, char bracket);
void json_put_close(struct json_writer *json, char bracket);
void json_put_gap(struct json_writer *json, const char *gap);
void json_put_name(struct json_writer *json, const char *name, size_t size);

/* Write a text in quotes. NULL becomes null, each invalid byte of UTF-8 becomes U+FFFD. */
void json_put_text(struct json_writer *json, const char *name, const char *text);
void json_put_bytes(struct json_writer *json, const char *name, const char *bytes, size_t size);

/* Write bytes as a text of hexadecimal digits. */
void json_put_hex(struct json_writer *json, const char *name, const char *bytes, size_t size);

void json_put_bool(struct json_writer *json, const char *name, bool value);
void json_put_integer(struct json_writer *json, const char *name, long long value);
void json_put_integers(struct json_writer *json, const char *name, const size_t *values,
                       size_t count);

/* Write the shortest number that reads back as the same float32, or null if it is not finite;
 * json_put_raw writes a value that is already JSON. */
void json_put_float(struct json_writer *json, const char *name, float value);
void json_put_floats(struct json_writer *json, const char *name, const float *values, size_t count);
void json_put_raw(struct json_writer *json, const char *name, const char *value);

/* Append a text as JSON, in quotes. */
void json_append_text(struct buf *out, const char *bytes, size_t size);
