#include "format/safetensors.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/num.h"
#include "format/json.h"
#include "format/json_writer.h"

enum {
    LENGTH_BYTES = 8, /* the file begins with the header's length, little-endian */
    ALIGN_BYTES = 8,
    FOUND_BYTES = 80,
    SHAPE_BYTES = 24 * SAFETENSORS_RANK_MAX,
};

/* How errors describe a valid size or offset: json.h reads only integers below 2^53. */
#define NUMBERS "a whole number from 0 to 9007199254740991"

static int read_length(size_t *length, const struct file *file, struct err *err)
{
    size_t rest = file->size < LENGTH_BYTES ? 0 : file->size - LENGTH_BYTES;
    uint64_t claimed = file->size < LENGTH_BYTES ? 0 : num_of_bytes(file->bytes, LENGTH_BYTES);
    bool has_header = rest && claimed <= rest && memchr("{ \t\n\r", file->bytes[LENGTH_BYTES], 5);
    /* A file with a header of 640 bytes begins like a pickle, so look for a header first. */
    if (!has_header && file_refuse_format(file->bytes, file->size, "a safetensors file", err))
        return -1;
    if (file->size < LENGTH_BYTES)
        return err_set(err, "expected at least %d bytes, found %zu", LENGTH_BYTES, file->size);
    if (claimed > SAFETENSORS_HEADER_MAX)
        return err_set(err, "header: expected at most %d bytes, found a length of %" PRIu64,
                       SAFETENSORS_HEADER_MAX, claimed);
    if (claimed > rest)
        return err_set(err, "header: expected %" PRIu64 " bytes, found %zu to the end of the file",
                       claimed, rest);
    *length = (size_t)claimed;
    return 0;
}

static int refuse_field(const char *name, const struct json *field, const char *expected,
                        struct err *err)
{
    char found[FOUND_BYTES];
    return err_set(err, "%s: expected %s, found %s", name, expected,
                   json_describe(field, found, sizeof found));
}

static int check_metadata(const struct json *metadata, struct err *err)
{
    const char *text = NULL;
    if (json_is_null(metadata)) /* the reference implementation accepts null */
        return 0;
    if (!json_is_object(metadata))
        return refuse_field("__metadata__", metadata, "an object", err);
    if (json_unique_keys(metadata, err))
        return err_prefix(err, "__metadata__");
    for (const struct json *note = json_first(metadata); note; note = json_next(note)) {
        if (!json_get_text(note, &text)) {
            refuse_field(json_key(note), note, "a text", err);
            return err_prefix(err, "__metadata__");
        }
    }
    return 0;
}

static int read_dtype(struct safetensors_entry *entry, const struct json *info, struct err *err)
{
    const struct json *field = json_member(info, "dtype");
    const char *name = NULL;
    if (json_get_text(field, &name) && dtype_find(name, &entry->dtype) &&
        !dtype_is_quantised(entry->dtype))
        return 0;
    return refuse_field("dtype", field, "a known type such as \"F32\"", err);
}

static int read_shape(struct safetensors_entry *entry, const struct json *info, struct err *err)
{
    const struct json *field = json_member(info, "shape");
    if (!json_is_array(field))
        return refuse_field("shape", field, "an array", err);
    if (json_count(field) > SAFETENSORS_RANK_MAX)
        return err_unsupported(err, "shape: expected at most %d dimensions, found %zu",
                               SAFETENSORS_RANK_MAX, json_count(field));
    for (const struct json *item = json_first(field); item; item = json_next(item)) {
        long long dimension = 0;
        if (!json_get_integer(item, 0, LLONG_MAX, &dimension))
            return refuse_field("shape", item, NUMBERS, err);
        entry->shape[entry->rank++] = (size_t)dimension;
    }
    return 0;
}

static int read_range(struct safetensors_entry *entry, const struct json *info, struct err *err)
{
    const struct json *field = json_member(info, "data_offsets");
    long long begin = 0, end = 0;
    if (!json_is_array(field))
        return refuse_field("data_offsets", field, "an array", err);
    if (json_count(field) != 2)
        return err_set(err, "data_offsets: expected 2 numbers, found %zu", json_count(field));
    const struct json *first = json_first(field), *second = json_next(first);
    if (!json_get_integer(first, 0, LLONG_MAX, &begin))
        return refuse_field("data_offsets", first, NUMBERS, err);
    if (!json_get_integer(second, begin, LLONG_MAX, &end))
        return refuse_field("data_offsets", second, "a whole number not below the first", err);
    entry->begin = (size_t)begin;
    entry->end = (size_t)end;
    return 0;
}

/* Describe type and shape: `F32 [32, 32]`. */
static const char *describe_shape(char text[SHAPE_BYTES], const struct safetensors_entry *entry)
{
    size_t used = (size_t)snprintf(text, SHAPE_BYTES, "%s [", dtype_name(entry->dtype));
    for (size_t i = 0; i < entry->rank; i++)
        used +=
            (size_t)snprintf(text + used, SHAPE_BYTES - used, i ? ", %zu" : "%zu", entry->shape[i]);
    snprintf(text + used, SHAPE_BYTES - used, "]");
    return text;
}

static int check_size(struct safetensors_entry *entry, struct err *err)
{
    char shape[SHAPE_BYTES];
    size_t size = 0;
    bool fits = true;
    entry->count = 1;
    for (size_t i = 0; i < entry->rank; i++)
        fits = fits && num_multiply(&entry->count, entry->count, entry->shape[i]);
    if (!fits || !num_multiply(&size, entry->count, dtype_size_bytes(entry->dtype)))
        return err_set(err, "expected a size that fits in %zu bits, found %s", 8 * sizeof size,
                       describe_shape(shape, entry));
    if (entry->end - entry->begin != size)
        return err_set(err, "expected data of %zu bytes for %s, found %zu", size,
                       describe_shape(shape, entry), entry->end - entry->begin);
    return 0;
}

static int read_entries(struct safetensors *tensors, const struct json *header, struct err *err)
{
    char found[FOUND_BYTES];
    /* one more than the tensors if there is a member __metadata__ */
    size_t most = json_count(header);
    tensors->entries = arena_alloc(&tensors->arena, most, sizeof *tensors->entries, err);
    if (!tensors->entries)
        return -1;
    for (const struct json *info = json_first(header); info; info = json_next(info)) {
        const char *name = json_key(info);
        if (strcmp(name, "__metadata__") == 0) {
            if (check_metadata(info, err))
                return -1;
            continue;
        }
        struct safetensors_entry *entry = &tensors->entries[tensors->count++];
        entry->name = arena_text(&tensors->arena, name, strlen(name), err);
        if (!entry->name)
            return -1;
        if (!json_is_object(info))
            err_set(err, "expected an object, found %s", json_describe(info, found, sizeof found));
        if (!json_is_object(info) || json_unique_keys(info, err) || read_dtype(entry, info, err) ||
            read_shape(entry, info, err) || read_range(entry, info, err) || check_size(entry, err))
            return err_prefix(err, "tensor '%s'", name);
    }
    return 0;
}

static int by_range(const void *left, const void *right)
{
    const struct safetensors_entry *a = left, *b = right;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    return strcmp(a->name, b->name); /* order by name: several empty tensors may have the same
                                      * range */
}

/* Check that, in sorted order, each tensor begins where the tensor before it ends, and that the
 * last tensor ends with the file. */
static int check_tiling(struct safetensors *tensors, const char *data, struct err *err)
{
    size_t data_size = (size_t)(tensors->file.bytes + tensors->file.size - data);
    size_t end = 0;
    qsort(tensors->entries, tensors->count, sizeof *tensors->entries, by_range);
    for (size_t i = 0; i < tensors->count; i++) {
        struct safetensors_entry *entry = &tensors->entries[i];
        if (entry->begin != end)
            return err_set(err, "tensor '%s': expected data that begins at byte %zu, found %zu",
                           entry->name, end, entry->begin);
        entry->data = data + entry->begin;
        end = entry->end;
    }
    if (end != data_size)
        return err_set(err, "expected %zu bytes of tensor data, found %zu", end, data_size);
    return 0;
}

int safetensors_list(struct safetensors *tensors, struct err *err)
{
    if (hash_table_reserve(&tensors->names, tensors->count, err))
        return -1;
    for (size_t i = 0; i < tensors->count; i++) {
        const char *name = tensors->entries[i].name;
        if (hash_table_add(&tensors->names, "tensor", name, strlen(name), (uint32_t)i, err))
            return -1;
    }
    return 0;
}

int safetensors_open(struct safetensors *tensors, const struct folder *folder, const char *name,
                     struct err *err)
{
    *tensors = (struct safetensors){0};
    if (folder_open(&tensors->file, folder, name, err))
        return -1;
    const struct file *file = &tensors->file;
    struct json *header = NULL;
    size_t length = 0;
    int failed = read_length(&length, file, err);
    if (!failed && json_parse(&header, file->bytes + LENGTH_BYTES, length, err))
        failed = err_prefix(err, "header");
    else if (!failed && !json_is_object(header))
        failed = refuse_field("header", header, "an object", err);
    else if (!failed && json_unique_keys(header, err))
        failed = err_prefix(err, "header");
    failed = failed || read_entries(tensors, header, err) ||
             check_tiling(tensors, file->bytes + LENGTH_BYTES + length, err) ||
             safetensors_list(tensors, err);
    json_free(header);
    if (!failed)
        return 0;
    safetensors_release(tensors);
    return err_prefix(err, "'%s/%s'", folder->path, name);
}

const struct safetensors_entry *safetensors_find(const struct safetensors *tensors,
                                                 const char *name)
{
    uint32_t index = 0;
    if (!hash_table_get(&tensors->names, name, strlen(name), &index))
        return NULL;
    return &tensors->entries[index];
}

const float *safetensors_floats(const struct safetensors_entry *entry)
{
    bool in_place = entry->dtype == DTYPE_F32 && (uintptr_t)entry->data % sizeof(float) == 0;
    return in_place ? entry->data : NULL;
}

const void *safetensors_row(const struct safetensors_entry *entry, size_t row)
{
    return (const char *)entry->data + dtype_bytes(entry->dtype, row * entry->shape[1]);
}

void safetensors_release(struct safetensors *tensors)
{
    file_release(&tensors->file);
    arena_release(&tensors->arena);
    hash_table_release(&tensors->names);
    *tensors = (struct safetensors){0};
}

/* --- writing ---------------------------------------------------------------------------------- */

int safetensors_header(struct buf *header, const struct safetensors_tensor *tensors, size_t count,
                       const struct safetensors_note *notes, size_t note_count, struct err *err)
{
    struct json_writer json = {.buf = header, .compact = true};
    size_t begin = 0;
    buf_bytes(header, (const char[LENGTH_BYTES]){0}, LENGTH_BYTES);
    json_put_open(&json, NULL, '{');
    if (note_count > 0) {
        json_put_open(&json, "__metadata__", '{');
        for (size_t i = 0; i < note_count; i++)
            json_put_text(&json, notes[i].key, notes[i].text);
        json_put_close(&json, '}');
    }
    for (size_t i = 0, end; i < count; i++, begin = end) {
        /* "name":{"dtype":"F32","shape":[3,4],"data_offsets":[0,48]} */
        end = begin + dtype_float_bytes(tensors[i].rank, tensors[i].shape);
        json_put_name(&json, tensors[i].name, strlen(tensors[i].name));
        json_put_open(&json, NULL, '{');
        json_put_text(&json, "dtype", "F32");
        json_put_integers(&json, "shape", tensors[i].shape, tensors[i].rank);
        json_put_integers(&json, "data_offsets", (const size_t[]){begin, end}, 2);
        json_put_close(&json, '}');
    }
    json_put_close(&json, '}');
    while (header->size % ALIGN_BYTES && !header->out_of_memory)
        buf_char(header, ' ');
    if (buf_check(header, err))
        return -1;
    size_t length = header->size - LENGTH_BYTES;
    if (length > SAFETENSORS_HEADER_MAX)
        return err_output(err, "safetensors header: expected at most %d bytes, found %zu",
                          SAFETENSORS_HEADER_MAX, length);
    for (int i = 0; i < LENGTH_BYTES; i++)
        header->bytes[i] = (char)(length >> 8 * i & 0xff);
    return 0;
}
