/* safetensors.h: named tensors in one file, read in place and written.
 *
 * The file is mapped; an entry's data points into the mapping, whatever its alignment. Everything
 * the format promises is checked at opening, in the order of the reference implementation, before
 * a byte of data is touched: see the list above safetensors_open.
 *
 *     struct safetensors tensors = {0};
 *     if (safetensors_open(&tensors, folder, "model.safetensors", err)) ...
 *     const struct safetensors_entry *wte = safetensors_find(&tensors, "wte.weight");
 *     safetensors_release(&tensors);
 */
#ifndef ATTN_FORMAT_SAFETENSORS_H
#define ATTN_FORMAT_SAFETENSORS_H

#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/map.h"
#include "base/stream.h"
#include "format/dtype.h"

enum {
    SAFETENSORS_HEADER_MAX = 100000000, /* bytes; the reference's limit */
    SAFETENSORS_RANK_MAX = 8,
};

struct safetensors_entry {
    const char *name;
    enum dtype dtype;
    size_t rank;
    size_t shape[SAFETENSORS_RANK_MAX];
    size_t count;      /* elements: the product of the shape */
    const void *data;  /* unaligned; count elements of dtype */
    size_t begin, end; /* data_offsets */
};

struct safetensors {
    struct file file;
    struct arena arena;
    struct safetensors_entry *entries; /* in the order of their data */
    size_t count;
    struct map names;
};

/* Open and check: at least 8 bytes; header length at most SAFETENSORS_HEADER_MAX and within the
 * file; a JSON object, blanks around it allowed; no name twice; __metadata__ text to text; known
 * dtypes; the offsets, sorted, tile the data without hole, overlap or rest; and each range is shape
 * times element size. A file that is something else says what it is (a Git LFS pointer, a pickle,
 * GGUF, HTML). Errors name the file and the tensor. On failure nothing is held. */
int safetensors_open(struct safetensors *tensors, const struct folder *folder, const char *name,
                     struct err *err);

/* The entry of that name, or NULL. */
const struct safetensors_entry *safetensors_find(const struct safetensors *tensors,
                                                 const char *name);

/* Its elements where they lie, if they are floats that can be read there; else NULL. */
const float *safetensors_floats(const struct safetensors_entry *entry);

/* Where a row of a matrix begins, in elements of its own type. */
const void *safetensors_row(const struct safetensors_entry *entry, size_t row);

void safetensors_release(struct safetensors *tensors);

/* What is written: a dense float32 tensor, and texts for __metadata__. */
struct safetensors_tensor {
    const char *name;
    size_t rank;
    const size_t *shape;
    const float *data;
};

struct safetensors_note {
    const char *key;
    const char *text; /* valid UTF-8 */
};

/* Put what stands before the data into an empty buffer: the length, the header, blanks up to 8
 * bytes. The tensors' data is not looked at; their size in bytes must be a size_t. */
int safetensors_header(struct buf *header, const struct safetensors_tensor *tensors, size_t count,
                       const struct safetensors_note *notes, size_t note_count, struct err *err);

/* Write a whole file: the header padded with blanks to 8 bytes, the data in the order given. */
int safetensors_write(struct stream *out, const struct safetensors_tensor *tensors, size_t count,
                      const struct safetensors_note *notes, size_t note_count, struct err *err);

#endif
