#include "format/json_writer.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum { ESCAPE_BYTES = 8 }; /* the longest, \u001f, and its closing 0 */

/* The characters that JSON escapes with a letter, and their letters. */
static const char escaped[] = "\"\\\b\f\n\r\t";
static const char letters[] = "\"\\bfnrt";

/* Controls, those of C1 too: some terminals take U+009B for an escape. */
static bool is_control(uint32_t c)
{
    return c < ' ' || (c >= 0x7f && c < 0xa0);
}

/* How many bytes from here on stand in JSON as they are. */
static size_t plain_run(const char *bytes, size_t size)
{
    size_t at = 0;
    while (at < size) {
        uint32_t c = 0;
        size_t length = utf8_decode(&c, bytes + at, size - at);
        if (length == 0 || is_control(c) || c == '"' || c == '\\')
            break;
        at += length;
    }
    return at;
}

/* What stands for the character that ended a run; returns how many bytes that has. */
static size_t escape(char text[ESCAPE_BYTES], const char *bytes, size_t size)
{
    uint32_t c = 0;
    size_t length = utf8_decode(&c, bytes, size);
    const char *at = length && c && c < 0x80 ? strchr(escaped, (int)c) : NULL;
    if (length == 0)
        strcpy(text, "\xEF\xBF\xBD"); /* U+FFFD */
    else if (at)
        snprintf(text, ESCAPE_BYTES, "\\%c", letters[at - escaped]);
    else
        snprintf(text, ESCAPE_BYTES, "\\u%04x", (unsigned)c & 0xffff);
    return length ? length : 1;
}

void json_write_text(struct stream *out, const char *bytes, size_t size)
{
    char text[ESCAPE_BYTES];
    stream_char(out, '"');
    for (size_t at = 0; at < size;) {
        size_t run = plain_run(bytes + at, size - at);
        stream_bytes(out, bytes + at, run);
        at += run;
        if (at == size)
            break;
        at += escape(text, bytes + at, size - at);
        stream_text(out, text);
    }
    stream_char(out, '"');
}

void json_append_text(struct buf *out, const char *bytes, size_t size)
{
    char text[ESCAPE_BYTES];
    buf_char(out, '"');
    for (size_t at = 0; at < size;) {
        size_t run = plain_run(bytes + at, size - at);
        buf_bytes(out, bytes + at, run);
        at += run;
        if (at == size)
            break;
        at += escape(text, bytes + at, size - at);
        buf_text(out, text);
    }
    buf_char(out, '"');
}

void json_write_float(struct stream *out, float value)
{
    if (isfinite(value))
        stream_float(out, value);
    else
        stream_text(out, "null");
}

void json_write_floats(struct stream *out, const float *values, size_t count)
{
    stream_char(out, '[');
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            stream_bytes(out, ", ", 2);
        json_write_float(out, values[i]);
    }
    stream_char(out, ']');
}
