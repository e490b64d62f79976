#include "math/gather.h"

#include <math.h>
#include <string.h>

#include "math/avx512.h"
#include "math/isa.h"

enum {
    CHAINS = 8,       /* a fused multiply-add takes four steps, and two begin in each */
    WIDE = 4 * LANES, /* columns that are summed in registers */
    AHEAD = 8,        /* rows that are prefetched: no processor can guess where they lie */
};

/* --- products --------------------------------------------------------------------------------- */

FOR_EACH_ISA
static void dots_of_eight(float *restrict y, const float *restrict x,
                          const float *const rows[CHAINS], struct gather_form form)
{
    float sums[CHAINS] = {0};
    for (size_t i = 0; i < form.width; i++)
        for (size_t c = 0; c < CHAINS; c++)
            sums[c] = fmaf(x[i], rows[c][i * form.step], sums[c]);
    for (size_t c = 0; c < CHAINS; c++)
        y[c] = sums[c];
}

static void dots_plain(float *y, const float *x, const float *const *rows, size_t count,
                       struct gather_form form)
{
    for (size_t first = 0; first < count; first += CHAINS) {
        const float *eight[CHAINS];
        float found[CHAINS];
        size_t rest = count - first < CHAINS ? count - first : CHAINS;
        for (size_t c = 0; c < CHAINS; c++) /* a last one stands in for those that are missing */
            eight[c] = rows[first + (c < rest ? c : rest - 1)];
        dots_of_eight(found, x, eight, form);
        memcpy(y + first, found, rest * sizeof *y);
    }
}

#ifdef AVX512

enum { BLOCKS = 4 }; /* of rows at a time, so that no chain waits for its own last sum */

/* Some columns, at most LANES, of a block of rows, from one on. */
IN_AVX512 static inline __m512 add_columns(__m512 sums, const float *x, const float *const *rows,
                                           size_t first, size_t count)
{
    __m512 columns[LANES];
    __mmask16 there = (__mmask16)((1U << count) - 1);
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++)
        columns[i] = _mm512_maskz_loadu_ps(there, rows[i] + first);
    transpose_registers(columns);
    if (count == LANES) {
#pragma GCC unroll 16
        for (size_t i = 0; i < LANES; i++)
            sums = _mm512_fmadd_ps(_mm512_set1_ps(x[first + i]), columns[i], sums);
        return sums;
    }
    for (size_t i = 0; i < count; i++)
        sums = _mm512_fmadd_ps(_mm512_set1_ps(x[first + i]), columns[i], sums);
    return sums;
}

IN_AVX512 static void dots_of_blocks(float *y, const float *x, const float *const *rows,
                                     size_t blocks, size_t width)
{
    __m512 sums[BLOCKS];
    for (size_t b = 0; b < BLOCKS; b++)
        sums[b] = _mm512_setzero_ps();
    for (size_t i = 0; i < width; i += LANES)
        for (size_t b = 0; b < blocks; b++)
            sums[b] =
                add_columns(sums[b], x, rows + b * LANES, i, width - i < LANES ? width - i : LANES);
    for (size_t b = 0; b < blocks; b++)
        _mm512_storeu_ps(y + b * LANES, sums[b]);
}

/* All of them, where rows are dense; how many they are. */
static size_t dots_in_blocks(float *y, const float *x, const float *const *rows, size_t count,
                             struct gather_form form)
{
    enum { MOST = BLOCKS * LANES };
    if (form.step != 1 || !has_avx512())
        return 0;
    for (size_t first = 0; first < count; first += MOST) {
        const float *some[MOST];
        float found[MOST];
        size_t rest = count - first < MOST ? count - first : MOST;
        size_t blocks = (rest + LANES - 1) / LANES;
        for (size_t i = 0; i < blocks * LANES; i++) /* here, too */
            some[i] = rows[first + (i < rest ? i : rest - 1)];
        dots_of_blocks(found, x, some, blocks, form.width);
        memcpy(y + first, found, rest * sizeof *y);
    }
    return count;
}
#else
static size_t dots_in_blocks(float *y, const float *x, const float *const *rows, size_t count,
                             struct gather_form form)
{
    (void)y, (void)x, (void)rows, (void)count, (void)form;
    return 0;
}
#endif

void gather_dots(float *y, const float *x, const float *const *rows, size_t count,
                 struct gather_form form)
{
    size_t done = dots_in_blocks(y, x, rows, count, form);
    dots_plain(y + done, x, rows + done, count - done, form);
}

/* --- sums ------------------------------------------------------------------------------------- */

FOR_EACH_ISA
void gather_sum(float *restrict y, const float *const *restrict rows, const float *restrict factors,
                size_t count, size_t width)
{
    size_t whole = width / WIDE * WIDE;
    for (size_t column = 0; column < whole; column += WIDE) {
        float sums[WIDE];
        memcpy(sums, y + column, sizeof sums);
        for (size_t i = 0; i < count; i++) {
            const float *restrict row = rows[i] + column;
            const float *later = rows[i + AHEAD < count ? i + AHEAD : i] + column;
            for (size_t line = 0; line < WIDE; line += LANES)
                __builtin_prefetch(later + line);
            for (size_t c = 0; c < WIDE; c++)
                sums[c] = fmaf(factors[i], row[c], sums[c]);
        }
        memcpy(y + column, sums, sizeof sums);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t c = whole; c < width; c++)
            y[c] = fmaf(factors[i], rows[i][c], y[c]);
}
