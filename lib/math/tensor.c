#include "math/tensor.h"

#include <assert.h>
#include <string.h>

#include "math/avx512.h"

size_t matrix_stride(size_t columns)
{
    enum { LINE = 16 }; /* floats of a cache line */
    size_t lines = (columns + LINE - 1) / LINE;
    return (lines | 1) * LINE;
}

struct tensor tensor_of_matrix(struct matrix matrix)
{
    return (struct tensor){
        .data = matrix.data,
        .rank = 2,
        .shape = {matrix.rows, matrix.columns},
        .stride = {matrix.stride, 1},
    };
}

size_t tensor_count(const struct tensor *tensor)
{
    size_t count = 1;
    for (size_t axis = 0; axis < tensor->rank; axis++)
        count *= tensor->shape[axis];
    return count;
}

struct tensor tensor_slice(const struct tensor *tensor, size_t index)
{
    struct tensor slice = {.data = tensor->data + index * tensor->stride[0],
                           .rank = tensor->rank - 1};
    for (size_t axis = 0; axis < slice.rank; axis++) {
        slice.shape[axis] = tensor->shape[axis + 1];
        slice.stride[axis] = tensor->stride[axis + 1];
    }
    return slice;
}

void tensor_copy(float *out, const struct tensor *tensor)
{
    size_t inner = tensor->rank - 1;
    if (tensor->rank > 1) {
        for (size_t i = 0; i < tensor->shape[0]; i++) {
            struct tensor slice = tensor_slice(tensor, i);
            tensor_copy(out + i * tensor_count(&slice), &slice);
        }
    } else if (tensor->stride[inner] == 1) {
        memcpy(out, tensor->data, tensor->shape[inner] * sizeof *out);
    } else {
        for (size_t i = 0; i < tensor->shape[inner]; i++)
            out[i] = tensor->data[i * tensor->stride[inner]];
    }
}

/* --- transpose -------------------------------------------------------------------------------- */

static void transpose_plain(struct matrix y, struct matrix x)
{
    for (size_t row = 0; row < x.rows; row++)
        for (size_t column = 0; column < x.columns; column++)
            y.data[column * y.stride + row] = x.data[row * x.stride + column];
}

#ifdef AVX512

/* The whole blocks of x; what is left over is the caller's. */
IN_AVX512 static void transpose_blocks(struct matrix y, struct matrix x)
{
    for (size_t row = 0; row + LANES <= x.rows; row += LANES) {
        for (size_t column = 0; column + LANES <= x.columns; column += LANES) {
            __m512 columns[LANES];
            transpose_block(columns, x.data + row * x.stride + column, x.stride);
#pragma GCC unroll 16
            for (size_t i = 0; i < LANES; i++)
                _mm512_storeu_ps(y.data + (column + i) * y.stride + row, columns[i]);
        }
    }
}

static size_t in_blocks(size_t size)
{
    return has_avx512() ? size / LANES * LANES : 0;
}
#else
static void transpose_blocks(struct matrix y, struct matrix x)
{
    (void)y, (void)x;
}

static size_t in_blocks(size_t size)
{
    return size * 0;
}
#endif

void transpose(struct matrix y, struct matrix x)
{
    assert(y.rows == x.columns && y.columns == x.rows);
    size_t rows = in_blocks(x.rows);
    size_t columns = in_blocks(x.columns);
    if (rows > 0)
        transpose_blocks(y, x);
    transpose_plain(matrix_columns(y, rows, x.rows - rows), matrix_rows(x, rows, x.rows - rows));
    transpose_plain(matrix_rows(y, columns, x.columns - columns),
                    matrix_columns(matrix_rows(x, 0, rows), columns, x.columns - columns));
}
