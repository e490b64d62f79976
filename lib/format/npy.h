/* npy.h: NumPy's .npy format, a file with one array. Arrays are written as version 1.0, float32, in
 * C order, with the data aligned to 64 bytes; a text is written as an array of type `<U`. Versions
 * 1 to 3 are read, of float16, bfloat16, float32 or float64, in C or Fortran order.
 *
 *     struct npy array;
 *     if (npy_read(&array, "steer.npy", &arena, err)) ...
 *     array.data[row * array.shape[1] + column]
 */
#pragma once

#include "base/stream.h"
#include "format/safetensors.h"

/* Write the header of a dense float32 array; the array's numbers must follow it. Returns the size
 * of the header in bytes. */
enum { NPY_HEADER_BYTES = 1024 };
size_t npy_header(char header[NPY_HEADER_BYTES], size_t rank, const size_t *shape);

/* Append the bytes of a whole npy file that contains one UTF-8 text, as NumPy writes a str: an
 * array without axes, of type `<U`, with four bytes for each character. */
void npy_add_text(struct buf *file, const char *text, size_t size);

void npy_begin(struct stream *out, size_t rank, const size_t *shape); /* writes the header; `out`
                                                                       * keeps errors */

enum { NPY_RANK_MAX = 4 };

struct npy {
    size_t rank;
    size_t shape[NPY_RANK_MAX];
    const float *data; /* in the arena, dense, in C order; float64 is rounded */
};

/* True if the items of a file's array are texts, of type `<U`, `>U` or `|S`. */
bool npy_has_texts(const struct file *file);

/* npy_find finds the array of a file. Its numbers may be in Fortran order, and of type bfloat16
 * (`V2`, as ml_dtypes saves it). Other types, a size that does not match the shape and more than
 * SAFETENSORS_RANK_MAX axes are refused. The entry has no name. npy_to_c_order copies an entry's
 * numbers from Fortran order to C order. */
int npy_find(struct safetensors_entry *entry, bool *is_fortran, const struct file *file,
             struct err *err);
void npy_to_c_order(float *to, const float *from, const struct safetensors_entry *entry);

/* npy_read reads the file at a path, and its errors name the path; npy_read_bytes reads an open
 * file. What npy_find refuses, more than NPY_RANK_MAX axes and numbers that are not finite are
 * errors. */
int npy_read(struct npy *array, const char *path, struct arena *arena, struct err *err);
int npy_read_bytes(struct npy *array, const struct file *file, struct arena *arena,
                   struct err *err);
