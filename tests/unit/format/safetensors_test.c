#include "base/file.h"
#include "format/safetensors.h"

#include <string.h>

#include "../unit.h"
#include "base/buf.h"
#include "base/memory.h"

/* Headers have ' instead of " in this file, for legibility. */
static void add_header(struct buf *file, const char *header)
{
    size_t length = strlen(header);
    for (size_t i = 0; i < 8; i++)
        buf_char(file, (char)(length >> 8 * i & 0xff));
    for (const char *c = header; *c; c++)
        buf_char(file, *c == '\'' ? '"' : *c);
}

/* A file: the length of the header, the header, and data 0, 1, 2, ... */
static struct buf file_of(const char *header, size_t data_size)
{
    struct buf file = {0};
    add_header(&file, header);
    for (size_t i = 0; i < data_size; i++)
        buf_char(&file, (char)(i & 0x7f));
    return file;
}

static int open_bytes(struct safetensors *tensors, const char *bytes, size_t size, struct err *err)
{
    struct folder_file held = {"model.safetensors", bytes, size};
    struct folder folder = {"models/x", &held, 1};
    return safetensors_open(tensors, &folder, "model.safetensors", err);
}

/* Open a copy of exact size, read every byte of every tensor, and close it. */
static int visit_bytes(const char *bytes, size_t size, struct err *err)
{
    struct safetensors tensors = {0};
    volatile char sum = 0;
    char *copy = heap_alloc(size, 1, NULL);
    memcpy(copy, bytes, size);
    int failed = open_bytes(&tensors, copy, size, err);
    for (size_t i = 0; i < tensors.count; i++) {
        const struct safetensors_entry *entry = &tensors.entries[i];
        const char *data = entry->data;
        for (size_t at = 0; at < entry->end - entry->begin; at++)
            sum = (char)(sum ^ data[at]);
        ck_assert_ptr_eq(safetensors_find(&tensors, entry->name), entry);
        ck_assert_uint_eq(entry->count * dtype_size_bytes(entry->dtype), entry->end - entry->begin);
    }
    safetensors_release(&tensors);
    heap_free(copy);
    return failed;
}

static const char two_tensors[] = "{'__metadata__':{'format':'pt'},"
                                  "'b':{'dtype':'U8','shape':[3],'data_offsets':[8,11]},"
                                  "'a':{'dtype':'F32','shape':[2,1],'data_offsets':[0,8]}}";

TEST(entries_are_found_by_name_and_sorted_by_offset)
{
    struct safetensors tensors = {0};
    struct err err = {0};
    struct buf file = file_of(two_tensors, 11);
    ck_assert_msg(!open_bytes(&tensors, file.bytes, file.size, &err), "%s", err.text);
    ck_assert_uint_eq(tensors.count, 2);
    const struct safetensors_entry *a = safetensors_find(&tensors, "a");
    const struct safetensors_entry *b = safetensors_find(&tensors, "b");
    ck_assert_ptr_eq(a, &tensors.entries[0]);
    ck_assert_ptr_eq(b, &tensors.entries[1]);
    ck_assert(strcmp(a->name, "a") == 0 && a->dtype == DTYPE_F32 && a->rank == 2);
    ck_assert(a->shape[0] == 2 && a->shape[1] == 1 && a->count == 2);
    ck_assert(a->begin == 0 && a->end == 8);
    ck_assert(strcmp(b->name, "b") == 0 && b->dtype == DTYPE_U8 && b->rank == 1);
    ck_assert(b->shape[0] == 3 && b->count == 3 && b->begin == 8 && b->end == 11);
    ck_assert_mem_eq(a->data, "\0\1\2\3\4\5\6\7", 8);
    ck_assert_mem_eq(b->data, "\10\11\12", 3);
    ck_assert_ptr_null(safetensors_find(&tensors, "c"));
    ck_assert_ptr_null(safetensors_find(&tensors, "__metadata__"));
    safetensors_release(&tensors);
    ck_assert_ptr_null(safetensors_find(&tensors, "a"));
    buf_release(&file);
}

TEST(valid_files_are_opened)
{
    static const struct {
        const char *header;
        size_t data_size;
        size_t count;
    } cases[] = {
        {"{}", 0, 0},
        {"{}\r \t\n", 0, 0},
        {" \n\t{}", 0, 0},
        {"{'__metadata__':{}}", 0, 0},
        {"{'__metadata__':null}", 0, 0},
        {"{'__metadata__':{'a':'','b':'x'}}", 0, 0},
        {"{'x':{'dtype':'F32','shape':[],'data_offsets':[0,4]}}", 4, 1},
        {"{'x':{'dtype':'BOOL','shape':[1],'data_offsets':[0,1]}}      ", 1, 1},
        {"{'':{'dtype':'F64','shape':[2,3],'data_offsets':[0,48]}}", 48, 1},
        {"{'x':{'dtype':'F32','shape':[0],'data_offsets':[0,0]}}", 0, 1},
        {"{'x':{'dtype':'F32','shape':[9007199254740991,0],'data_offsets':[0,0]}}", 0, 1},
        {"{'x':{'data_offsets':[0,2],'extra':{},'shape':[1,1,1,1,1,1,1,1],'dtype':'BF16'}}", 2, 1},
        {"{'c':{'dtype':'I16','shape':[0],'data_offsets':[2,2]},"
         "'a':{'dtype':'I16','shape':[1],'data_offsets':[2,4]},"
         "'b':{'dtype':'I16','shape':[1],'data_offsets':[0,2]},"
         "'d':{'dtype':'I16','shape':[0],'data_offsets':[2,2]}}",
         4, 4},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct safetensors tensors = {0};
        struct err err = {0};
        struct buf file = file_of(cases[i].header, cases[i].data_size);
        ck_assert_msg(!open_bytes(&tensors, file.bytes, file.size, &err), "%s", err.text);
        ck_assert_uint_eq(tensors.count, cases[i].count);
        safetensors_release(&tensors);
        ck_assert_int_eq(visit_bytes(file.bytes, file.size, &err), 0);
        buf_release(&file);
    }
}

/* '<' begins HTML; 0x280 and the others are the first two bytes of a pickle. */
TEST(a_header_whose_length_looks_like_another_format_is_opened)
{
    static const size_t lengths[] = {'<', 0x280, 0x380, 0x480, 0x580};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        char header[0x600];
        struct err err = {0};
        memset(header, ' ', lengths[i]);
        memcpy(header, "{}", 2);
        header[lengths[i]] = '\0';
        struct buf file = file_of(header, 0);
        ck_assert_msg(!visit_bytes(file.bytes, file.size, &err), "%s", err.text);
        buf_release(&file);
    }
}
