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

#include <stdint.h>
#include <string.h>

#include "base/err.h"

struct folder;

/* What a tree may hold at most; tables of more entries are walked through: json_cursor.h. */
enum {
    JSON_DEPTH_MAX = 512, /* nested arrays and objects; cJSON's own limit is 1000 */
    JSON_VALUES_MAX = 1 << 18,
    JSON_TEXT_BYTES_MAX = 16 << 20,
};

/* A large object or array: where it stands, and how many members or items it has. */
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
 * `extent`, which may be NULL, is how much there is of it. The second refuses the escape \u0000 in
 * such a value: it would end texts early. */
int json_grammar_check(struct json_extent *extent, const char *bytes, size_t size, struct err *err);
int json_grammar_check_zeros(const char *bytes, size_t size, struct err *err);

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

/* The same, but NULL where it is null, too: the default stands. */
const struct json *json_given(const struct json *object, const char *name);

/* Has json_member found it, or a getter that takes names? Else nothing can depend on it. */
bool json_was_asked_for(const struct json *member);

/* Walk the members of an object or the items of an array; NULL at the end. */
const struct json *json_first(const struct json *container);
const struct json *json_next(const struct json *value);
const char *json_key(const struct json *member); /* a member's name */
size_t json_count(const struct json *container);

/* Refuse an object in which a name stands twice, naming it. */
int json_unique_keys(const struct json *object, struct err *err);

/* Typed members: absent or null leaves `*out` alone; a wrong type or range is an error that reads
 * `field 'n_head': expected an integer from 1 to 4096, found "twelve"`. */
int json_integer(const struct json *object, const char *name, long long min, long long max,
                 long long *out, struct err *err);
int json_double(const struct json *object, const char *name, double min, double max, double *out,
                struct err *err);
int json_bool(const struct json *object, const char *name, bool *out, struct err *err);
int json_text(const struct json *object, const char *name, const char **out, struct err *err);

#endif
