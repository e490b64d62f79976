#include "format/json_cursor.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "format/json.h"
#include "format/other_format.h"

static void skip_blanks(struct json_cursor *cursor)
{
    if (cursor->at < cursor->end && (unsigned char)*cursor->at <= ' ')
        cursor->at = json_blanks_end(cursor->at, cursor->end);
}

int json_cursor_open(struct json_cursor *cursor, struct json_extent *extent, const char *bytes,
                     size_t size, struct err *err)
{
    *cursor = (struct json_cursor){.at = bytes, .end = bytes + size, .extent = extent};
    skip_blanks(cursor);
    if (other_format_refuse(bytes, size, "JSON", err))
        return -1;
    return json_grammar_check(extent, bytes, size, err);
}

struct json_cursor json_cursor_at(struct json_span value)
{
    return (struct json_cursor){.at = value.bytes, .end = value.bytes + value.size};
}

char json_cursor_kind(const struct json_cursor *cursor)
{
    char c = *cursor->at;
    return c == '-' || (c >= '0' && c <= '9') ? '0' : c;
}

void json_cursor_enter(struct json_cursor *cursor)
{
    assert(*cursor->at == '{' || *cursor->at == '[');
    cursor->at++;
    skip_blanks(cursor);
}

bool json_cursor_next(struct json_cursor *cursor)
{
    skip_blanks(cursor);
    char c = *cursor->at;
    if (c == ',' || c == '}' || c == ']')
        cursor->at++;
    skip_blanks(cursor);
    return c != '}' && c != ']';
}

void json_cursor_colon(struct json_cursor *cursor)
{
    skip_blanks(cursor);
    assert(*cursor->at == ':');
    cursor->at++;
    skip_blanks(cursor);
}

/* After the quote that closes the text whose first byte is at `at`. */
static const char *skip_text(const char *at)
{
    while (*at != '"')
        at += *at == '\\' ? 2 : 1;
    return at + 1;
}

struct json_span json_cursor_text(struct json_cursor *cursor)
{
    assert(*cursor->at == '"');
    const char *start = cursor->at + 1;
    cursor->at = skip_text(start);
    return (struct json_span){start, (size_t)(cursor->at - 1 - start)};
}

struct json_span json_cursor_name(struct json_cursor *cursor)
{
    struct json_span name = json_cursor_text(cursor);
    json_cursor_colon(cursor);
    return name;
}

static bool ends_scalar(char c)
{
    return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* After the bracket that closes the object or array at `at`; commas outside of inner ones are
 * counted. */
static const char *skip_container(const char *at, size_t *commas)
{
    size_t depth = 0;
    do {
        char c = *at++;
        if (c == '"') {
            at = skip_text(at);
        } else if (c == ',') {
            *commas += depth == 1;
        } else if (c >= '[') { /* a bracket, or a letter */
            depth += c == '{' || c == '[';
            depth -= c == '}' || c == ']';
        }
    } while (depth);
    return at;
}

/* What is known of a large container; NULL: nothing. */
static const struct json_container *find_container(const struct json_cursor *cursor)
{
    const struct json_extent *extent = cursor->extent;
    for (size_t i = 0; extent && i < extent->container_count; i++)
        if (extent->containers[i].bytes == cursor->at)
            return &extent->containers[i];
    return NULL;
}

struct json_span json_cursor_count(struct json_cursor *cursor, size_t *count)
{
    const char *start = cursor->at;
    struct json_cursor inside = *cursor;
    const struct json_container *large = find_container(cursor);
    *count = large ? large->count : 0;
    if (large) {
        cursor->at += large->size;
    } else if (*start == '"') {
        cursor->at = skip_text(start + 1);
    } else if (*start == '{' || *start == '[') {
        cursor->at = skip_container(start, count);
        json_cursor_enter(&inside);
        *count += json_cursor_next(&inside); /* one more than commas, or none at all */
    } else {
        while (cursor->at < cursor->end && !ends_scalar(*cursor->at))
            cursor->at++;
    }
    return (struct json_span){start, (size_t)(cursor->at - start)};
}

struct json_span json_cursor_value(struct json_cursor *cursor)
{
    size_t count = 0;
    return json_cursor_count(cursor, &count);
}

bool json_cursor_number(struct json_cursor *cursor, size_t max, size_t *value)
{
    const char *at = cursor->at;
    size_t number = 0;
    for (; at < cursor->end && *at >= '0' && *at <= '9'; at++) {
        number = number * 10 + (size_t)(*at - '0');
        if (number > max)
            return false;
    }
    if (at == cursor->at || (at < cursor->end && !ends_scalar(*at)))
        return false;
    cursor->at = at;
    *value = number;
    return true;
}

static uint32_t hex_value(char c)
{
    return (uint32_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

static uint32_t read_unit(const char *digits)
{
    return hex_value(digits[0]) << 12 | hex_value(digits[1]) << 8 | hex_value(digits[2]) << 4 |
           hex_value(digits[3]);
}

/* The escape at `in`, of 2, 6 or 12 bytes; returns how many. */
static size_t unescape(char **out, const char *in)
{
    static const char letters[] = "bfnrt";
    static const char controls[] = "\b\f\n\r\t";
    if (in[1] != 'u') {
        const char *letter = strchr(letters, in[1]);
        *(*out)++ = letter ? controls[letter - letters] : in[1];
        return 2;
    }
    uint32_t c = read_unit(in + 2);
    bool pair = c >= 0xD800 && c <= 0xDBFF; /* a low half follows: sound JSON has no other */
    if (pair)
        c = 0x10000 + ((c - 0xD800) << 10) + (read_unit(in + 8) - 0xDC00);
    *out += utf8_encode(*out, c);
    return pair ? 12 : 6;
}

size_t json_cursor_read(struct json_cursor *cursor, char *out)
{
    const char *start = out;
    const char *at = cursor->at + 1;
    while (*at != '"') {
        if (*at == '\\')
            at += unescape(&out, at);
        else
            *out++ = *at++;
    }
    cursor->at = at + 1;
    return (size_t)(out - start);
}

size_t json_unescape(char *out, struct json_span text)
{
    struct json_cursor cursor = {.at = text.bytes - 1}; /* the quotes are there */
    return json_cursor_read(&cursor, out);
}

bool json_span_is(struct json_span text, const char *name)
{
    return text.size == strlen(name) && memcmp(text.bytes, name, text.size) == 0;
}
