#include "format/pytorch.h"

#include <string.h>

#include "../rigs/zip_made.h"
#include "../unit.h"
#include "base/folder.h"
#include "base/heap.h"

static const char saved[] = "tests/break/pickled/pytorch_model.bin";
static const char twin[] = "models/life";

static struct folder_file files[1];
static struct folder folder = {"m", files, 1};
static struct err err;

/* What PyTorch saved, as an archive of ours; another entry comes first. */
static void make_again(struct zip_made *made, const char *name, const char *text)
{
    struct file file = {0};
    struct arena arena = {0};
    struct zip zip = {0};
    ck_assert_msg(!file_map(&file, saved, &err) && !zip_read(&zip, &file, &arena, &err), "%s",
                  err.text);
    zip_made_add(made, name, strlen(name), text, strlen(text));
    for (size_t i = 0; i < zip.count; i++)
        zip_made_add(made, zip.entries[i].name, zip.entries[i].name_size, zip.entries[i].data,
                     zip.entries[i].size);
    zip_made_end(made);
    files[0] = (struct folder_file){"made", made->file.bytes, made->file.size};
    map_release(&zip.names);
    arena_release(&arena);
    file_release(&file);
}

static void expect_life(void)
{
    struct safetensors read = {0};
    struct safetensors expected = {0};
    struct folder life = {.path = twin};
    ck_assert_int_eq(safetensors_open(&expected, &life, "model.safetensors", &err), 0);
    ck_assert_msg(!pytorch_open(&read, &folder, "made", &err), "%s", err.text);
    ck_assert_uint_eq(read.count, expected.count);
    for (size_t i = 0; i < expected.count; i++) {
        const struct safetensors_entry *entry = &expected.entries[i];
        const struct safetensors_entry *found = safetensors_find(&read, entry->name);
        ck_assert_ptr_nonnull(found);
        ck_assert_int_eq(found->dtype, entry->dtype);
        ck_assert_uint_eq(found->count, entry->count);
        ck_assert_uint_eq(found->end - found->begin, entry->end - entry->begin);
        ck_assert_mem_eq(found->shape, entry->shape, entry->rank * sizeof *entry->shape);
        ck_assert_mem_eq(found->data, entry->data, entry->end - entry->begin);
    }
    safetensors_release(&expected);
    safetensors_release(&read);
}

TEST(sizes_may_have_64_bits)
{
    struct zip_made made = {.large = true};
    make_again(&made, "pytorch_model/.format_version", "1");
    expect_life();
    zip_made_release(&made);
}

TEST(only_little_endian_numbers_are_read)
{
    struct zip_made little = {0};
    struct zip_made big = {0};
    struct safetensors tensors = {0};
    make_again(&little, "pytorch_model/byteorder", "little");
    expect_life();
    make_again(&big, "pytorch_model/byteorder", "big");
    ck_assert_int_eq(pytorch_open(&tensors, &folder, "made", &err), -1);
    ck_assert_int_eq(err.kind, ERR_UNSUPPORTED);
    ck_assert_str_eq(err.text, "'m/made': byteorder: expected \"little\", found another");
    zip_made_release(&little);
    zip_made_release(&big);
}

TEST(what_lies_in_rows_is_read_in_place)
{
    struct zip_made made = {0};
    struct safetensors tensors = {0};
    make_again(&made, "pytorch_model/version", "3");
    ck_assert_int_eq(pytorch_open(&tensors, &folder, "made", &err), 0);
    for (size_t i = 0; i < tensors.count; i++) {
        const char *data = tensors.entries[i].data;
        bool in_file = data > made.file.bytes && data < made.file.bytes + made.file.size;
        ck_assert_int_eq(in_file, strstr(tensors.entries[i].name, "v_proj") == NULL);
        ck_assert(!in_file || safetensors_floats(&tensors.entries[i]) == (const void *)data);
    }
    safetensors_release(&tensors);
    zip_made_release(&made);
}

TEST(without_memory_no_tensor_is_held)
{
    struct zip_made made = {0};
    int failed = -1;
    make_again(&made, "pytorch_model/version", "3");
    for (size_t nth = 1; failed; nth++) {
        struct safetensors tensors = {0};
        err = (struct err){0};
        heap_fail_at(nth, 0);
        failed = pytorch_open(&tensors, &folder, "made", &err);
        heap_fail_at(0, 0);
        ck_assert(!failed || err.out_of_memory);
        ck_assert(failed || nth > 3);
        safetensors_release(&tensors);
    }
    zip_made_release(&made);
}
