/* tensor.h: views of floats: a pointer, a shape and strides; they own nothing.
 *
 * `struct matrix` is what kernels work on: rows of `columns` floats, `stride` floats apart.
 * `struct tensor` is what is announced and kept: up to three axes, each with a stride of its own.
 */
#ifndef ATTN_MATH_TENSOR_H
#define ATTN_MATH_TENSOR_H

#include <stddef.h>

enum { TENSOR_RANK_MAX = 3 };

struct matrix {
    float *data;
    size_t rows;
    size_t columns;
    size_t stride; /* floats from one row to the next; columns, or more */
};

struct tensor {
    const float *data;
    size_t rank;
    size_t shape[TENSOR_RANK_MAX];
    size_t stride[TENSOR_RANK_MAX]; /* in floats */
};

/* A stride that the caches like: an odd number of whole lines, so that the same column of many rows
 * does not fall on the same few sets. */
size_t matrix_stride(size_t columns);

/* `count` rows from row `first` on; `count` columns from column `first` on. */
static inline struct matrix matrix_rows(struct matrix whole, size_t first, size_t count)
{
    whole.data += first * whole.stride;
    whole.rows = count;
    return whole;
}

static inline struct matrix matrix_columns(struct matrix whole, size_t first, size_t count)
{
    whole.data += first;
    whole.columns = count;
    return whole;
}

/* y [C, T] = the transpose of x [T, C]. They must not overlap. (weight.c) */
void transpose(struct matrix y, struct matrix x);

/* A matrix as a tensor of two axes; dense row-major floats as one; the elements; slice `index` of
 * the first axis; a copy as dense row-major floats. */
struct tensor tensor_of_matrix(struct matrix matrix);
struct tensor tensor_dense(const float *data, size_t rank, const size_t *shape);
size_t tensor_count(const struct tensor *tensor);
struct tensor tensor_slice(const struct tensor *tensor, size_t index);
void tensor_copy(float *out, const struct tensor *tensor);

#endif
