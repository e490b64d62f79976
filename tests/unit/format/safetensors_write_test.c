#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/memory_stream.h"
#include "base/file.h"
#include "base/memory.h"
#include "format/safetensors.h"

static const float numbers[] = {0, 1, -2.5f, 0.1f, 4, 5, 6, 7, 8, 9, 10, 11};

static const struct safetensors_tensor tensors[] = {
    {"h.0.weights", 3, (size_t[]){1, 2, 3}, numbers},
    {"empty", 2, (size_t[]){4, 0}, NULL},
    {"scalar", 0, NULL, numbers + 3},
    {"a \"name\"\n\xE7\x88\xB1", 1, (size_t[]){5}, numbers + 4},
};

static const struct safetensors_note notes[] = {
    {"sentence", "Life is \"short\"\nand \xF0\x9F\x8D\xB0"},
    {"", ""},
    {"ids", "0,1,2"},
};

static struct file written(size_t count, size_t note_count)
{
    return memory_safetensors(tensors, count, notes, note_count);
}

TEST(a_small_file_has_the_expected_bytes)
{
    static const char expected[] =
        "\x88\0\0\0\0\0\0\0"
        "{\"__metadata__\":{\"sentence\":\"Life is \\\"short\\\"\\nand "
        "\xF0\x9F\x8D\xB0\",\"\":\"\"},"
        "\"h.0.weights\":{\"dtype\":\"F32\",\"shape\":[1,2,3],\"data_offsets\":[0,24]}}   "
        "\0\0\0\0\0\0\x80\x3f\0\0\x20\xc0\xcd\xcc\xcc\x3d\0\0\x80\x40\0\0\xa0\x40";
    struct file file = written(1, 2);
    ck_assert_uint_eq(file.size, sizeof expected - 1);
    ck_assert_mem_eq(file.bytes, expected, file.size);
    file_release(&file);
}

static void check_tensor(const struct safetensors *read, const struct safetensors_tensor *tensor)
{
    const struct safetensors_entry *entry = safetensors_find(read, tensor->name);
    ck_assert_msg(entry != NULL, "%s", tensor->name);
    ck_assert_int_eq(entry->dtype, DTYPE_F32);
    ck_assert_uint_eq(entry->rank, tensor->rank);
    size_t count = 1;
    for (size_t i = 0; i < tensor->rank; i++) {
        ck_assert_uint_eq(entry->shape[i], tensor->shape[i]);
        count *= tensor->shape[i];
    }
    ck_assert_uint_eq(entry->count, count);
    ck_assert(count == 0 || memcmp(entry->data, tensor->data, count * sizeof(float)) == 0);
}

TEST(all_tensors_and_notes_can_be_read_back)
{
    for (size_t i = 0; i < (COUNT(tensors) + 1) * (COUNT(notes) + 1); i++) {
        size_t count = i % (COUNT(tensors) + 1);
        struct file file = written(count, i / (COUNT(tensors) + 1));
        struct folder_file held = {"x", file.bytes, file.size};
        struct folder folder = {"memory", &held, 1};
        struct safetensors read = {0};
        struct err err = {0};
        ck_assert_msg(!safetensors_open(&read, &folder, "x", &err), "%s", err.text);
        ck_assert_uint_eq((unsigned char)file.bytes[0] % 8, 0);
        ck_assert_uint_eq(read.count, count);
        for (size_t t = 0; t < count; t++)
            check_tensor(&read, &tensors[t]);
        safetensors_release(&read);
        file_release(&file);
    }
}

TEST(a_header_that_is_too_long_is_refused)
{
    enum { NOTES = 101, TEXT_BYTES = 1000000 };
    struct safetensors_note many[NOTES];
    struct buf header = {0};
    struct err err = {0};
    char *text = heap_alloc(TEXT_BYTES + 1, 1, NULL);
    memset(text, 'x', TEXT_BYTES);
    for (size_t i = 0; i < NOTES; i++)
        many[i] = (struct safetensors_note){"key", text};
    ck_assert_int_eq(safetensors_header(&header, NULL, 0, many, NOTES, &err), -1);
    ck_assert_str_eq(err.text, "safetensors header: expected at most 100000000 bytes, "
                               "found 101000928");
    ck_assert_int_eq(err.kind, ERR_OUTPUT);
    buf_release(&header);
    heap_free(text);
}
