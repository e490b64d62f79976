/* transpose.h: rows of numbers become columns of floats, a block at a time: what products make of a
 * matrix that lies as [out, in].
 *
 *     transpose_rows(panel, 64, &rows, 768);                  (16 columns of panel [768][64])
 *
 * All loops copy, or widen bf16, and so give the same bits.
 */
#ifndef ATTN_MATH_TRANSPOSE_H
#define ATTN_MATH_TRANSPOSE_H

#include <stddef.h>

#include "math/avx512.h"
#include "math/number_rows.h"

#ifdef AVX512
/* LANES words of each row, from a byte on. */
static inline IN_AVX512 void load_words(__m512 words[LANES], const struct number_rows *rows,
                                        size_t byte)
{
#pragma GCC unroll 16
    for (size_t row = 0; row < LANES; row++)
        words[row] = _mm512_loadu_ps((const float *)(const void *)(rows->at[row] + byte));
}
#endif

/* to[i · stride + r] = number i of row r, of LANES rows, for as many of `count` numbers as fall
 * into whole blocks; returns how many. */
typedef size_t transpose_loop(float *to, size_t stride, const struct number_rows *rows,
                              size_t count);

enum transpose_form {
    TRANSPOSE_AVX512,
    TRANSPOSE_AVX2,
    TRANSPOSE_NEON,
    TRANSPOSE_PLAIN,
    TRANSPOSE_FORMS,
};

/* The loop of a form; NULL where the processor has none. */
transpose_loop *transpose_find(enum transpose_form form);

/* All numbers of all rows, by the best loop. */
void transpose_rows(float *to, size_t stride, const struct number_rows *rows, size_t count);

#endif
