#include "format/json_writer.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"

enum { ESCAPE_BYTES = 8 }; /* an escape such as `\u001f`, with its closing 0 */

/* The characters with a short escape, and the letters that follow the backslash in
 * their escapes. */
static const char escaped[] = "\"\\\b\f\n\r\t";
static const char letters[] = "\"\\bfnrt";

/* True if a character needs no escape. Control characters need one, even those from U+0080 to
 * U+009F: some terminals interpret U+009B. In HTML, `<` needs one because it could end the script,
 * and U+2028 and U+2029 because they are line breaks in JavaScript. */
static bool is_plain(const struct json_writer *json, uint32_t c)
{
    bool control = c < ' ' || (c >= 0x7f && c < 0xa0);
    if (control || c == '"' || c == '\\')
        return false;
    return !json->in_html || (c != '<' && c != 0x2028 && c != 0x2029);
}

/* Return the number of leading bytes that need no escape. */
static size_t plain_run(const struct json_writer *json, const char *bytes, size_t size)
{
    size_t at = 0;
    for (;;) {
        uint32_t c = 0;
        while (at < size && bytes[at] >= ' ' && bytes[at] < 0x7f && bytes[at] != '"' &&
               bytes[at] != '\\' && bytes[at] != '<') /* most characters need no closer check */
            at++;
        size_t length = utf8_decode(&c, bytes + at, size - at);
        if (length == 0 || !is_plain(json, c))
            return at;
        at += length;
    }
}

/* Write the escape of the first character of `bytes`; an invalid byte becomes U+FFFD. Returns the
 * number of bytes read. */
static size_t escape(char text[ESCAPE_BYTES], const char *bytes, size_t size)
{
    uint32_t c = 0;
    size_t length = utf8_decode(&c, bytes, size);
    const char *at = length && c && c < 0x80 ? strchr(escaped, (int)c) : NULL;
    if (length == 0)
        strcpy(text, "\xEF\xBF\xBD"); /* U+FFFD in UTF-8 */
    else if (at)
        snprintf(text, ESCAPE_BYTES, "\\%c", letters[at - escaped]);
    else
        snprintf(text, ESCAPE_BYTES, "\\u%04x", (unsigned)c & 0xffff);
    return length ? length : 1;
}

static void put(struct json_writer *json, const char *bytes, size_t size)
{
    if (json->stream)
        stream_bytes(json->stream, bytes, size);
    else
        buf_bytes(json->buf, bytes, size);
}

static void put_escaped(struct json_writer *json, const char *bytes, size_t size)
{
    char text[ESCAPE_BYTES];
    for (size_t at = 0; at < size;) {
        size_t run = plain_run(json, bytes + at, size - at);
        put(json, bytes + at, run);
        at += run;
        if (at == size)
            break;
        at += escape(text, bytes + at, size - at);
        put(json, text, strlen(text));
    }
}

static void break_line(struct json_writer *json, const char *gap, size_t size)
{
    if (json->one_line)
        return;
    if (json->comma)
        put(json, ",", 1);
    put(json, gap, size);
    json->comma = false;
}

void json_put_gap(struct json_writer *json, const char *gap)
{
    break_line(json, gap, strlen(gap));
}

void json_put_name(struct json_writer *json, const char *name, size_t size)
{
    const char *open = json->compact ? ",\"" : ", \"";
    const char *close = json->compact ? "\":" : "\": ";
    if (!json->comma)
        open = "\"";
    put(json, open, strlen(open));
    put_escaped(json, name, size);
    put(json, close, strlen(close));
    json->comma = false;
}

/* Write what comes before a value: a comma if needed, the blanks that `name` begins with, and the
 * name. */
static void begin_value(struct json_writer *json, const char *name)
{
    size_t blanks = name && *name == '\n' ? strspn(name, "\n ") : 0;
    if (blanks)
        break_line(json, name, blanks);
    if (name && (!blanks || name[blanks]))
        json_put_name(json, name + blanks, strlen(name + blanks));
    if (json->comma)
        put(json, ", ", json->compact ? 1 : 2);
    json->comma = true;
}

void json_put_open(struct json_writer *json, const char *name, char bracket)
{
    begin_value(json, name);
    put(json, &bracket, 1);
    json->comma = false;
}

void json_put_close(struct json_writer *json, char bracket)
{
    put(json, &bracket, 1);
    json->comma = true;
}

void json_put_bytes(struct json_writer *json, const char *name, const char *bytes, size_t size)
{
    begin_value(json, name);
    put(json, "\"", 1);
    put_escaped(json, bytes, size);
    put(json, "\"", 1);
}

void json_put_hex(struct json_writer *json, const char *name, const char *bytes, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    begin_value(json, name);
    put(json, "\"", 1);
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        put(json, (const char[]){digits[byte >> 4], digits[byte & 15]}, 2);
    }
    put(json, "\"", 1);
}

void json_put_raw(struct json_writer *json, const char *name, const char *value)
{
    begin_value(json, name);
    put(json, value, strlen(value));
}

void json_put_text(struct json_writer *json, const char *name, const char *text)
{
    if (text)
        json_put_bytes(json, name, text, strlen(text));
    else
        json_put_raw(json, name, "null");
}

void json_put_bool(struct json_writer *json, const char *name, bool value)
{
    json_put_raw(json, name, value ? "true" : "false");
}

void json_put_integer(struct json_writer *json, const char *name, long long value)
{
    char digits[NUM_COUNT_BYTES];
    uint64_t size = value < 0 ? -(uint64_t)value : (uint64_t)value;
    begin_value(json, name);
    put(json, "-", value < 0);
    put(json, digits, num_count(digits, size));
}

void json_put_integers(struct json_writer *json, const char *name, const size_t *values,
                       size_t count)
{
    json_put_open(json, name, '[');
    for (size_t i = 0; i < count; i++)
        json_put_integer(json, NULL, values[i]);
    json_put_close(json, ']');
}

void json_put_float(struct json_writer *json, const char *name, float value)
{
    char number[NUM_FLOAT_BYTES] = "null";
    size_t size = isfinite(value) ? num_float(number, value) : strlen(number);
    begin_value(json, name);
    put(json, number, size);
}

void json_put_floats(struct json_writer *json, const char *name, const float *values, size_t count)
{
    json_put_open(json, name, '[');
    for (size_t i = 0; i < count; i++)
        json_put_float(json, NULL, values[i]);
    json_put_close(json, ']');
}

void json_append_text(struct buf *out, const char *bytes, size_t size)
{
    json_put_bytes(&(struct json_writer){.buf = out}, NULL, bytes, size);
}
