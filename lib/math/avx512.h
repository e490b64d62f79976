/* avx512.h: what loops written in AVX-512 by hand have in common. Where a compiler has none, AVX512
 * is not defined. */
#ifndef ATTN_MATH_AVX512_H
#define ATTN_MATH_AVX512_H

#include <stdbool.h>
#include <stddef.h>

#include "math/isa.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define AVX512
#define IN_AVX512 __attribute__((target("avx512f")))

/* AVX-512 F, which is all that these loops take. */
static inline bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f");
}

static inline IN_AVX512 __m512 join_pairs(__m512 a, __m512 b, int high)
{
    __m512d first = _mm512_castps_pd(a);
    __m512d second = _mm512_castps_pd(b);
    return _mm512_castpd_ps(high ? _mm512_unpackhi_pd(first, second)
                                 : _mm512_unpacklo_pd(first, second));
}

/* In place: rows become columns. Every step joins what lies twice as far apart. */
static inline IN_AVX512 void transpose_registers(__m512 a[LANES])
{
    __m512 b[LANES];
#pragma GCC unroll 8
    for (int i = 0; i < LANES; i += 2) {
        b[i] = _mm512_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_ps(a[i], a[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < LANES; i += 4) {
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

/* columns[i][j] = from[j · stride + i]. */
static inline IN_AVX512 void transpose_block(__m512 columns[LANES], const float *from,
                                             size_t stride)
{
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++)
        columns[i] = _mm512_loadu_ps(from + i * stride);
    transpose_registers(columns);
}

#else
static inline bool has_avx512(void)
{
    return false;
}
#endif

#endif
