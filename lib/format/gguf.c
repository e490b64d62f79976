/* gguf.c: a file has, in this order: "GGUF", the version, the numbers of tensors and of keys, the
 * keys with their values, the names, sizes, types and offsets of tensors, and their aligned data.
 */
#include "format/gguf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/utf8.h"

enum {
    LENGTH_BYTES = 8, /* bytes of the length of a text, or of the number of an array's items */
    KEY_MAX = 65535,  /* maximum bytes of a key in the format, and here also of a tensor's name */
    DEFAULT_ALIGNMENT = 32,
    PAIR_BYTES_MIN = 8 + 1 + 4 + 1,        /* minimum bytes of a pair: a key, a kind, a value */
    TENSOR_BYTES_MIN = 8 + 1 + 4 + 8 + 12, /* minimum bytes of a tensor's entry: a name, a rank, a
                                            * size, a type, an offset */
};

static const struct {
    const char *name;
    size_t size; /* bytes of a value; 0: the size varies */
    bool is_whole, is_signed;
} gguf_kinds[GGUF_KINDS] = {
    [GGUF_U8] = {"uint8", 1, true},   [GGUF_I8] = {"int8", 1, true, true},
    [GGUF_U16] = {"uint16", 2, true}, [GGUF_I16] = {"int16", 2, true, true},
    [GGUF_U32] = {"uint32", 4, true}, [GGUF_I32] = {"int32", 4, true, true},
    [GGUF_F32] = {"float32", 4},      [GGUF_BOOL] = {"bool", 1},
    [GGUF_TEXT] = {"string", 0},      [GGUF_ARRAY] = {"array", 0},
    [GGUF_U64] = {"uint64", 8, true}, [GGUF_I64] = {"int64", 8, true, true},
    [GGUF_F64] = {"float64", 8},
};

/* The number types of ggml; the index of a type is ggml's number for it. */
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

/* --- bytes ------------------------------------------------------------------------------------ */

/* A position in the file. After a failure, functions that read return 0 for a number, and NULL for
 * a text or bytes. */
struct cursor {
    const char *at, *end;
    struct err *err;
    bool failed;
};

static size_t left(const struct cursor *cursor)
{
    return (size_t)(cursor->end - cursor->at);
}

static const char *take(struct cursor *cursor, uint64_t size)
{
    const char *bytes = cursor->at;
    if (!cursor->failed && size > left(cursor)) {
        err_set(cursor->err, "expected %" PRIu64 " bytes, found %zu to the end of the file", size,
                left(cursor));
        cursor->failed = true;
    }
    cursor->at += cursor->failed ? 0 : size;
    return cursor->failed ? NULL : bytes;
}

static uint64_t take_number(struct cursor *cursor, size_t size)
{
    const char *bytes = take(cursor, size);
    return bytes ? num_of_bytes(bytes, size) : 0;
}

static struct gguf_text take_text(struct cursor *cursor)
{
    uint64_t size = take_number(cursor, LENGTH_BYTES);
    const char *bytes = take(cursor, size);
    return (struct gguf_text){bytes, bytes ? (size_t)size : 0};
}

/* Read a key or a tensor's name, and copy it to the arena. */
static int take_name(struct cursor *cursor, const char **name, struct arena *arena)
{
    struct err *err = cursor->err;
    struct gguf_text text = take_text(cursor);
    if (cursor->failed)
        return -1;
    if (!text.size || text.size > KEY_MAX)
        return err_set(err, "expected a name of 1 to %d bytes, found %zu", KEY_MAX, text.size);
    if (utf8_invalid_at(text.bytes, text.size) < text.size || memchr(text.bytes, '\0', text.size))
        return err_set(err, "expected a name in UTF-8");
    *name = arena_text(arena, text.bytes, text.size, err);
    return *name ? 0 : -1;
}

/* --- keys ------------------------------------------------------------------------------------- */

static int take_kind(struct cursor *cursor, enum gguf_kind *kind)
{
    uint64_t number = take_number(cursor, 4);
    if (number >= GGUF_KINDS)
        return err_set(cursor->err, "expected a kind of value from 0 to %d, found %" PRIu64,
                       GGUF_KINDS - 1, number);
    *kind = (enum gguf_kind)number;
    return err_if(cursor->failed);
}

static int take_items(struct cursor *cursor, enum gguf_kind kind, uint64_t count)
{
    size_t size = gguf_kinds[kind].size;
    if (size && count > left(cursor) / size)
        return err_set(cursor->err,
                       "expected %" PRIu64 " items of %zu bytes, found %zu to the end of the "
                       "file",
                       count, size, left(cursor));
    if (size)
        return err_if(!take(cursor, count * size));
    for (uint64_t i = 0; i < count; i++)
        if (!take_text(cursor).bytes)
            return err_prefix(cursor->err, "item %" PRIu64, i);
    return 0;
}

static int take_array(struct cursor *cursor, struct gguf_value *value)
{
    int failed = take_kind(cursor, &value->item_kind);
    uint64_t count = take_number(cursor, LENGTH_BYTES);
    if (failed || cursor->failed)
        return -1;
    if (value->item_kind == GGUF_ARRAY)
        return err_unsupported(cursor->err, "an array of arrays is not supported");
    value->bytes = cursor->at;
    if (take_items(cursor, value->item_kind, count))
        return -1;
    value->count = (size_t)count;
    value->size = (size_t)(cursor->at - value->bytes);
    return 0;
}

static int take_value(struct cursor *cursor, struct gguf_value *value)
{
    value->count = 1;
    if (take_kind(cursor, &value->kind))
        return -1;
    if (value->kind == GGUF_ARRAY)
        return take_array(cursor, value);
    value->size = value->kind == GGUF_TEXT ? (size_t)take_number(cursor, LENGTH_BYTES)
                                           : gguf_kinds[value->kind].size;
    value->bytes = take(cursor, value->size);
    return err_if(cursor->failed);
}

static int read_pairs(struct gguf *gguf, struct cursor *cursor, struct err *err)
{
    for (size_t i = 0; i < gguf->pair_count; i++) {
        struct gguf_pair *pair = &gguf->pairs[i];
        if (take_name(cursor, &pair->key, &gguf->arena))
            return err_prefix(err, "key %zu of %zu", i, gguf->pair_count);
        if (hash_table_add(&gguf->keys, "key", pair->key, strlen(pair->key), (uint32_t)i, err))
            return -1;
        if (take_value(cursor, &pair->value))
            return err_prefix(err, "key '%s'", pair->key);
    }
    return 0;
}

/* --- tensors ---------------------------------------------------------------------------------- */

static int take_sizes(struct cursor *cursor, struct gguf_tensor *tensor)
{
    struct err *err = cursor->err;
    uint64_t rank = take_number(cursor, 4);
    if (rank < 1 || rank > GGUF_RANK_MAX)
        return err_set(err, "expected 1 to %d dimensions, found %" PRIu64, GGUF_RANK_MAX, rank);
    tensor->rank = (size_t)rank;
    tensor->count = 1;
    for (size_t i = 0; i < tensor->rank; i++) {
        uint64_t size = take_number(cursor, 8);
        tensor->sizes[i] = (size_t)size;
        if (!size || size > INT64_MAX ||
            !num_multiply(&tensor->count, tensor->count, tensor->sizes[i]))
            return err_set(err,
                           "dimension %zu: expected sizes whose product fits in 64 bits, found "
                           "%" PRIu64,
                           i, size);
    }
    return 0;
}

static int take_type(struct cursor *cursor, struct gguf_tensor *tensor)
{
    struct err *err = cursor->err;
    uint64_t number = take_number(cursor, 4);
    if (number >= GGUF_TYPES || !gguf_types[number].name)
        return err_unsupported(err,
                               "expected a type such as 0 (F32), 1 (F16), 8 (Q8_0) or 30 "
                               "(BF16), found %" PRIu64,
                               number);
    tensor->type = &gguf_types[number];
    if (tensor->sizes[0] % tensor->type->block)
        return err_set(err, "expected rows of a multiple of %zu numbers for %s, found %zu",
                       tensor->type->block, tensor->type->name, tensor->sizes[0]);
    return err_if(cursor->failed);
}

/* Set `begin` and `end` as offsets from the start of the data; locate_tensors adds the offset of
 * the data in the file. */
static int take_range(struct cursor *cursor, struct gguf_tensor *tensor, size_t alignment)
{
    struct err *err = cursor->err;
    uint64_t offset = take_number(cursor, 8);
    size_t size = 0;
    if (offset % alignment)
        return err_set(err, "expected an offset that is a multiple of %zu, found %" PRIu64,
                       alignment, offset);
    tensor->begin = (size_t)offset;
    if (!num_multiply(&size, tensor->count / tensor->type->block, tensor->type->block_bytes) ||
        !num_add(&tensor->end, tensor->begin, size))
        return err_set(err, "expected an end that fits in 64 bits, found offset %" PRIu64, offset);
    return err_if(cursor->failed);
}

static int read_tensors(struct gguf *gguf, struct cursor *cursor, struct err *err)
{
    for (size_t i = 0; i < gguf->tensor_count; i++) {
        struct gguf_tensor *tensor = &gguf->tensors[i];
        if (take_name(cursor, &tensor->name, &gguf->arena))
            return err_prefix(err, "tensor %zu of %zu", i, gguf->tensor_count);
        if (hash_table_add(&gguf->names, "tensor", tensor->name, strlen(tensor->name), (uint32_t)i,
                           err))
            return -1;
        if (take_sizes(cursor, tensor) || take_type(cursor, tensor) ||
            take_range(cursor, tensor, gguf->alignment))
            return err_prefix(err, "tensor '%s'", tensor->name);
    }
    return 0;
}

static int by_begin(const void *left, const void *right)
{
    const struct gguf_tensor *a = *(const struct gguf_tensor *const *)left;
    const struct gguf_tensor *b = *(const struct gguf_tensor *const *)right;
    return a->begin != b->begin ? (a->begin < b->begin ? -1 : 1) : strcmp(a->name, b->name);
}

/* Check that all tensors are in the file and do not overlap, and make their offsets count from the
 * start of the file. */
static int locate_tensors(struct gguf *gguf, const struct cursor *cursor, struct err *err)
{
    size_t header = (size_t)(cursor->at - gguf->file.bytes);
    size_t data = (header + gguf->alignment - 1) / gguf->alignment * gguf->alignment;
    size_t left = data < gguf->file.size ? gguf->file.size - data : 0;
    size_t end = 0;
    struct gguf_tensor **order =
        arena_alloc(&gguf->arena, gguf->tensor_count + 1, sizeof *order, err);
    if (!order)
        return -1;
    for (size_t i = 0; i < gguf->tensor_count; i++)
        order[i] = &gguf->tensors[i];
    qsort(order, gguf->tensor_count, sizeof *order, by_begin);
    for (size_t i = 0; i < gguf->tensor_count; i++) {
        struct gguf_tensor *tensor = order[i];
        if (tensor->begin < end)
            return err_set(err,
                           "tensor '%s': expected an offset from %zu on, where another ends, "
                           "found %zu",
                           tensor->name, end, tensor->begin);
        if (tensor->end > left)
            return err_set(err,
                           "tensor '%s': expected data up to byte %zu of %zu, found the end "
                           "of the file: it is incomplete, download it again",
                           tensor->name, tensor->end, left);
        end = tensor->end;
        tensor->begin += data;
        tensor->end += data;
    }
    return 0;
}

/* --- the file --------------------------------------------------------------------------------- */

static int take_magic(struct gguf *gguf, struct cursor *cursor, struct err *err)
{
    bool is = gguf->file.size >= 4 && memcmp(gguf->file.bytes, "GGUF", 4) == 0;
    if (!is && file_refuse_format(gguf->file.bytes, gguf->file.size, "a GGUF file", err))
        return -1;
    if (!is)
        return err_set(err, "expected a GGUF file, found one that does not begin with GGUF");
    take(cursor, 4);
    uint64_t version = take_number(cursor, 4);
    if (cursor->failed)
        return -1;
    if (version && version % 65536 == 0)
        return err_unsupported(err, "expected a little-endian file, found a big-endian one");
    if (version != 2 && version != 3)
        return err_unsupported(err, "expected version 2 or 3, found %" PRIu64, version);
    return 0;
}

static int take_count(struct cursor *cursor, const char *what, size_t bytes_min, size_t *count)
{
    uint64_t number = take_number(cursor, 8);
    size_t most = num_min(left(cursor) / bytes_min, UINT32_MAX);
    if (number > most)
        return err_set(cursor->err,
                       "expected at most %zu %s in a file of this size, found %" PRIu64, most, what,
                       number);
    *count = (size_t)number;
    return err_if(cursor->failed);
}

static int read_all(struct gguf *gguf, struct err *err)
{
    struct cursor cursor = {gguf->file.bytes, gguf->file.bytes + gguf->file.size, err, false};
    if (take_magic(gguf, &cursor, err) ||
        take_count(&cursor, "tensors", TENSOR_BYTES_MIN, &gguf->tensor_count) ||
        take_count(&cursor, "keys", PAIR_BYTES_MIN, &gguf->pair_count))
        return -1;
    gguf->pairs = arena_alloc(&gguf->arena, gguf->pair_count + 1, sizeof *gguf->pairs, err);
    gguf->tensors = arena_alloc(&gguf->arena, gguf->tensor_count + 1, sizeof *gguf->tensors, err);
    if (!gguf->pairs || !gguf->tensors)
        return -1;
    long long alignment = DEFAULT_ALIGNMENT;
    if (read_pairs(gguf, &cursor, err) ||
        gguf_integer(gguf, "general.alignment", 1, GGUF_ALIGNMENT_MAX, &alignment, err))
        return -1;
    if (alignment & (alignment - 1))
        return err_set(err, "key 'general.alignment': expected a power of 2, found %lld",
                       alignment);
    gguf->alignment = (size_t)alignment;
    return err_if(read_tensors(gguf, &cursor, err) || locate_tensors(gguf, &cursor, err));
}

int gguf_read(struct gguf *gguf, struct file *file, struct err *err)
{
    *gguf = (struct gguf){.file = *file};
    *file = (struct file){0};
    if (!read_all(gguf, err))
        return 0;
    gguf_release(gguf);
    return -1;
}

int gguf_open(struct gguf *gguf, const char *path, struct err *err)
{
    struct file file = {0};
    if (file_map_regular(&file, path, err))
        return -1;
    return gguf_read(gguf, &file, err) ? err_prefix(err, "'%s'", path) : 0;
}

void gguf_release(struct gguf *gguf)
{
    hash_table_release(&gguf->keys);
    hash_table_release(&gguf->names);
    arena_release(&gguf->arena);
    file_release(&gguf->file);
    *gguf = (struct gguf){0};
}

const struct gguf_value *gguf_value(const struct gguf *gguf, const char *key)
{
    uint32_t i = 0;
    return hash_table_get(&gguf->keys, key, strlen(key), &i) ? &gguf->pairs[i].value : NULL;
}

const struct gguf_tensor *gguf_find(const struct gguf *gguf, const char *name)
{
    uint32_t i = 0;
    return hash_table_get(&gguf->names, name, strlen(name), &i) ? &gguf->tensors[i] : NULL;
}

/* --- values of keys --------------------------------------------------------------------------- */

/* Return an integer as 64 bits; a signed integer is sign-extended. */
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
    text->size = (size_t)num_of_bytes(rest->bytes, LENGTH_BYTES);
    text->bytes = rest->bytes + LENGTH_BYTES;
    rest->bytes = text->bytes + text->size;
    rest->size -= LENGTH_BYTES + text->size;
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
