#include "math/gemm.h"

#include <math.h>
#include <string.h>

#include "math/avx512.h"
#include "math/isa.h"
#include "math/machine.h"
#include "math/pool.h"

enum { PART = 1024 }; /* rows of a round */

/* So many rows side by side that no chain waits for its own last sum. */
FOR_EACH_ISA
static void gemv_plain(float *y, struct matrix rows, const float *x)
{
    enum { CHAINS = 8 };
    for (size_t row = 0; row < rows.rows; row += CHAINS) {
        size_t count = rows.rows - row < CHAINS ? rows.rows - row : CHAINS;
        float sums[CHAINS] = {0};
        const float *from = rows.data + row * rows.stride;
        for (size_t k = 0; k < rows.columns; k++)
            for (size_t i = 0; i < count; i++)
                sums[i] = fmaf(x[k], from[i * rows.stride + k], sums[i]);
        memcpy(y + row, sums, count * sizeof *y);
    }
}

#ifdef AVX512

IN_AVX512 static inline __m512 add_block(__m512 sums, const float *from, size_t stride,
                                         const float *x)
{
    __m512 columns[LANES];
    transpose_block(columns, from, stride);
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++)
        sums = _mm512_fmadd_ps(_mm512_set1_ps(x[i]), columns[i], sums);
    return sums;
}

/* What is left of a row after its blocks. */
IN_AVX512 static inline __m512 add_rest(__m512 sums, const float *from, size_t stride,
                                        const float *x, size_t count)
{
    float column[LANES];
    for (size_t k = 0; k < count; k++) {
        for (size_t i = 0; i < LANES; i++)
            column[i] = from[i * stride + k];
        sums = _mm512_fmadd_ps(_mm512_set1_ps(x[k]), _mm512_loadu_ps(column), sums);
    }
    return sums;
}

/* The products of a block of rows. Meanwhile the rows after it are prefetched, a few lines at a
 * time in the order in which they lie in memory. */
IN_AVX512 static void gemv_block(float *y, struct matrix rows, const float *x)
{
    const float *from = rows.data;
    const float *later = from + LANES * rows.stride;
    __m512 sums = _mm512_setzero_ps();
    size_t whole = rows.columns / LANES * LANES;
    for (size_t k = 0; k < whole; k += LANES) {
        for (size_t line = 0; line < LANES; line++)
            __builtin_prefetch(later + (k + line) * LANES);
        sums = add_block(sums, from + k, rows.stride, x + k);
    }
    sums = add_rest(sums, from + whole, rows.stride, x + whole, rows.columns - whole);
    _mm512_storeu_ps(y, sums);
}

/* As many rows as fall into blocks; how many they are. */
static size_t gemv_avx512(float *y, struct matrix rows, const float *x)
{
    size_t count = rows.rows / LANES * LANES;
    if (!has_avx512())
        return 0;
    for (size_t row = 0; row < count; row += LANES)
        gemv_block(y + row, matrix_rows(rows, row, LANES), x);
    return count;
}
#else
static size_t gemv_avx512(float *y, struct matrix rows, const float *x)
{
    (void)y, (void)rows, (void)x;
    return 0;
}
#endif

struct gemv_job {
    float *y;
    struct matrix rows;
    const float *x;
};

static void compute_part(void *context, size_t round, size_t thread)
{
    const struct gemv_job *job = context;
    size_t first = round * PART;
    size_t rest = job->rows.rows - first;
    struct matrix rows = matrix_rows(job->rows, first, rest < PART ? rest : PART);
    size_t done = gemv_avx512(job->y + first, rows, job->x);
    (void)thread;
    gemv_plain(job->y + first + done, matrix_rows(rows, done, rows.rows - done), job->x);
}

void gemv(struct machine *machine, float *y, struct matrix rows, const float *x)
{
    struct gemv_job job = {y, rows, x};
    struct loop loop = {
        .rounds = (rows.rows + PART - 1) / PART,
        .work = (double)rows.rows * (double)rows.columns,
        .round = compute_part,
    };
    pool_run(machine->pool, loop, &job);
}
