/* safetensors.h: named tensors in one file, read in place and written. An entry's data points into
 * the mapped file, whatever its alignment; all that the format promises is checked at opening.
 *
 *     struct safetensors tensors = {0};
 *     if (safetensors_open(&tensors, folder, "model.safetensors", err)) ...
 *     const struct safetensors_entry *wte = safetensors_find(&tensors, "wte.weight");
 *     safetensors_release(&tensors);
 */
#ifndef ATTN_FORMAT_SAFETENSORS_H
#define ATTN_FORMAT_SAFETENSORS_H

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "format/dtype.h"

struct buf;
struct folder;
struct stream;

/* --- a file ---------------------------------------------------------------------------------- */

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

/* Open and check, in the order of the reference implementation: the header's length, its JSON, no
 * name twice, __metadata__ text to text, known dtypes; offsets that tile the data, each shape times
 * element size. A file that is something else says what it is (a Git LFS pointer, a pickle, GGUF,
 * HTML). Errors name the file and the tensor. On failure nothing is held. */
int safetensors_open(struct safetensors *tensors, const struct folder *folder, const char *name,
                     struct err *err);

/* The entry of that name, or NULL. */
const struct safetensors_entry *safetensors_find(const struct safetensors *tensors,
                                                 const char *name);

/* Its elements where they lie, if they are floats that can be read there, else NULL; where a row of
 * a matrix begins, in elements of its own type. */
const float *safetensors_floats(const struct safetensors_entry *entry);
const void *safetensors_row(const struct safetensors_entry *entry, size_t row);

void safetensors_release(struct safetensors *tensors);

/* For readers of other formats that fill the struct, too (pytorch.h): list the entries under their
 * names, none of which may be there twice. */
int safetensors_list(struct safetensors *tensors, struct err *err);

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
 * bytes. The data follows in the order of the tensors; it is not looked at. */
int safetensors_header(struct buf *header, const struct safetensors_tensor *tensors, size_t count,
                       const struct safetensors_note *notes, size_t note_count, struct err *err);

#endif
