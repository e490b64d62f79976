/* gguf_value.c: values of a GGUF file's keys, by what they are to be. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "format/gguf.h"
#include "format/gguf_kinds.h"

/* A value as 64 bits, its sign carried on. */
static uint64_t bits_of(enum gguf_kind kind, const char *bytes)
{
    size_t size = gguf_kinds[kind].size;
    uint64_t bits = num_of_bytes(bytes, size);
    unsigned shift = 64 - 8 * (unsigned)size;
    return gguf_kinds[kind].is_signed ? (uint64_t)((int64_t)(bits << shift) >> shift) : bits;
}

static double double_of(enum gguf_kind kind, const char *bytes)
{
    float single = 0;
    double value = 0;
    if (kind == GGUF_F32)
        memcpy(&single, bytes, sizeof single);
    if (kind == GGUF_F64)
        memcpy(&value, bytes, sizeof value);
    if (kind == GGUF_F32 || kind == GGUF_F64)
        return kind == GGUF_F32 ? (double)single : value;
    uint64_t bits = bits_of(kind, bytes);
    return gguf_kinds[kind].is_signed ? (double)(int64_t)bits : (double)bits;
}

static int refuse_kind(const char *key, const char *expected, const struct gguf_value *value,
                       struct err *err)
{
    bool is_array = value->kind == GGUF_ARRAY;
    return err_set(err, "key '%s': expected %s, found %s%s", key, expected,
                   is_array ? "an array of " : "",
                   gguf_kinds[is_array ? value->item_kind : value->kind].name);
}

int gguf_integer(const struct gguf *gguf, const char *key, long long min, long long max,
                 long long *value, struct err *err)
{
    const struct gguf_value *found = gguf_value(gguf, key);
    if (!found)
        return 0;
    if (!gguf_kinds[found->kind].is_whole)
        return refuse_kind(key, "a whole number", found, err);
    uint64_t bits = bits_of(found->kind, found->bytes);
    bool beyond = !gguf_kinds[found->kind].is_signed && bits > INT64_MAX;
    if (beyond || (int64_t)bits < min || (int64_t)bits > max)
        return beyond
                   ? err_set(err, "key '%s': expected a number from %lld to %lld, found %" PRIu64,
                             key, min, max, bits)
                   : err_set(err, "key '%s': expected a number from %lld to %lld, found %" PRId64,
                             key, min, max, (int64_t)bits);
    *value = (long long)bits;
    return 0;
}

int gguf_double(const struct gguf *gguf, const char *key, double min, double max, double *value,
                struct err *err)
{
    const struct gguf_value *found = gguf_value(gguf, key);
    if (!found)
        return 0;
    if (found->kind == GGUF_BOOL || !gguf_kinds[found->kind].size)
        return refuse_kind(key, "a number", found, err);
    double number = double_of(found->kind, found->bytes);
    if (!(number >= min && number <= max))
        return err_set(err, "key '%s': expected a number from %g to %g, found %g", key, min, max,
                       number);
    *value = number;
    return 0;
}

int gguf_bool(const struct gguf *gguf, const char *key, bool *value, struct err *err)
{
    const struct gguf_value *found = gguf_value(gguf, key);
    if (found && found->kind != GGUF_BOOL)
        return refuse_kind(key, "true or false", found, err);
    *value = found ? *found->bytes != 0 : *value;
    return 0;
}

int gguf_text(const struct gguf *gguf, const char *key, struct gguf_text *text, struct err *err)
{
    const struct gguf_value *found = gguf_value(gguf, key);
    if (found && found->kind != GGUF_TEXT)
        return refuse_kind(key, "a text", found, err);
    if (found)
        *text = (struct gguf_text){found->bytes, found->size};
    return 0;
}

int gguf_array(const struct gguf *gguf, const char *key, enum gguf_kind item_kind,
               const struct gguf_value **array, struct err *err)
{
    char expected[64];
    *array = gguf_value(gguf, key);
    if (!*array || ((*array)->kind == GGUF_ARRAY && (*array)->item_kind == item_kind))
        return 0;
    snprintf(expected, sizeof expected, "an array of %s", gguf_kinds[item_kind].name);
    return refuse_kind(key, expected, *array, err);
}

bool gguf_take_text(struct gguf_value *rest, struct gguf_text *text)
{
    if (!rest->count)
        return false;
    text->size = (size_t)num_of_bytes(rest->bytes, GGUF_LENGTH_BYTES);
    text->bytes = rest->bytes + GGUF_LENGTH_BYTES;
    rest->bytes = text->bytes + text->size;
    rest->size -= GGUF_LENGTH_BYTES + text->size;
    rest->count--;
    return true;
}

double gguf_item(const struct gguf_value *array, size_t index)
{
    return double_of(array->item_kind, array->bytes + index * gguf_kinds[array->item_kind].size);
}

bool gguf_is(struct gguf_text text, const char *other)
{
    return text.size == strlen(other) && memcmp(text.bytes, other, text.size) == 0;
}
