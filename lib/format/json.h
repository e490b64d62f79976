/* json.h: reads JSON by RFC 8259, and also the number Infinity, which Python writes. cJSON parses a
 * document after a strict check, as cJSON accepts more than the RFC, and ends texts at U+0000.
 * Getters by name, except json_list and json_object, leave `*out` unchanged if the member is
 * absent.
 *
 *     struct json *root = NULL;
 *     long long layers = 12;
 *     if (json_parse(&root, bytes, size, err) ||
 *         json_integer(root, "n_layer", 1, 4096, &layers, err)) ...
 *     json_free(root);
 */
#pragma once

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

struct folder;

/* Limits of a document that json_parse reads into a tree; larger documents are read with a
 * cursor. */
enum {
    JSON_DEPTH_MAX =
        512, /* maximum nesting of arrays and objects, also for a cursor; cJSON's limit is 1000 */
    JSON_VALUES_MAX = 1 << 18,
    JSON_TEXT_BYTES_MAX = 16 << 20,
};

/* Skip blanks, fast if they are a line break and a long indentation. Returns the first byte after
 * them. */
static inline const char *json_blanks_end(const char *at, const char *end)
{
    static const uint64_t blanks = 0x2020202020202020u;
    if (at < end && *at == '\n')
        at++;
    for (uint64_t eight; end - at >= (ptrdiff_t)sizeof eight; at += sizeof eight) {
        memcpy(&eight, at, sizeof eight);
        if ((eight ^= blanks)) {
            at += __builtin_ctzll(eight) / 8;
            break;
        }
    }
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at;
}

struct json; /* one value: an object, array, text, number, true, false or null */

/* Parse a document. A document with \u0000, or beyond the limits above, is refused. The caller
 * frees the root. */
int json_parse(struct json **root, const char *bytes, size_t size, struct err *err);
void json_free(struct json *root);

/* Parse a file of a folder, call `read` with its root, and free it. Errors name path and file. */
int json_read_file(const struct folder *folder, const char *name,
                   int (*read)(void *context, const struct json *root, struct err *err),
                   void *context, struct err *err);

bool json_is_object(const struct json *value);
bool json_is_array(const struct json *value);
bool json_is_null(const struct json *value);

/* Get a value if it has the type that the function names; json_get_integer gets a whole number in
 * [min, max] of at most 53 bits. For other values, return false and leave `*out` unchanged. Texts
 * live as long as the root. */
bool json_get_text(const struct json *value, const char **out);
bool json_get_number(const struct json *value, double *out);
bool json_get_bool(const struct json *value, bool *out);
bool json_get_integer(const struct json *value, long long min, long long max, long long *out);

/* Describe a value for a message, as in `"twelve"`, `3.5` or `an array`. Returns `text`. */
const char *json_describe(const struct json *value, char *text, size_t size);

/* Set the error "field 'NAME': expected ..., found VALUE", where a `value` of NULL is described as
 * "nothing". Returns -1. */
int json_refuse(const char *field, const struct json *value, const char *expected, struct err *err);

/* Find a member by its exact name, in linear time. NULL: no such member, or not an object. */
const struct json *json_member(const struct json *object, const char *name);

/* Find a member as json_member does, but return NULL also if the member is null. */
const struct json *json_given(const struct json *object, const char *name);

/* True if json_member, or a function that calls it, has found this member: the program has asked
 * for it. */
bool json_was_read(const struct json *member);

/* Walk the members of an object or the items of an array; NULL at the end. */
const struct json *json_first(const struct json *container);
const struct json *json_next(const struct json *value);
const char *json_key(const struct json *member); /* a member's name; "" for an item of an array */
size_t json_count(const struct json *container);

/* Refuse an object that contains a name twice. */
int json_unique_keys(const struct json *object, struct err *err);

/* Get a member that must have the type that the function names. If the member is absent or null,
 * `*out` stays unchanged. Another type or a number out of range is an error: `field 'n_head':
 * expected an integer from 1 to 4096, found "twelve"`. */
int json_integer(const struct json *object, const char *name, long long min, long long max,
                 long long *out, struct err *err);
int json_double(const struct json *object, const char *name, double min, double max, double *out,
                struct err *err);
int json_bool(const struct json *object, const char *name, bool *out, struct err *err);
int json_text(const struct json *object, const char *name, const char **out, struct err *err);

/* Get a member that must be an array (json_list) or an object (json_object). If the member is
 * absent or null, `*out` becomes NULL. */
int json_list(const struct json *object, const char *name, const struct json **out,
              struct err *err);
int json_object(const struct json *object, const char *name, const struct json **out,
                struct err *err);

/* --- cursors: read JSON without a tree, for tables of a hundred thousand entries -----------------
 *
 * The document is checked when it is opened, as by json_parse, but texts may contain U+0000, and of
 * the limits only the depth applies. After that, a read cannot fail, but the caller must check the
 * kind of each value.
 *
 *     struct json_cursor cursor;
 *     if (json_cursor_open(&cursor, NULL, bytes, size, err)) ...
 *     json_cursor_enter(&cursor);
 *     while (json_cursor_next(&cursor)) {
 *         struct json_span name = json_cursor_name(&cursor);
 *         struct json_span value = json_cursor_value(&cursor);
 *     }
 */

/* A range of bytes in the document. The span of a text keeps the escapes as written, and excludes
 * the quotes unless the function says otherwise. */
struct json_span {
    const char *bytes;
    size_t size;
};

/* The first large objects and arrays of a document, which cursors skip without a scan. */
enum { JSON_CONTAINERS = 16, JSON_CONTAINER_BYTES = 4096 /* least size of a container in bytes */ };

struct json_extent {
    struct json_container {
        const char *bytes;
        size_t size, count; /* `size`: bytes; `count`: number of members or items */
    } containers[JSON_CONTAINERS];
    size_t container_count;
};

struct json_cursor {
    const char *at; /* the next byte to read */
    const char *end;
    const struct json_extent *extent; /* large containers that are skipped quickly; NULL: none are
                                       * known */
};

/* json_cursor_open checks a document and sets the cursor to its value; json_cursor_at makes a
 * cursor at a value of an open document. `extent`, empty or NULL, receives the large containers and
 * must outlive the cursor. */
int json_cursor_open(struct json_cursor *cursor, struct json_extent *extent, const char *bytes,
                     size_t size, struct err *err);
struct json_cursor json_cursor_at(struct json_span value);

/* The kind of the next value: '{', '[', '"', 't' or 'f', 'n' for null, '0' for a number, or 'I' for
 * Infinity. */
static inline char json_cursor_kind(const struct json_cursor *cursor)
{
    char c = *cursor->at;
    return c == '-' || (c >= '0' && c <= '9') ? '0' : c;
}

static inline void json_cursor_skip_blanks(struct json_cursor *cursor)
{
    cursor->at += cursor->at < cursor->end && *cursor->at == ' '; /* most files have one blank
                                                                   * here */
    if (cursor->at < cursor->end && (unsigned char)*cursor->at <= ' ')
        cursor->at = json_blanks_end(cursor->at, cursor->end);
}

/* Enter the object or array at the cursor. */
static inline void json_cursor_enter(struct json_cursor *cursor)
{
    assert(*cursor->at == '{' || *cursor->at == '[');
    cursor->at++;
    json_cursor_skip_blanks(cursor);
}

/* Go to the next member or item and return true, or skip the closing bracket and return false. */
static inline bool json_cursor_next(struct json_cursor *cursor)
{
    json_cursor_skip_blanks(cursor);
    char c = *cursor->at;
    if (c == ',' || c == '}' || c == ']')
        cursor->at++;
    json_cursor_skip_blanks(cursor);
    return c != '}' && c != ']';
}

/* Skip the colon after a name that was read as a text. */
static inline void json_cursor_colon(struct json_cursor *cursor)
{
    json_cursor_skip_blanks(cursor);
    assert(*cursor->at == ':');
    cursor->at++;
    json_cursor_skip_blanks(cursor);
}

/* Skip a member's name and the colon; returns the name. */
struct json_span json_cursor_name(struct json_cursor *cursor);

/* json_cursor_text skips a text and returns its span. json_cursor_read writes the decoded bytes of
 * a text to `out`, which needs room for the size of the span, and returns how many bytes it
 * wrote. */
struct json_span json_cursor_text(struct json_cursor *cursor);
size_t json_cursor_read(struct json_cursor *cursor, char *out);

/* Skip a value and return its span; the span of a text includes its quotes. json_cursor_count also
 * sets `*count` to the number of members or items, or to 0 if the value has none. */
struct json_span json_cursor_value(struct json_cursor *cursor);
struct json_span json_cursor_count(struct json_cursor *cursor, size_t *count);

/* Skip a whole number in [0, max], written in digits only. Returns false for any other value, and
 * does not skip it. `max` must be less than SIZE_MAX / 10. */
bool json_cursor_number(struct json_cursor *cursor, size_t max, size_t *value);

/* Decode the span of a text to `out`, as json_cursor_read does; the closing quote must follow the
 * span. */
size_t json_unescape(char *out, struct json_span text);

/* True if the span is `name`, written without escapes. */
bool json_span_is(struct json_span text, const char *name);
