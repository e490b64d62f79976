/* gguf.h: llama.cpp's files, GGUF of version 2 or 3, little-endian: values under keys and tensors
 * under names, read in place. All lengths, counts, types and places are checked at opening.
 *
 *     struct gguf gguf = {0};
 *     if (gguf_open(&gguf, "model.gguf", err)) ...
 *     const struct gguf_tensor *embedding = gguf_find(&gguf, "token_embd.weight");
 *     gguf_release(&gguf);
 */
#ifndef ATTN_FORMAT_GGUF_H
#define ATTN_FORMAT_GGUF_H

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

/* A number's bytes, a text's, or those of an array's items, one after the other. */
struct gguf_value {
    enum gguf_kind kind;
    enum gguf_kind item_kind; /* of an array */
    size_t count;             /* of its items; else 1 */
    const char *bytes;        /* in the file, unaligned */
    size_t size;
};

struct gguf_text {
    const char *bytes; /* not 0-terminated; of any bytes */
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

/* How numbers lie: blocks of so many in so many bytes; their numbers are those of ggml. */
struct gguf_type {
    const char *name;
    size_t block, block_bytes;
};

enum { GGUF_TYPE_F32 = 0, GGUF_TYPE_Q8_0 = 8 };

struct gguf_tensor {
    const char *name;
    const struct gguf_type *type; /* a row of gguf_types */
    size_t rank;
    size_t sizes[GGUF_RANK_MAX]; /* the one that numbers side by side lie along is the first */
    size_t count;                /* numbers: the product of the sizes */
    size_t begin, end;           /* bytes of the file */
};

struct gguf {
    struct file file;
    struct arena arena;
    size_t alignment;
    struct gguf_pair *pairs; /* [pair_count] in the file's order */
    size_t pair_count;
    struct gguf_tensor *tensors; /* [tensor_count] in the file's order */
    size_t tensor_count;
    struct map keys, names;
};

/* Open a file by its path, or check one that is open, which is taken over. Errors name the file (of
 * the first), the key or the tensor. On failure nothing is held. */
int gguf_open(struct gguf *gguf, const char *path, struct err *err);
int gguf_read(struct gguf *gguf, struct file *file, struct err *err);
void gguf_release(struct gguf *gguf);

/* What has that key or that name, or NULL. */
const struct gguf_value *gguf_value(const struct gguf *gguf, const char *key);
const struct gguf_tensor *gguf_find(const struct gguf *gguf, const char *name);

/* A value of a key, which stays as it is where there is none; another kind, or a number out of the
 * range, is refused. Whole numbers may be of any size. */
int gguf_integer(const struct gguf *gguf, const char *key, long long min, long long max,
                 long long *value, struct err *err);
int gguf_double(const struct gguf *gguf, const char *key, double min, double max, double *value,
                struct err *err);
int gguf_bool(const struct gguf *gguf, const char *key, bool *value, struct err *err);
int gguf_text(const struct gguf *gguf, const char *key, struct gguf_text *text, struct err *err);

/* An array of such items; NULL where there is none. */
int gguf_array(const struct gguf *gguf, const char *key, enum gguf_kind item_kind,
               const struct gguf_value **array, struct err *err);

/* Take the first text off a copy of an array; the item of an array of numbers. */
bool gguf_take_text(struct gguf_value *rest, struct gguf_text *text);
double gguf_item(const struct gguf_value *array, size_t index);

/* True when the text is this one. */
bool gguf_is(struct gguf_text text, const char *other);

enum { GGUF_TYPES = 40 };

extern const struct gguf_type gguf_types[GGUF_TYPES]; /* without a name: there is none */

#endif
