/* tensor.h: views of floats, which own nothing.
 *
 * `struct matrix` is for products: rows of `columns` floats, `stride` floats apart.
 * `struct tensor` is for tensors of a pass: up to three axes, each with its own stride. */
#pragma once

#include <stddef.h>

enum { TENSOR_RANK_MAX = 3 };

struct matrix {
    float *data;
    size_t rows;
    size_t columns;
    size_t stride; /* floats from one row to the next, at least `columns` */
};

struct tensor {
    const float *data;
    size_t rank;
    size_t shape[TENSOR_RANK_MAX];
    size_t stride[TENSOR_RANK_MAX]; /* of each axis, in floats */
};

struct arena;
struct err;

/* Allocate a matrix of zeros in an arena; its `data` is NULL if there is no memory. */
struct matrix matrix_new(size_t rows, size_t columns, struct arena *arena, struct err *err);

/* Return a stride in floats for rows of `columns` floats: an odd number of cache lines, to spread a
 * column over the sets of a cache. */
size_t matrix_stride(size_t columns);

static inline float *matrix_row(struct matrix matrix, size_t row)
{
    return matrix.data + row * matrix.stride;
}

/* matrix_rows: `count` rows from row `first` on. matrix_columns: `count` columns from column
 * `first` on. */
static inline struct matrix matrix_rows(struct matrix whole, size_t first, size_t count)
{
    whole.data += first * whole.stride;
    whole.rows = count;
    return whole;
}

static inline struct matrix matrix_columns(struct matrix whole, size_t first, size_t count)
{
    if (first) /* never adds 0 to NULL, the data of an empty matrix */
        whole.data += first;
    whole.columns = count;
    return whole;
}

/* y [C, T] = the transpose of x [T, C]; y and x must not overlap. Defined in weight.c. */
void transpose(struct matrix y, struct matrix x);

/* tensor_dense: a tensor of dense row-major floats. tensor_count: the number of elements.
 * tensor_slice: slice `index` of the first axis. tensor_copy: a copy as dense row-major floats. */
struct tensor tensor_dense(const float *data, size_t rank, const size_t *shape);
size_t tensor_count(const struct tensor *tensor);
struct tensor tensor_slice(const struct tensor *tensor, size_t index);
void tensor_copy(float *out, const struct tensor *tensor);
