/* safetensors.h: reads a file of named tensors in place, and writes its header. An entry's data
 * points into the mapped file, with any alignment. The format is checked when the file is opened.
 *
 *     struct safetensors tensors = {0};
 *     if (safetensors_open(&tensors, folder, "model.safetensors", err)) ...
 *     const struct safetensors_entry *wte = safetensors_find(&tensors, "wte.weight");
 *     safetensors_release(&tensors);
 */
#pragma once

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "format/dtype.h"

struct buf;

/* --- a file ---------------------------------------------------------------------------------- */

enum {
    SAFETENSORS_HEADER_MAX = 100000000, /* maximum bytes of a header, as in the reference
                                         * implementation */
    SAFETENSORS_RANK_MAX = 8,
};

struct safetensors_entry {
    const char *name;
    enum dtype dtype;
    size_t rank;
    size_t shape[SAFETENSORS_RANK_MAX];
    size_t count;      /* number of elements: the product of the shape */
    const void *data;  /* `count` elements of type `dtype`, not aligned */
    size_t begin, end; /* the field data_offsets; in other formats only end - begin has a meaning:
                        * the size of the data in the file in bytes */
};

struct safetensors {
    struct file file;
    struct arena arena;
    struct safetensors_entry *entries; /* in the order of their data; in other formats, in the order
                                        * of the file */
    size_t count;
    struct hash_table names;
};

/* Open a file and check, as the reference implementation does: the header's length, its JSON,
 * unique names, __metadata__, known types, sizes that match the shapes, and offsets that tile the
 * data. Errors name the file and the tensor. After a failure there is nothing to release. */
int safetensors_open(struct safetensors *tensors, const struct folder *folder, const char *name,
                     struct err *err);

/* Find a tensor by name; NULL: there is none with this name. */
const struct safetensors_entry *safetensors_find(const struct safetensors *tensors,
                                                 const char *name);

/* safetensors_floats returns the elements of a tensor in place if they are aligned float32, else
 * NULL. safetensors_row returns a row of a matrix in place. */
const float *safetensors_floats(const struct safetensors_entry *entry);
const void *safetensors_row(const struct safetensors_entry *entry, size_t row);

void safetensors_release(struct safetensors *tensors);

/* Fill `tensors->names` from the entries, and refuse a name that occurs twice. Readers of other
 * formats also call this. */
int safetensors_list(struct safetensors *tensors, struct err *err);

/* Input of safetensors_header: a dense float32 tensor, and a text for __metadata__. */
struct safetensors_tensor {
    const char *name;
    size_t rank;
    const size_t *shape;
    const float *data;
};

struct safetensors_note {
    const char *key;
    const char *text; /* the text, which is valid UTF-8 */
};

/* Write the length and the header, padded to 8 bytes, into an empty buffer. The caller writes the
 * data after it, in the order of the tensors. */
int safetensors_header(struct buf *header, const struct safetensors_tensor *tensors, size_t count,
                       const struct safetensors_note *notes, size_t note_count, struct err *err);
