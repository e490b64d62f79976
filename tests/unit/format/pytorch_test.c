#include "format/pytorch.h"

#include <string.h>

#include "../rigs/zip_made.h"
#include "../unit.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/num.h"

static const char saved[] = "tests/refusals/pickled/pytorch_model.bin";
static const char twin[] = "models/life";

static struct folder_file files[1];
static struct folder folder = {"m", files, 1};
static struct err err;

/* Write an archive with another entry first and then the entries of PyTorch's file. */
static void make_again(struct zip_made *made, const char *name, const char *text)
{
    struct file file = {0};
    struct arena arena = {0};
    struct zip zip = {0};
    ck_assert_msg(!file_map(&file, saved, &err) &&
                      !zip_read(&zip, &file, "torch.save", &arena, &err),
                  "%s", err.text);
    zip_made_add(made, name, strlen(name), text, strlen(text));
    for (size_t i = 0; i < zip.count; i++)
        zip_made_add(made, zip.entries[i].name, zip.entries[i].name_size, zip.entries[i].data,
                     zip.entries[i].size);
    zip_made_end(made);
    files[0] = (struct folder_file){"made", made->file.bytes, made->file.size};
    hash_table_release(&zip.names);
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

/* An entry inside another one: its header and data are the data of the outer one. */
static void nest(struct zip_made *outer, size_t size)
{
    static const char name[] = "inner", numbers[256];
    struct zip_made inner = {0};
    zip_made_add(&inner, name, strlen(name), numbers, size);
    zip_made_add(outer, "outer", 5, inner.file.bytes, inner.file.size);
    const char *found = memmem(outer->file.bytes, outer->file.size, name, strlen(name));
    const size_t at = (size_t)(found - outer->file.bytes) - 30; /* bytes of a local header */
    struct buf *out = &outer->directory;
    buf_bytes(out, inner.directory.bytes, 42);
    zip_made_number(out, at, 4);
    buf_text(out, name);
    outer->count++;
    zip_made_end(outer);
    zip_made_release(&inner);
}

TEST(entries_that_overlap_are_at_most_as_large_as_the_file)
{
    for (size_t size = 0; size <= 256; size += 256) {
        struct zip_made made = {0};
        struct arena arena = {0};
        struct zip zip = {0};
        nest(&made, size);
        const struct file file = file_borrow(made.file.bytes, made.file.size);
        const int failed = zip_read(&zip, &file, "numpy.savez", &arena, &err);
        ck_assert_msg(failed == (size ? -1 : 0), "%s", err.text);
        ck_assert(!size || strstr(err.text, "entry 'inner': expected entries of at most"));
        hash_table_release(&zip.names);
        arena_release(&arena);
        zip_made_release(&made);
    }
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

static void mark(char *free, const char *at, size_t size)
{
    memset(free + (at - files[0].bytes), true, size);
}

/* Mark bytes that are not read: versions, attributes, padding, the data of an entry that no tensor
 * needs. */
static void mark_free(char *free)
{
    const char *bytes = files[0].bytes;
    for (const char *at = bytes; at < bytes + files[0].size - 4; at++) {
        if (memcmp(at, "PK\3\4", 4) == 0) {
            size_t extra = num_of_bytes(at + 28, 2);
            const char *name_end = at + 30 + num_of_bytes(at + 26, 2);
            bool is_read = !memmem(at + 30, (size_t)(name_end - at) - 30, "version", 7);
            mark(free, at + 4, 2);
            mark(free, name_end, extra + (is_read ? 0 : 2));
        } else if (memcmp(at, "PK\1\2", 4) == 0) {
            mark(free, at + 4, 4);
            mark(free, at + 36, 6);
        } else if (memcmp(at, "PK\6\6", 4) == 0) {
            mark(free, at + 12, 4);
        } else if (memcmp(at, "PK\7\10", 4) == 0 && num_of_bytes(at + 12, 4) == 0) {
            mark(free, at + 12, 4); /* of a 64-bit size; as a 32-bit size it is valid, too */
        } else if (memcmp(at, "F\0\0\0\1\0", 6) == 0) {
            mark(free, at, 2); /* the id of an unknown extra field */
        }
    }
}

TEST_LOOP(each_flipped_bit_is_refused_unless_it_is_not_read, 2)
{
    struct zip_made made = {.large = _i};
    struct safetensors tensors = {0};
    make_again(&made, "pytorch_model/.format_version", "1\n");
    char *bytes = heap_alloc(files[0].size, 1, NULL);
    char *free = heap_alloc(files[0].size, 1, NULL);
    memcpy(bytes, files[0].bytes, files[0].size);
    memset(free, false, files[0].size);
    mark_free(free);
    files[0].bytes = bytes;
    for (size_t bit = 0; bit < 8 * files[0].size; bit++) {
        err_clear(&err);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
        int failed = pytorch_open(&tensors, &folder, "made", &err);
        ck_assert_msg(failed || free[bit / 8], "accepted: bit %zu of byte %zu", bit % 8, bit / 8);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
        safetensors_release(&tensors);
    }
    heap_free(bytes);
    heap_free(free);
    zip_made_release(&made);
}

TEST(a_duplicate_name_is_refused)
{
    struct zip_made made = {0};
    struct safetensors tensors = {0};
    make_again(&made, "pytorch_model/data/0", "other numbers");
    ck_assert_int_eq(pytorch_open(&tensors, &folder, "made", &err), -1);
    ck_assert_str_eq(err.text,
                     "'m/made': entry 'pytorch_model/data/0': expected once, found twice");
    zip_made_release(&made);
}

TEST(a_crc32_of_0_is_not_checked)
{
    struct zip_made made = {.unsummed = true};
    make_again(&made, "pytorch_model/.format_version", "3");
    expect_life();
    zip_made_release(&made);
}

TEST(crc32_agrees_with_its_definition_for_every_length)
{
    char bytes[200];
    ck_assert_uint_eq(zip_crc32("123456789", 9), 0xcbf43926);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * i + 3 * i);
    for (size_t size = 0; size <= sizeof bytes; size++) {
        uint32_t crc = UINT32_MAX;
        for (size_t i = 0; i < 8 * size; i++) {
            uint32_t bit = (uint32_t)bytes[i / 8] >> i % 8 & 1;
            crc = crc >> 1 ^ ((crc ^ bit) & 1 ? 0xedb88320 : 0);
        }
        ck_assert_uint_eq(zip_crc32(bytes, size), ~crc);
    }
}

TEST(contiguous_tensors_are_read_in_place)
{
    struct zip_made made = {0};
    struct safetensors tensors = {0};
    make_again(&made, "pytorch_model/.format_version", "3");
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
