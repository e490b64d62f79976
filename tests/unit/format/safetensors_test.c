#include "base/folder.h"
#include "format/safetensors.h"

#include <string.h>

#include "../unit.h"
#include "base/buf.h"
#include "base/heap.h"

/* Headers are written with ' for ", so that they can be read here. */
static void add_header(struct buf *file, const char *header)
{
    size_t length = strlen(header);
    for (size_t i = 0; i < 8; i++)
        buf_char(file, (char)(length >> 8 * i & 0xff));
    for (const char *c = header; *c; c++)
        buf_char(file, *c == '\'' ? '"' : *c);
}

/* A file: the header's length, the header, and data that counts 0, 1, 2, ... */
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

/* Open a copy that ends where its memory ends, look at every byte of every tensor, and close it. */
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

TEST(entries_are_found_by_name_and_stand_in_the_order_of_their_data)
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

TEST(good_files_are_opened)
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

/* 60 is '<', and 640 are the first two bytes of a pickle. */
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

/* What the message says after the file's name. */
static const char *behind_name(const struct err *err)
{
    static const char name[] = "'models/x/model.safetensors': ";
    ck_assert_msg(strncmp(err->text, name, strlen(name)) == 0, "%s", err->text);
    return err->text + strlen(name);
}

#define X(rest) "{'x':{" rest "}}"
#define DTYPE "'dtype':'F32'"
#define RANGE ",'data_offsets':[0,4]"
#define NUMBER "a whole number from 0 to 9007199254740991"

static const struct {
    const char *header;
    size_t data_size;
    const char *message;
} malformed[] = {
    /* the header */
    {"", 0, "header: byte 0: expected a value, found the end"},
    {"{", 0, "header: byte 1: expected a name in quotes, found the end"},
    {"{}x", 0, "header: byte 2: expected the end, found 'x'"},
    {"{'\xFF':1}", 0, "header: byte 2: expected UTF-8, found the byte 0xff"},
    {"[]", 0, "header: expected an object, found an array"},
    {"'x'", 0, "header: expected an object, found \"x\""},
    {"{'x':1,'x':2}", 0, "header: field 'x': expected once, found twice"},
    {"{'__metadata__':{},'__metadata__':{}}", 0,
     "header: field '__metadata__': expected once, found twice"},
    {"{'__metadata__':[]}", 0, "__metadata__: expected an object, found an array"},
    {"{'__metadata__':{'a':1}}", 0, "__metadata__: a: expected a text, found 1"},
    {"{'__metadata__':{'a':'','a':''}}", 0, "__metadata__: field 'a': expected once, found twice"},
    /* one tensor */
    {"{'x':null}", 0, "tensor 'x': expected an object, found null"},
    {X(DTYPE "," DTYPE), 0, "tensor 'x': field 'dtype': expected once, found twice"},
    {X("'shape':[1]" RANGE), 4,
     "tensor 'x': dtype: expected a known type such as \"F32\", found nothing"},
    {X("'dtype':'f32','shape':[1]" RANGE), 4,
     "tensor 'x': dtype: expected a known type such as \"F32\", found \"f32\""},
    {X("'dtype':32,'shape':[1]" RANGE), 4,
     "tensor 'x': dtype: expected a known type such as \"F32\", found 32"},
    {X(DTYPE RANGE), 4, "tensor 'x': shape: expected an array, found nothing"},
    {X(DTYPE ",'shape':1" RANGE), 4, "tensor 'x': shape: expected an array, found 1"},
    {X(DTYPE ",'shape':[-1]" RANGE), 4, "tensor 'x': shape: expected " NUMBER ", found -1"},
    {X(DTYPE ",'shape':[0.5]" RANGE), 4, "tensor 'x': shape: expected " NUMBER ", found 0.5"},
    {X(DTYPE ",'shape':['1']" RANGE), 4, "tensor 'x': shape: expected " NUMBER ", found \"1\""},
    {X(DTYPE ",'shape':[1e999]" RANGE), 4,
     "tensor 'x': shape: expected " NUMBER ", found a number that is too large"},
    {X(DTYPE ",'shape':[1]"), 4, "tensor 'x': data_offsets: expected an array, found nothing"},
    {X(DTYPE ",'shape':[1],'data_offsets':{}"), 4,
     "tensor 'x': data_offsets: expected an array, found an object"},
    {X(DTYPE ",'shape':[1],'data_offsets':[0]"), 4,
     "tensor 'x': data_offsets: expected 2 numbers, found 1"},
    {X(DTYPE ",'shape':[1],'data_offsets':[0,4,8]"), 4,
     "tensor 'x': data_offsets: expected 2 numbers, found 3"},
    {X(DTYPE ",'shape':[1],'data_offsets':[-4,0]"), 4,
     "tensor 'x': data_offsets: expected " NUMBER ", found -4"},
    {X(DTYPE ",'shape':[1],'data_offsets':[4,0]"), 4,
     "tensor 'x': data_offsets: expected a whole number not below the first, found 0"},
    {X(DTYPE ",'shape':[1],'data_offsets':[0,18446744073709551620]"), 4,
     "tensor 'x': data_offsets: expected a whole number not below the first, "
     "found 1.8446744073709552e+19"},
    /* shape against range */
    {X(DTYPE ",'shape':[32,32],'data_offsets':[0,4000]"), 4000,
     "tensor 'x': expected data of 4096 bytes for F32 [32, 32], found 4000"},
    {X(DTYPE ",'shape':[],'data_offsets':[0,0]"), 0,
     "tensor 'x': expected data of 4 bytes for F32 [], found 0"},
    {X(DTYPE ",'shape':[3,0]" RANGE), 4,
     "tensor 'x': expected data of 0 bytes for F32 [3, 0], found 4"},
    {X(DTYPE ",'shape':[4294967296,4294967296]" RANGE), 4,
     "tensor 'x': expected a size that fits 64 bits, found F32 [4294967296, 4294967296]"},
    {X(DTYPE ",'shape':[4294967296,4294967296,0],'data_offsets':[0,0]"), 0,
     "tensor 'x': expected a size that fits 64 bits, found F32 [4294967296, 4294967296, 0]"},
    {X(DTYPE ",'shape':[4503599627370496,1024]" RANGE), 4,
     "tensor 'x': expected a size that fits 64 bits, found F32 [4503599627370496, 1024]"},
    {X(DTYPE ",'shape':[9007199254740991,9007199254740991,9007199254740991,9007199254740991,"
             "9007199254740991,9007199254740991,9007199254740991,9007199254740991]" RANGE),
     4,
     "tensor 'x': expected a size that fits 64 bits, found F32 [9007199254740991, "
     "9007199254740991, 9007199254740991, 9007199254740991, 9007199254740991, "
     "9007199254740991, 9007199254740991, 9007199254740991]"},
    /* the tiling: hole, overlap, beginning, cut, rest */
    {"{'a':{'dtype':'U8','shape':[2],'data_offsets':[0,2]},"
     "'b':{'dtype':'U8','shape':[2],'data_offsets':[3,5]}}",
     5, "tensor 'b': expected data that begins at byte 2, found 3"},
    {"{'a':{'dtype':'U8','shape':[2],'data_offsets':[0,2]},"
     "'b':{'dtype':'U8','shape':[2],'data_offsets':[1,3]}}",
     3, "tensor 'b': expected data that begins at byte 2, found 1"},
    {"{'a':{'dtype':'U8','shape':[2],'data_offsets':[0,2]},"
     "'b':{'dtype':'U8','shape':[2],'data_offsets':[0,2]}}",
     2, "tensor 'b': expected data that begins at byte 2, found 0"},
    {X("'dtype':'U8','shape':[1],'data_offsets':[1,2]"), 2,
     "tensor 'x': expected data that begins at byte 0, found 1"},
    {X(DTYPE ",'shape':[1]" RANGE), 3, "expected 4 bytes of tensor data, found 3"},
    {X(DTYPE ",'shape':[1]" RANGE), 5, "expected 4 bytes of tensor data, found 5"},
    {X(DTYPE ",'shape':[1099511627776],'data_offsets':[0,4398046511104]"), 5,
     "expected 4398046511104 bytes of tensor data, found 5"},
    {"{}", 1, "expected 0 bytes of tensor data, found 1"},
};

TEST(a_malformed_file_is_refused)
{
    for (size_t i = 0; i < COUNT(malformed); i++) {
        struct err err = {0};
        struct buf file = file_of(malformed[i].header, malformed[i].data_size);
        ck_assert_int_eq(visit_bytes(file.bytes, file.size, &err), -1);
        ck_assert_str_eq(behind_name(&err), malformed[i].message);
        ck_assert_int_eq(err.kind, ERR_INPUT);
        buf_release(&file);
    }
}

TEST(nine_dimensions_are_not_supported)
{
    struct err err = {0};
    struct buf file = file_of(X(DTYPE ",'shape':[1,1,1,1,1,1,1,1,1]" RANGE), 4);
    ck_assert_int_eq(visit_bytes(file.bytes, file.size, &err), -1);
    ck_assert_str_eq(behind_name(&err),
                     "tensor 'x': shape: expected at most 8 dimensions, found 9");
    ck_assert_int_eq(err.kind, ERR_UNSUPPORTED);
    buf_release(&file);
}

#define RAW(text) text, sizeof text - 1

TEST(what_is_no_safetensors_file_says_what_it_is)
{
    static const struct {
        const char *bytes;
        size_t size;
        enum err_kind kind;
        const char *message;
    } cases[] = {
        {RAW(""), ERR_INPUT, "expected at least 8 bytes, found 0"},
        {RAW("\2\0\0\0\0\0\0"), ERR_INPUT, "expected at least 8 bytes, found 7"},
        {RAW("\3\0\0\0\0\0\0\0{}"), ERR_INPUT,
         "header: expected 3 bytes, found 2 to the end of the file"},
        {RAW("\0\xe1\xf5\5\0\0\0\0{}"), ERR_INPUT,
         "header: expected 100000000 bytes, found 2 to the end of the file"},
        {RAW("\1\xe1\xf5\5\0\0\0\0{}"), ERR_INPUT,
         "header: expected at most 100000000 bytes, found a length of 100000001"},
        {RAW("\xff\xff\xff\xff\xff\xff\xff\xff{}"), ERR_INPUT,
         "header: expected at most 100000000 bytes, found a length of 18446744073709551615"},
        {RAW("version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 548105171\n"),
         ERR_INPUT,
         "expected a safetensors file, "
         "found a Git LFS pointer ('git lfs pull' fetches the file)"},
        {RAW("<!DOCTYPE html>"), ERR_INPUT, "expected a safetensors file, found an HTML page"},
        {RAW("<html>"), ERR_INPUT, "expected a safetensors file, found an HTML page"},
        {RAW("GGUF\3\0\0\0\x7b\0\0\0\0\0\0\0"), ERR_UNSUPPORTED,
         "expected a safetensors file, found a GGUF file"},
        {RAW("PK\3\4\0\0\x08\x08\0\0"), ERR_UNSUPPORTED,
         "expected a safetensors file, found a zip archive, as PyTorch writes it"},
        {RAW("\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19."), ERR_UNSUPPORTED,
         "expected a safetensors file, found a Python pickle"},
        {RAW("\x80\3}q\0."), ERR_UNSUPPORTED, "expected a safetensors file, found a Python pickle"},
        {RAW("\x80\4\x95\1\0\0\0\0\0\0\0}."), ERR_UNSUPPORTED,
         "expected a safetensors file, found a Python pickle"},
        {RAW("\x80\5}\x94."), ERR_UNSUPPORTED,
         "expected a safetensors file, found a Python pickle"},
        {RAW("\x80\1}."), ERR_INPUT, "expected at least 8 bytes, found 4"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct err err = {0};
        ck_assert_int_eq(visit_bytes(cases[i].bytes, cases[i].size, &err), -1);
        ck_assert_str_eq(behind_name(&err), cases[i].message);
        ck_assert_int_eq(err.kind, cases[i].kind);
    }
}

TEST(a_file_that_is_not_there_is_named_once)
{
    struct safetensors tensors = {0};
    struct err err = {0};
    struct folder folder = {.path = "/nowhere"};
    ck_assert_int_eq(safetensors_open(&tensors, &folder, "model.safetensors", &err), -1);
    ck_assert_str_eq(err.text, "cannot open '/nowhere/model.safetensors': "
                               "No such file or directory");
}

TEST(a_file_that_is_cut_short_is_refused)
{
    struct buf file = file_of(two_tensors, 11);
    for (size_t size = 0; size < file.size; size++)
        ck_assert_int_eq(visit_bytes(file.bytes, size, NULL), -1);
    ck_assert_int_eq(visit_bytes(file.bytes, file.size, NULL), 0);
    buf_release(&file);
}

/* Some flips give another good file ('a' becomes 'c'); none may do more harm than an error. */
TEST(a_bit_that_flips_in_the_header_gives_a_file_or_an_error)
{
    struct buf file = file_of(two_tensors, 11);
    size_t refused = 0;
    size_t bits = 8 * (file.size - 11);
    for (size_t bit = 0; bit < bits; bit++) {
        struct err err = {0};
        file.bytes[bit / 8] = (char)(file.bytes[bit / 8] ^ 1 << bit % 8);
        int failed = visit_bytes(file.bytes, file.size, &err);
        ck_assert_int_eq(failed, err.text[0] ? -1 : 0);
        refused += failed ? 1 : 0;
        file.bytes[bit / 8] = (char)(file.bytes[bit / 8] ^ 1 << bit % 8);
    }
    ck_assert_uint_gt(refused, bits / 2);
    ck_assert_uint_lt(refused, bits);
    buf_release(&file);
}

TEST(an_allocation_that_fails_is_an_error)
{
    struct buf file = file_of(two_tensors, 11);
    size_t nth = 1;
    for (;; nth++) {
        struct safetensors tensors = {0};
        struct err err = {0};
        heap_fail_at(nth, 0);
        int failed = open_bytes(&tensors, file.bytes, file.size, &err);
        heap_fail_at(0, 0);
        safetensors_release(&tensors);
        if (!failed)
            break;
        ck_assert_msg(strstr(err.text, "out of memory: ") != NULL, "%s", err.text);
    }
    ck_assert_uint_gt(nth, 20);
    buf_release(&file);
}
