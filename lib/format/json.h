/* json.h: JSON as the standard has it, parsed by cJSON after a strict check: cJSON accepts more and
 * cuts texts at U+0000. Getters leave `*out` as it was when the member is absent, so defaults stand
 * where they are declared.
 *
 *     struct json *root = NULL;
 *     long long layers = 12;
 *     if (json_parse(&root, bytes, size, err) ||
 *         json_integer(root, "n_layer", 1, 4096, &layers, err)) ...
 *     json_free(root);
 */
#ifndef ATTN_FORMAT_JSON_H
#define ATTN_FORMAT_JSON_H

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

struct folder;

/* What a tree may hold at most; larger tables are walked through with a cursor. */
enum {
    JSON_DEPTH_MAX = 512, /* nested arrays and objects; cJSON's own limit is 1000 */
    JSON_VALUES_MAX = 1 << 18,
    JSON_TEXT_BYTES_MAX = 16 << 20,
};

/* A large object or array: its position and the number of its members or items. */
struct json_container {
    const char *bytes;
    size_t size;
    size_t count;
};

/* What a document would take as a tree; and some of what is large in it. */
enum { JSON_CONTAINERS = 16, JSON_CONTAINER_BYTES = 4096 /* at least */ };

struct json_extent {
    size_t values;     /* objects, arrays and what is in them */
    size_t text_bytes; /* of all texts and names, as they are written */
    struct json_container containers[JSON_CONTAINERS];
    size_t container_count;
};

/* The first byte that is no blank. Files that people read have lines of them. */
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

/* 0 when the bytes are one JSON value by RFC 8259 to the letter; errors give the byte offset.
 * `extent`, which may be NULL, is how much there is of it. */
int json_grammar_check(struct json_extent *extent, const char *bytes, size_t size, struct err *err);

struct json; /* one value: an object, array, text, number, true, false or null */

/* Parse one document, without \u0000 and not too large; the caller frees `*root` with json_free. */
int json_parse(struct json **root, const char *bytes, size_t size, struct err *err);
void json_free(struct json *root);

/* Parse a file of a folder, let `read` have its root, and free that. Errors get path and file. */
int json_read_file(const struct folder *folder, const char *name,
                   int (*read)(void *context, const struct json *root, struct err *err),
                   void *context, struct err *err);

bool json_is_object(const struct json *value);
bool json_is_array(const struct json *value);
bool json_is_null(const struct json *value);

/* The text, number or truth of a value, or its number where that is whole and in [min, max]; false,
 * and `*out` untouched, when it is something else. Texts live as long as the root. */
bool json_get_text(const struct json *value, const char **out);
bool json_get_number(const struct json *value, double *out);
bool json_get_bool(const struct json *value, bool *out);
bool json_get_integer(const struct json *value, long long min, long long max, long long *out);

/* A value for messages, `"twelve"`, `3.5`, `an array`, in `size` bytes; returns `text`. */
const char *json_describe(const struct json *value, char *text, size_t size);

/* Say of a member that another value was expected; returns -1. */
int json_refuse(const struct json *member, const char *expected, struct err *err);

/* The member of that exact name, found by a walk; NULL where there is none, or no object. */
const struct json *json_member(const struct json *object, const char *name);

/* The same, but also NULL if it is null: the default is kept. */
const struct json *json_given(const struct json *object, const char *name);

/* Has json_member found it, or a getter that takes names? Else nothing can depend on it. */
bool json_was_asked_for(const struct json *member);

/* Walk the members of an object or the items of an array; NULL at the end. */
const struct json *json_first(const struct json *container);
const struct json *json_next(const struct json *value);
const char *json_key(const struct json *member); /* a member's name */
size_t json_count(const struct json *container);

/* Refuse an object that contains a name twice. */
int json_unique_keys(const struct json *object, struct err *err);

/* Typed members: absent or null leaves `*out` alone; a wrong type or range is an error that reads
 * `field 'n_head': expected an integer from 1 to 4096, found "twelve"`. */
int json_integer(const struct json *object, const char *name, long long min, long long max,
                 long long *out, struct err *err);
int json_double(const struct json *object, const char *name, double min, double max, double *out,
                struct err *err);
int json_bool(const struct json *object, const char *name, bool *out, struct err *err);
int json_text(const struct json *object, const char *name, const char **out, struct err *err);

/* The same for an array; `*out` is NULL if it is absent or null. */
int json_list(const struct json *object, const char *name, const struct json **out,
              struct err *err);

/* --- a walk through JSON without a tree, for tables of a hundred thousand entries ---------------
 *
 * The document is checked once, as json_parse does, but texts may hold U+0000; after that only
 * types can be wrong.
 *
 *     struct json_cursor cursor;
 *     if (json_cursor_open(&cursor, NULL, bytes, size, err)) ...
 *     json_cursor_enter(&cursor);
 *     while (json_cursor_next(&cursor)) {
 *         struct json_span name = json_cursor_name(&cursor);
 *         struct json_span value = json_cursor_value(&cursor);
 *     }
 */

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
static inline char json_cursor_kind(const struct json_cursor *cursor)
{
    char c = *cursor->at;
    return c == '-' || (c >= '0' && c <= '9') ? '0' : c;
}

static inline void json_cursor_skip_blanks(struct json_cursor *cursor)
{
    cursor->at += cursor->at < cursor->end && *cursor->at == ' '; /* one, in most files */
    if (cursor->at < cursor->end && (unsigned char)*cursor->at <= ' ')
        cursor->at = json_blanks_end(cursor->at, cursor->end);
}

/* Step into the object or array that comes; true before a further member or item, false at the end,
 * which is passed. */
static inline void json_cursor_enter(struct json_cursor *cursor)
{
    assert(*cursor->at == '{' || *cursor->at == '[');
    cursor->at++;
    json_cursor_skip_blanks(cursor);
}

static inline bool json_cursor_next(struct json_cursor *cursor)
{
    json_cursor_skip_blanks(cursor);
    char c = *cursor->at;
    if (c == ',' || c == '}' || c == ']')
        cursor->at++;
    json_cursor_skip_blanks(cursor);
    return c != '}' && c != ']';
}

/* Skip a member's name, up to its value. */
struct json_span json_cursor_name(struct json_cursor *cursor);

/* Pass the text that comes; the second writes the bytes that it stands for to `out`, which has room
 * for as many as it is written with, and returns how many they are. */
struct json_span json_cursor_text(struct json_cursor *cursor);
size_t json_cursor_read(struct json_cursor *cursor, char *out);

/* Pass the colon after a name that was passed as a text. */
static inline void json_cursor_colon(struct json_cursor *cursor)
{
    json_cursor_skip_blanks(cursor);
    assert(*cursor->at == ':');
    cursor->at++;
    json_cursor_skip_blanks(cursor);
}

/* Pass the value that comes, whatever it is; a text's span has its quotes. The second tells by the
 * way how many members or items it has. */
struct json_span json_cursor_value(struct json_cursor *cursor);
struct json_span json_cursor_count(struct json_cursor *cursor, size_t *count);

/* Pass the number that comes when it is whole, in [0, max] and written in digits alone; else false,
 * and json_parse on the value's span tells what it is. `max` is far below SIZE_MAX. */
bool json_cursor_number(struct json_cursor *cursor, size_t max, size_t *value);

/* The decoded bytes of a string, as json_cursor_read. */
size_t json_unescape(char *out, struct json_span text);

/* Whether the string is `name`, written without escapes. */
bool json_span_is(struct json_span text, const char *name);

#endif
