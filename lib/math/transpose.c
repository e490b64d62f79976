#include "math/tensor.h"

#include <assert.h>

#include "math/avx512.h"

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
