#include "math/transpose.h"

#include <assert.h>

static void transpose_plain(struct matrix y, struct matrix x)
{
    for (size_t row = 0; row < x.rows; row++)
        for (size_t column = 0; column < x.columns; column++)
            y.data[column * y.stride + row] = x.data[row * x.stride + column];
}

#if defined(__x86_64__) && defined(__GNUC__)
#include "math/transpose_avx512.h"

/* The whole blocks of x; what is left over is the caller's. */
IN_AVX512 static void transpose_blocks(struct matrix y, struct matrix x)
{
    for (size_t row = 0; row + BLOCK <= x.rows; row += BLOCK) {
        for (size_t column = 0; column + BLOCK <= x.columns; column += BLOCK) {
            __m512 columns[BLOCK];
            transpose_block(columns, x.data + row * x.stride + column, x.stride);
#pragma GCC unroll 16
            for (size_t i = 0; i < BLOCK; i++)
                _mm512_storeu_ps(y.data + (column + i) * y.stride + row, columns[i]);
        }
    }
}

static size_t in_blocks(size_t size)
{
    return __builtin_cpu_supports("avx512f") ? size / BLOCK * BLOCK : 0;
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
