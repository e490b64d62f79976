#include "format/json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>

#include "base/folder.h"
#include "base/heap.h"
#include "base/map.h"
#include "base/num.h"
#include "base/utf8.h"
#include "format/other_format.h"

enum { DESCRIPTION_BYTES = 80 };

/* From 2^53 on doubles skip integers: what was written can no longer be known. */
#define EXACT_INTEGER_MAX 9007199254740991.0

static const cJSON *tree_of(const struct json *value)
{
    return (const cJSON *)value;
}

static const struct json *value_of(const cJSON *tree)
{
    return (const struct json *)tree;
}

/* A tree takes up to forty times the bytes that it is written with. */
static int check_extent(const struct json_extent *extent, struct err *err)
{
    if (extent->values > JSON_VALUES_MAX)
        return err_set(err, "expected at most %d values, found %zu", JSON_VALUES_MAX,
                       extent->values);
    if (extent->text_bytes > JSON_TEXT_BYTES_MAX)
        return err_set(err, "expected at most %d bytes of texts, found %zu", JSON_TEXT_BYTES_MAX,
                       extent->text_bytes);
    return 0;
}

/* cJSON keeps its allocator in a global, which it first sets to malloc: once for all threads. */
static void hook(void)
{
    cJSON_InitHooks(&(cJSON_Hooks){heap_hook, heap_free});
}

int json_parse(struct json **root, const char *bytes, size_t size, struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct json_extent extent;
    if (json_grammar_check(&extent, bytes, size, err) ||
        json_grammar_check_zeros(bytes, size, err) || check_extent(&extent, err))
        return -1;
    pthread_once(&once, hook);
    cJSON *tree = cJSON_ParseWithLength(bytes, size);
    if (!tree)
        return err_memory(err, size);
    *root = (struct json *)tree;
    return 0;
}

void json_free(struct json *root)
{
    cJSON_Delete((cJSON *)root);
}

struct reader {
    int (*read)(void *context, const struct json *root, struct err *err);
    void *context;
};

static int read_root(void *context, const struct file *file, struct err *err)
{
    const struct reader *reader = context;
    struct json *root = NULL;
    int failed = other_format_refuse(file->bytes, file->size, "JSON", err) ||
                 json_parse(&root, file->bytes, file->size, err) ||
                 reader->read(reader->context, root, err);
    json_free(root);
    return failed ? -1 : 0;
}

int json_read_file(const struct folder *folder, const char *name,
                   int (*read)(void *context, const struct json *root, struct err *err),
                   void *context, struct err *err)
{
    struct reader reader = {read, context};
    return folder_read(folder, name, read_root, &reader, err);
}

bool json_is_object(const struct json *value)
{
    return cJSON_IsObject(tree_of(value));
}

bool json_is_array(const struct json *value)
{
    return cJSON_IsArray(tree_of(value));
}

bool json_is_null(const struct json *value)
{
    return cJSON_IsNull(tree_of(value));
}

bool json_get_text(const struct json *value, const char **out)
{
    if (!cJSON_IsString(tree_of(value)))
        return false;
    *out = tree_of(value)->valuestring;
    return true;
}

bool json_get_number(const struct json *value, double *out)
{
    if (!cJSON_IsNumber(tree_of(value)))
        return false;
    *out = tree_of(value)->valuedouble;
    return true;
}

bool json_get_bool(const struct json *value, bool *out)
{
    if (!cJSON_IsBool(tree_of(value)))
        return false;
    *out = cJSON_IsTrue(tree_of(value));
    return true;
}

bool json_get_integer(const struct json *value, long long min, long long max, long long *out)
{
    double number = 0;
    if (!json_get_number(value, &number) || !(fabs(number) <= EXACT_INTEGER_MAX))
        return false;
    long long integer = (long long)number;
    if ((double)integer != number || integer < min || integer > max)
        return false;
    *out = integer;
    return true;
}

/* The text in quotes on one line, what cannot be seen as an escape; "..." stands for the rest. */
static void describe_text(const char *bytes, char *text, size_t size)
{
    enum { TAIL_BYTES = sizeof "...\"" };
    size_t left = strlen(bytes);
    size_t used = 1;
    snprintf(text, size, "\"");
    while (left > 0) {
        char piece[16];
        uint32_t character = 0;
        size_t length = utf8_decode(&character, bytes, left);
        if (utf8_is_visible(character))
            snprintf(piece, sizeof piece, "%.*s", (int)length, bytes);
        else
            snprintf(piece, sizeof piece, "\\u%04x", (unsigned)character);
        if (used + strlen(piece) + TAIL_BYTES > size)
            break;
        used += (size_t)snprintf(text + used, size - used, "%s", piece);
        bytes += length;
        left -= length;
    }
    if (used < size)
        snprintf(text + used, size - used, "%s", left > 0 ? "...\"" : "\"");
}

static void describe_number(double number, char *text, size_t size)
{
    char shortest[NUM_DOUBLE_BYTES];
    if (isinf(number)) {
        snprintf(text, size, "a number that is too large");
        return;
    }
    num_double(shortest, number);
    snprintf(text, size, "%s", shortest);
}

const char *json_describe(const struct json *value, char *text, size_t size)
{
    const cJSON *tree = tree_of(value);
    const char *kind = cJSON_IsObject(tree)  ? "an object"
                       : cJSON_IsArray(tree) ? "an array"
                       : cJSON_IsNull(tree)  ? "null"
                       : cJSON_IsTrue(tree)  ? "true"
                       : cJSON_IsFalse(tree) ? "false"
                                             : "nothing";
    if (cJSON_IsString(tree))
        describe_text(tree->valuestring, text, size);
    else if (cJSON_IsNumber(tree))
        describe_number(tree->valuedouble, text, size);
    else
        snprintf(text, size, "%s", kind);
    return text;
}

enum { ASKED_FOR = 1 << 12 }; /* beside cJSON's own bits of a type */

const struct json *json_member(const struct json *object, const char *name)
{
    cJSON *member =
        json_is_object(object) ? cJSON_GetObjectItemCaseSensitive(tree_of(object), name) : NULL;
    if (member)
        member->type |= ASKED_FOR;
    return value_of(member);
}

bool json_was_asked_for(const struct json *member)
{
    return tree_of(member)->type & ASKED_FOR;
}

const struct json *json_first(const struct json *container)
{
    return container ? value_of(tree_of(container)->child) : NULL;
}

const struct json *json_next(const struct json *value)
{
    return value_of(tree_of(value)->next);
}

const char *json_key(const struct json *member)
{
    return tree_of(member)->string;
}

size_t json_count(const struct json *container)
{
    size_t count = 0;
    for (const struct json *v = json_first(container); v; v = json_next(v))
        count++;
    return count;
}

int json_unique_keys(const struct json *object, struct err *err)
{
    struct map seen = {0};
    int failed = map_reserve(&seen, json_count(object), err);
    for (const struct json *v = json_first(object); v && !failed; v = json_next(v)) {
        const char *key = json_key(v);
        if (map_get(&seen, key, strlen(key), NULL))
            failed = err_set(err, "field '%s': expected once, found twice", key);
        else
            failed = map_put(&seen, key, strlen(key), 0, err);
    }
    map_release(&seen);
    return failed;
}

const struct json *json_given(const struct json *object, const char *name)
{
    const struct json *member = json_member(object, name);
    return json_is_null(member) ? NULL : member;
}

int json_refuse(const struct json *member, const char *expected, struct err *err)
{
    char text[DESCRIPTION_BYTES];
    return err_set(err, "field '%s': expected %s, found %s", json_key(member), expected,
                   json_describe(member, text, sizeof text));
}

int json_integer(const struct json *object, const char *name, long long min, long long max,
                 long long *out, struct err *err)
{
    const struct json *member = json_given(object, name);
    if (!member || json_get_integer(member, min, max, out))
        return 0;
    char expected[DESCRIPTION_BYTES];
    snprintf(expected, sizeof expected, "an integer from %lld to %lld", min, max);
    return json_refuse(member, expected, err);
}

int json_double(const struct json *object, const char *name, double min, double max, double *out,
                struct err *err)
{
    const struct json *member = json_given(object, name);
    double number = 0;
    if (!member)
        return 0;
    if (json_get_number(member, &number) && isfinite(number) && number >= min && number <= max) {
        *out = number;
        return 0;
    }
    char expected[DESCRIPTION_BYTES];
    snprintf(expected, sizeof expected, "a number from %g to %g", min, max);
    return json_refuse(member, expected, err);
}

int json_bool(const struct json *object, const char *name, bool *out, struct err *err)
{
    const struct json *member = json_given(object, name);
    return !member || json_get_bool(member, out) ? 0 : json_refuse(member, "true or false", err);
}

int json_text(const struct json *object, const char *name, const char **out, struct err *err)
{
    const struct json *member = json_given(object, name);
    return !member || json_get_text(member, out) ? 0 : json_refuse(member, "a text", err);
}
