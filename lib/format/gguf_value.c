/* gguf_value.c: what values and numbers a GGUF file may have, and values of its keys, by what they
 * are to be. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "format/gguf.h"

const struct gguf_kind_row gguf_kinds[GGUF_KINDS] = {
    [GGUF_U8] = {"uint8", 1, true},   [GGUF_I8] = {"int8", 1, true, true},
    [GGUF_U16] = {"uint16", 2, true}, [GGUF_I16] = {"int16", 2, true, true},
    [GGUF_U32] = {"uint32", 4, true}, [GGUF_I32] = {"int32", 4, true, true},
    [GGUF_F32] = {"float32", 4},      [GGUF_BOOL] = {"bool", 1},
    [GGUF_TEXT] = {"string", 0},      [GGUF_ARRAY] = {"array", 0},
    [GGUF_U64] = {"uint64", 8, true}, [GGUF_I64] = {"int64", 8, true, true},
    [GGUF_F64] = {"float64", 8},
};

/* By the numbers that ggml gives them, four a line. */
/* clang-format off */
const struct gguf_type gguf_types[GGUF_TYPES] = {
    {"F32", 1, 4},        {"F16", 1, 2},      {"Q4_0", 32, 18},     {"Q4_1", 32, 20},
    {0},                  {0},                {"Q5_0", 32, 22},     {"Q5_1", 32, 24},
    {"Q8_0", 32, 34},     {"Q8_1", 32, 36},   {"Q2_K", 256, 84},    {"Q3_K", 256, 110},
    {"Q4_K", 256, 144},   {"Q5_K", 256, 176}, {"Q6_K", 256, 210},   {"Q8_K", 256, 292},
    {"IQ2_XXS", 256, 66}, {"IQ2_XS", 256, 74}, {"IQ3_XXS", 256, 98}, {"IQ1_S", 256, 50},
    {"IQ4_NL", 32, 18},   {"IQ3_S", 256, 110}, {"IQ2_S", 256, 82},  {"IQ4_XS", 256, 136},
    {"I8", 1, 1},         {"I16", 1, 2},      {"I32", 1, 4},        {"I64", 1, 8},
    {"F64", 1, 8},        {"IQ1_M", 256, 56}, {"BF16", 1, 2},       {0},
    {0},                  {0},                {"TQ1_0", 256, 54},   {"TQ2_0", 256, 66},
    {0},                  {0},                {0},                  {"MXFP4", 32, 17},
};
/* clang-format on */

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
