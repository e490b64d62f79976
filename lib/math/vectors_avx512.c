/* vectors_avx512.c: the loops of vectors.h with AVX-512 instructions. */
#include "math/kernel.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

enum { VECTOR_FLOATS = 16, WORDS = 16, REGISTERS = 2, ROWS_MAX = 12 };

#define IN_VECTORS __attribute__((target("avx512f")))
#define FOR_ROWS(DO) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12)
#define vector __m512
#define vector_zero _mm512_setzero_ps
#define vector_all _mm512_set1_ps
#define vector_load _mm512_loadu_ps
#define vector_words(rows, byte) vector_load((const float *)(const void *)(*(rows) + (byte)))
#define vector_store _mm512_storeu_ps
#define vector_add _mm512_add_ps
#define vector_multiply_add _mm512_fmadd_ps

static inline IN_VECTORS vector join_pairs(vector a, vector b, int high)
{
    __m512d first = _mm512_castps_pd(a);
    __m512d second = _mm512_castps_pd(b);
    return _mm512_castpd_ps(high ? _mm512_unpackhi_pd(first, second)
                                 : _mm512_unpacklo_pd(first, second));
}

/* Transpose in four steps. Each step combines vectors that are twice as far apart as in the step
 * before. */
static inline IN_VECTORS void transpose_words(vector a[WORDS])
{
    vector b[WORDS];
#pragma GCC unroll 8
    for (int i = 0; i < WORDS; i += 2) {
        b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < WORDS; i += 4) {
        a[i] = join_pairs(b[i], b[i + 2], 0);
        a[i + 1] = join_pairs(b[i], b[i + 2], 1);
        a[i + 2] = join_pairs(b[i + 1], b[i + 3], 0);
        a[i + 3] = join_pairs(b[i + 1], b[i + 3], 1);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        b[i] = _mm512_shuffle_f32x4(a[i], a[i + 4], 0x88);
        b[i + 4] = _mm512_shuffle_f32x4(a[i], a[i + 4], 0xdd);
        b[i + 8] = _mm512_shuffle_f32x4(a[i + 8], a[i + 12], 0x88);
        b[i + 12] = _mm512_shuffle_f32x4(a[i + 8], a[i + 12], 0xdd);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        a[i] = _mm512_shuffle_f32x4(b[i], b[i + 8], 0x88);
        a[i + 8] = _mm512_shuffle_f32x4(b[i], b[i + 8], 0xdd);
    }
}

#include "math/vectors.h"

const struct vector_loops vectors_avx512 = VECTOR_LOOPS;
#else
const struct vector_loops vectors_avx512 = {0};
#endif
