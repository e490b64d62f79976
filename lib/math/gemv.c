#include "math/gemm.h"

#include <math.h>

#include "base/num.h"
#include "math/kernel.h"
#include "math/transpose.h"

enum { TILE = 64 }; /* numbers of a row at a time */

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* sums += x · tile [count, LANES]: a chain a column. */
FOR_EACH_ISA
static void add_tile(float *restrict sums, const float *restrict x, const float *restrict tile,
                     size_t count)
{
    float chains[LANES];
    memcpy(chains, sums, sizeof chains);
    for (size_t i = 0; i < count; i++)
        for (size_t lane = 0; lane < LANES; lane++)
            chains[lane] = fmaf(x[i], tile[i * LANES + lane], chains[lane]);
    memcpy(sums, chains, sizeof chains);
}

/* Of numbers from `first` on, by a tile that stays in the first cache. */
static void add_tiles(float (*sums)[LANES], struct matrix x, const struct number_rows *rows,
                      size_t first)
{
    float tile[TILE * LANES] = {0};
    struct number_rows rest = *rows;
    for (size_t i = first; i < x.columns; i += TILE) {
        size_t count = x.columns - i < TILE ? x.columns - i : TILE;
        for (size_t row = 0; row < rows->count; row++)
            rest.at[row] = rows->at[row] + i * rows->bytes;
        transpose_rows(tile, LANES, &rest, count);
        for (size_t t = 0; t < x.rows; t++)
            add_tile(sums[t], x.data + t * x.stride + i, tile, count);
    }
}

#ifdef AVX512

IN_AVX512 static ALWAYS_INLINE __m512 add_number(__m512 sum, float x, __m512 column)
{
    return _mm512_fmadd_ps(_mm512_set1_ps(x), column, sum);
}

/* LANES words of each row, which are columns by now. */
IN_AVX512 static ALWAYS_INLINE void add_words(__m512 sums[GEMV_ROWS], size_t count, const float *x,
                                              size_t stride, const __m512 words[LANES],
                                              size_t bytes)
{
    const __m512i upper = _mm512_set1_epi32((int)0xffff0000);
#pragma GCC unroll 16
    for (size_t k = 0; k < LANES; k++) {
        __m512i pair = _mm512_castps_si512(words[k]);
        __m512 low = _mm512_castsi512_ps(_mm512_slli_epi32(pair, 16));
        __m512 high = _mm512_castsi512_ps(_mm512_and_si512(pair, upper));
#pragma GCC unroll 16
        for (size_t t = 0; t < count; t++) {
            const float *at = x + t * stride;
            if (bytes == FLOAT_BYTES)
                sums[t] = add_number(sums[t], at[k], words[k]);
            else
                sums[t] = add_number(add_number(sums[t], at[2 * k], low), at[2 * k + 1], high);
        }
    }
}

IN_AVX512 static ALWAYS_INLINE size_t add_blocks(float (*to)[LANES], struct matrix x,
                                                 const struct number_rows *rows, size_t count)
{
    size_t bytes = rows->bytes;
    size_t step = LANES * LANE_BYTES / bytes;
    size_t i = 0;
    __m512 sums[GEMV_ROWS];
    for (size_t t = 0; t < count; t++)
        sums[t] = _mm512_loadu_ps(to[t]);
    for (; i + step <= x.columns; i += step) {
        __m512 words[LANES];
        prefetch_rows(rows, i * bytes);
        load_words(words, rows, i * bytes);
        transpose_registers(words);
        add_words(sums, count, x.data + i, x.stride, words, bytes);
    }
    for (size_t t = 0; t < count; t++)
        _mm512_storeu_ps(to[t], sums[t]);
    return i;
}

/* Of as many numbers as fall into whole blocks; how many they are. The number of rows is a constant,
 * so that sums stay in registers. */
#define FOR_ROWS(DO) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12)
#define CASE_ROWS(count) \
    case count:          \
        return add_blocks(sums, x, rows, count);

IN_AVX512 static size_t dots_avx512(float (*sums)[LANES], struct matrix x,
                                    const struct number_rows *rows)
{
    switch (x.rows) {
        FOR_ROWS(CASE_ROWS)
    default:
        return 0;
    }
}

static size_t dots_in_blocks(float (*sums)[LANES], struct matrix x, const struct number_rows *rows)
{
    return has_avx512() ? dots_avx512(sums, x, rows) : 0;
}
#else
static size_t dots_in_blocks(float (*sums)[LANES], struct matrix x, const struct number_rows *rows)
{
    (void)sums, (void)x, (void)rows;
    return 0;
}
#endif

static void add_rows_of_numbers(float (*sums)[LANES], struct matrix x,
                                const struct number_rows *rows)
{
    size_t done = dots_in_blocks(sums, x, rows);
    if (done < x.columns)
        add_tiles(sums, x, rows, done);
}

/* The same rows from number `first` on, which begins a block. */
static struct number_rows rows_from(const struct number_rows *rows, size_t first)
{
    struct number_rows rest = *rows;
    size_t skipped = rows->bytes ? first * rows->bytes : dtype_bytes(rows->quantised, first);
    for (size_t row = 0; row < rows->count; row++)
        rest.at[row] += skipped;
    return rest;
}

/* sums += x · a segment of the rows, x's columns, from `first` on: a chain each. */
static void add_segment(float (*sums)[LANES], struct matrix x, const struct number_rows *rows,
                        size_t first)
{
    float chains[GEMV_ROWS][LANES] = {{0}};
    struct number_rows segment = rows_from(rows, first);
    for (; segment.count < LANES; segment.count++) /* any will do where there are fewer */
        segment.at[segment.count] = segment.at[0];
    if (rows->bytes)
        add_rows_of_numbers(chains, x, &segment);
    for (size_t t = 0; !rows->bytes && t < x.rows; t++)
        dtype_add_dots(chains[t], x.data + t * x.stride, segment.at, rows->quantised, x.columns,
                       rows->jump);
    for (size_t t = 0; t < x.rows; t++)
        for (size_t row = 0; row < LANES; row++)
            sums[t][row] = first > 0 ? sums[t][row] + chains[t][row] : chains[t][row];
}

/* Rows' products with a row of x lie `apart` numbers apart. */
static void multiply_rows(struct matrix y, struct matrix x, const struct number_rows *rows,
                          size_t apart)
{
    for (size_t t = 0; t < x.rows; t += GEMV_ROWS) {
        float sums[GEMV_ROWS][LANES] = {{0}};
        struct matrix some = matrix_rows(x, t, num_min(GEMV_ROWS, x.rows - t));
        for (size_t first = 0; first < x.columns; first += SUM_SEGMENT) {
            size_t count = num_min(SUM_SEGMENT, x.columns - first);
            add_segment(sums, matrix_columns(some, first, count), rows, first);
        }
        for (size_t k = 0; k < some.rows; k++)
            for (size_t row = 0; row < rows->count; row++)
                y.data[(t + k) * y.stride + row * apart] = sums[k][row];
    }
}

void gemv_rows(struct matrix y, struct matrix x, const struct number_rows *rows)
{
    multiply_rows(y, x, rows, 1);
}

/* A row of each strip, then the next. */
static void multiply_strips(struct matrix y, struct matrix x, const struct weight *w, size_t column,
                            size_t strip)
{
    struct number_rows rows = weight_strip_rows(w, column, strip);
    size_t row_bytes = rows.jump;
    for (size_t i = 0; i < strip; i++) {
        if (i + 1 == strip)
            rows.jump += (LANES - 1) * strip * row_bytes; /* to the columns after these */
        multiply_rows(matrix_columns(y, i, y.columns - i), x, &rows, strip);
        for (size_t row = 0; row < LANES; row++)
            rows.at[row] += row_bytes;
    }
}

void gemv(struct matrix y, struct matrix x, const struct weight *w, size_t column, bool strips)
{
    size_t strip = strips ? weight_strip(w, column, y.columns) : 0;
    if (strip)
        multiply_strips(y, x, w, column, strip);
    for (size_t i = strip * LANES; i < y.columns; i += LANES) {
        struct number_rows rows = weight_number_rows(w, 0, column + i);
        if (rows.count > y.columns - i)
            rows.count = y.columns - i;
        gemv_rows(matrix_columns(y, i, rows.count), x, &rows);
    }
}
