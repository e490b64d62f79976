/* gguf.h: reads llama.cpp's files (GGUF version 2 or 3, little-endian) in place: values by key and
 * tensors by name. All lengths, counts, types and offsets are checked when the file is opened.
 *
 *     struct gguf gguf = {0};
 *     if (gguf_open(&gguf, "model.gguf", err)) ...
 *     const struct gguf_tensor *embedding = gguf_find(&gguf, "token_embd.weight");
 *     gguf_release(&gguf);
 */
#pragma once

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"

enum gguf_kind {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_TEXT,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_KINDS,
};

/* The value of a key: a number, a text, or the items of an array. */
struct gguf_value {
    enum gguf_kind kind;
    enum gguf_kind item_kind; /* kind of an array's items */
    size_t count;             /* number of items of an array; 1 for any other value */
    const char *bytes;        /* bytes of the value in the file, not aligned */
    size_t size;
};

struct gguf_text {
    const char *bytes; /* any bytes, not 0-terminated */
    size_t size;
};

struct gguf_pair {
    const char *key;
    struct gguf_value value;
};

enum {
    GGUF_RANK_MAX = 4,
    GGUF_ALIGNMENT_MAX = 1 << 20,
};

/* A number type of ggml: its name, the numbers in a block, and the bytes of a block. */
struct gguf_type {
    const char *name;
    size_t block, block_bytes;
};

enum { GGUF_TYPE_F32 = 0, GGUF_TYPE_Q8_0 = 8 };

struct gguf_tensor {
    const char *name;
    const struct gguf_type *type; /* a row of gguf_types */
    size_t rank;
    size_t sizes[GGUF_RANK_MAX]; /* the contiguous dimension is first */
    size_t count;                /* number of elements: the product of the sizes */
    size_t begin, end;           /* byte offsets of the data in the file */
};

struct gguf {
    struct file file;
    struct arena arena;
    size_t alignment;
    struct gguf_pair *pairs; /* [pair_count] keys with their values, in the file's order */
    size_t pair_count;
    struct gguf_tensor *tensors; /* [tensor_count] tensors, in the file's order */
    size_t tensor_count;
    struct hash_table keys, names;
};

/* gguf_open opens a file by its path; gguf_read checks an open file, which the struct then owns.
 * Errors name a wrong key or tensor, and errors of gguf_open also name the file. After a failure
 * there is nothing to release. */
int gguf_open(struct gguf *gguf, const char *path, struct err *err);
int gguf_read(struct gguf *gguf, struct file *file, struct err *err);
void gguf_release(struct gguf *gguf);

/* Find the value of a key, or a tensor; NULL: the file has none of this name. */
const struct gguf_value *gguf_value(const struct gguf *gguf, const char *key);
const struct gguf_tensor *gguf_find(const struct gguf *gguf, const char *name);

/* Get the value of a key; `*value` stays unchanged if the file lacks the key. Another kind and a
 * number out of range are refused. Integers may have any width, and gguf_double also accepts
 * integers. */
int gguf_integer(const struct gguf *gguf, const char *key, long long min, long long max,
                 long long *value, struct err *err);
int gguf_double(const struct gguf *gguf, const char *key, double min, double max, double *value,
                struct err *err);
int gguf_bool(const struct gguf *gguf, const char *key, bool *value, struct err *err);
int gguf_text(const struct gguf *gguf, const char *key, struct gguf_text *text, struct err *err);

/* Get the array of a key; `*array` becomes NULL if the file lacks the key. A value that is not an
 * array, and an array of another kind of items, are refused. */
int gguf_array(const struct gguf *gguf, const char *key, enum gguf_kind item_kind,
               const struct gguf_value **array, struct err *err);

/* gguf_take_text removes the first text from a copy of an array, and returns false if no text is
 * left. gguf_item returns a number of an array, converted to double. */
bool gguf_take_text(struct gguf_value *rest, struct gguf_text *text);
double gguf_item(const struct gguf_value *array, size_t index);

/* True if the texts are equal. */
bool gguf_is(struct gguf_text text, const char *other);

enum { GGUF_TYPES = 40 };

extern const struct gguf_type gguf_types[GGUF_TYPES]; /* ggml's types by their numbers; a row
                                                       * without a name is a number that ggml does
                                                       * not use */
