/* json_writer.h: JSON written value by value, to a stream or into memory, with its commas.
 *
 * A value has a name where it is a member, and NULL where it is an item of an array. A name may
 * begin with a line break and blanks, "\n model", which then stand before it; "\n " alone is one
 * before an item. A name that comes from outside is put first, and its value with NULL.
 *
 *     struct json_writer json = {.stream = &out};
 *     json_put_open(&json, NULL, '{');
 *     json_put_text(&json, "format", JSON_FORMAT("info"));
 *     json_put_text(&json, "model", "life");
 *     json_put_close(&json, '}');         {"format": "attn-cli/info/1", "model": "life"}
 */
#ifndef ATTN_FORMAT_JSON_WRITER_H
#define ATTN_FORMAT_JSON_WRITER_H

#include "base/buf.h"
#include "base/stream.h"

/* What a document says first: its kind, which data/schemas/NAME.json describes, and the version of
 * that, which changes where a member is renamed or goes. */
#define JSON_FORMAT(name) "attn-cli/" name "/1"
#define RESULT_FORMAT "attn-cli/result/2" /* of every command's result: data/schemas/result.json */

struct json_writer {
    struct stream *stream; /* where it goes to, */
    struct buf *buf;       /* or this; failures stick to either */
    bool compact;          /* no blank after a comma or a colon */
    bool one_line;         /* line breaks are blanks */
    bool in_html;          /* <, U+2028 and U+2029 in texts are escaped */
    bool comma;            /* a value stands before: the next one follows a comma */
};

/* '{' or '[', and its '}' or ']'; what stands before the next value, after its comma, in place of a
 * blank, "\n "; the name of the next value, whatever is in it. */
void json_put_open(struct json_writer *json, const char *name, char bracket);
void json_put_close(struct json_writer *json, char bracket);
void json_put_gap(struct json_writer *json, const char *gap);
void json_put_name(struct json_writer *json, const char *name, size_t size);

/* A quoted text; NULL becomes null, and each byte that is not UTF-8 U+FFFD. */
void json_put_text(struct json_writer *json, const char *name, const char *text);
void json_put_bytes(struct json_writer *json, const char *name, const char *bytes, size_t size);

/* Bytes as hexadecimal digits. */
void json_put_hex(struct json_writer *json, const char *name, const char *bytes, size_t size);

void json_put_bool(struct json_writer *json, const char *name, bool value);
void json_put_integer(struct json_writer *json, const char *name, long long value);
void json_put_integers(struct json_writer *json, const char *name, const size_t *values,
                       size_t count);

/* The shortest number that reads back the same float32, null where it is not finite; a value that
 * is JSON already. */
void json_put_float(struct json_writer *json, const char *name, float value);
void json_put_floats(struct json_writer *json, const char *name, const float *values, size_t count);
void json_put_raw(struct json_writer *json, const char *name, const char *value);

/* Append a quoted text. */
void json_append_text(struct buf *out, const char *bytes, size_t size);

#endif
