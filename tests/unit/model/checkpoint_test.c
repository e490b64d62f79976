#include "base/folder.h"
#include "model/weights.h"

#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "../rigs/memory_stream.h"
#include "base/heap.h"

enum { FILES_MAX = 4 };

static struct folder_file files[FILES_MAX];
static struct file written[FILES_MAX];
static struct folder folder;
static struct checkpoint checkpoint;
static struct err err;

static void empty_folder(void)
{
    folder = (struct folder){.path = "m", .files = files};
    err = (struct err){0};
}

static void release_files(void)
{
    for (size_t i = 0; i < FILES_MAX; i++)
        file_release(&written[i]);
}

FIXTURE(empty_folder, release_files)

static void put_text(const char *name, const char *text)
{
    ck_assert_uint_lt(folder.file_count, FILES_MAX);
    files[folder.file_count++] = (struct folder_file){name, text, strlen(text)};
}

/* A file of tensors with one element each: the tensor's place in the list. */
static void put_tensors(const char *name, const char *const *names, size_t count)
{
    static const float elements[] = {0, 1, 2, 3, 4};
    static const size_t shape[] = {1};
    struct safetensors_tensor tensors[COUNT(elements)];
    struct stream out = {0};
    ck_assert_uint_le(count, COUNT(elements));
    for (size_t i = 0; i < count; i++)
        tensors[i] = (struct safetensors_tensor){names[i], 1, shape, elements + i};
    memory_stream_open(&out);
    ck_assert_int_eq(safetensors_write(&out, tensors, count, NULL, 0, NULL), 0);
    struct file *file = &written[folder.file_count];
    *file = memory_stream_take(&out);
    files[folder.file_count++] = (struct folder_file){name, file->bytes, file->size};
}

static void put_shards(void)
{
    put_tensors("one.safetensors", (const char *[]){"a", "b"}, 2);
    put_tensors("two.safetensors", (const char *[]){"c", "transformer.d"}, 2);
}

static const char index_name[] = "model.safetensors.index.json";

static const char good_index[] = "{\"metadata\":{\"total_size\":16},\"weight_map\":{"
                                 "\"a\":\"one.safetensors\",\"transformer.d\":\"two.safetensors\","
                                 "\"b\":\"one.safetensors\",\"c\":\"two.safetensors\"}}";

static float element_of(const char *name)
{
    float value = -1;
    struct found_tensor found = checkpoint_find(&checkpoint, name);
    if (found.entry)
        memcpy(&value, found.entry->data, sizeof value);
    return value;
}

static void expect_error(const char *message)
{
    ck_assert_int_eq(checkpoint_open(&checkpoint, &folder, &err), -1);
    ck_assert_str_eq(err.text, message);
    ck_assert_ptr_null(checkpoint.shards);
    ck_assert_uint_eq(checkpoint.count, 0);
}

TEST(one_file_is_a_checkpoint)
{
    put_tensors("model.safetensors", (const char *[]){"a", "transformer.b", "c"}, 3);
    ck_assert_int_eq(checkpoint_open(&checkpoint, &folder, &err), 0);
    ck_assert_uint_eq(checkpoint.count, 1);
    ck_assert_str_eq(checkpoint.name, "model.safetensors");
    ck_assert(element_of("a") == 0);
    ck_assert(element_of("c") == 2);
    ck_assert_str_eq(checkpoint_find(&checkpoint, "a").file, "model.safetensors");
    checkpoint_release(&checkpoint);
}

TEST(names_are_found_with_and_without_their_prefix)
{
    put_tensors("model.safetensors", (const char *[]){"transformer.a", "b", "transformer.b"}, 3);
    ck_assert_int_eq(checkpoint_open(&checkpoint, &folder, &err), 0);
    ck_assert(element_of("a") == 0);
    ck_assert(element_of("transformer.a") == 0);
    ck_assert(element_of("b") == 1); /* the exact name first */
    ck_assert_ptr_null(checkpoint_find(&checkpoint, "ransformer.a").entry);
    ck_assert_ptr_null(checkpoint_find(&checkpoint, "").entry);
    ck_assert_ptr_null(checkpoint_find(&checkpoint, "d").file);
    checkpoint_release(&checkpoint);
}

TEST(an_index_opens_its_shards)
{
    put_text(index_name, good_index);
    put_shards();
    ck_assert_msg(!checkpoint_open(&checkpoint, &folder, &err), "%s", err.text);
    ck_assert_uint_eq(checkpoint.count, 2);
    ck_assert_str_eq(checkpoint.name, index_name);
    ck_assert(element_of("b") == 1);
    ck_assert(element_of("d") == 1);
    ck_assert_str_eq(checkpoint_find(&checkpoint, "b").file, "one.safetensors");
    ck_assert_str_eq(checkpoint_find(&checkpoint, "d").file, "two.safetensors");
    checkpoint_release(&checkpoint);
}

TEST(a_single_file_counts_more_than_an_index)
{
    put_text(index_name, "not even JSON");
    put_tensors("model.safetensors", (const char *[]){"a"}, 1);
    ck_assert_int_eq(checkpoint_open(&checkpoint, &folder, &err), 0);
    ck_assert_uint_eq(checkpoint.count, 1);
    checkpoint_release(&checkpoint);
}

TEST(a_folder_without_weights_is_an_error)
{
    put_text("config.json", "{}");
    expect_error("'m': expected model.safetensors or pytorch_model.bin, found neither");
    folder = (struct folder){.path = "/nowhere"};
    err = (struct err){0};
    expect_error("'/nowhere': expected model.safetensors or pytorch_model.bin, found neither");
}

TEST(a_shard_that_is_not_there_is_an_error)
{
    put_text(index_name, good_index);
    put_tensors("one.safetensors", (const char *[]){"a", "b"}, 2);
    expect_error("the bundled model 'm' has no file 'two.safetensors'");
}

TEST(a_shard_that_is_broken_is_named)
{
    put_text(index_name, good_index);
    put_tensors("one.safetensors", (const char *[]){"a", "b"}, 2);
    put_text("two.safetensors", "12345678");
    ck_assert_int_eq(checkpoint_open(&checkpoint, &folder, &err), -1);
    ck_assert_msg(strncmp(err.text, "'m/two.safetensors': ", 21) == 0, "%s", err.text);
    ck_assert_ptr_null(checkpoint.shards);
}

TEST(a_tensor_that_is_not_where_the_index_says_is_named)
{
    put_text(index_name, "{\"weight_map\":{\"a\":\"one.safetensors\",\"b\":\"two.safetensors\"}}");
    put_shards();
    expect_error("'m/model.safetensors.index.json': field 'weight_map': expected tensor 'b' in "
                 "'two.safetensors', found none");
}

TEST(an_index_that_is_wrong_says_where)
{
    static const char no_map[] = "field 'weight_map': expected an object of tensors and files";
    static const struct {
        const char *index;
        const char *message; /* after "'m/model.safetensors.index.json': " */
    } cases[] = {
        {"", "byte 0: expected a value, found the end"},
        {"[]", no_map},
        {"{}", no_map},
        {"{\"weight_map\":[]}", no_map},
        {"{\"weight_map\":{}}", no_map},
        {"{\"weight_map\":null}", no_map},
        {"{\"weight_map\":{\"a\":\"x\"},\"weight_map\":{\"a\":\"y\"}}",
         "field 'weight_map': expected once, found twice"},
        {"{\"weight_map\":{\"a\":\"x\",\"a\":\"x\"}}", "field 'a': expected once, found twice"},
        {"{\"weight_map\":{\"a\":1}}",
         "field 'weight_map': 'a': expected the name of a file, found 1"},
        {"{\"weight_map\":{\"a\":\"\"}}",
         "field 'weight_map': 'a': expected the name of a file, found \"\""},
        {"{\"weight_map\":{\"a\":\".\"}}",
         "field 'weight_map': 'a': expected the name of a file, found \".\""},
        {"{\"weight_map\":{\"a\":\"..\"}}",
         "field 'weight_map': 'a': expected the name of a file, found \"..\""},
        {"{\"weight_map\":{\"a\":\"../x\"}}",
         "field 'weight_map': 'a': expected the name of a file, found \"../x\""},
        {"{\"weight_map\":{\"a\":\"/etc/passwd\"}}",
         "field 'weight_map': 'a': expected the name of a file, found \"/etc/passwd\""},
        {"{\"weight_map\":{\"a\":\"x/\"}}",
         "field 'weight_map': 'a': expected the name of a file, found \"x/\""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char expected[256];
        empty_folder();
        put_text(index_name, cases[i].index);
        snprintf(expected, sizeof expected, "'m/%s': %s", index_name, cases[i].message);
        expect_error(expected);
    }
}

TEST(without_memory_nothing_is_held)
{
    int failed = -1;
    put_text(index_name, good_index);
    put_shards();
    for (size_t nth = 1; failed; nth++) {
        err = (struct err){0};
        heap_fail_at(nth, 0);
        failed = checkpoint_open(&checkpoint, &folder, &err);
        heap_fail_at(0, 0);
        ck_assert(!failed || strstr(err.text, "out of memory"));
        ck_assert(failed || nth > 10);
        checkpoint_release(&checkpoint);
    }
}
