/* avx2.h: what loops written in AVX2 by hand have in common; where a compiler has none, AVX512 (of
 * avx512.h) is not defined. */
#ifndef ATTN_MATH_AVX2_H
#define ATTN_MATH_AVX2_H

#include "math/avx512.h"

#ifdef AVX512

enum { HALF_LANES = LANES / 2 };

#define IN_AVX2 __attribute__((target("avx2,fma")))

static inline bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* In place: rows become columns. Every step joins what lies twice as far apart. */
static inline IN_AVX2 void transpose_registers_avx2(__m256 a[HALF_LANES])
{
    __m256 b[HALF_LANES];
#pragma GCC unroll 4
    for (int i = 0; i < HALF_LANES; i += 2) {
        b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < HALF_LANES; i += 4) {
        a[i] = _mm256_shuffle_ps(b[i], b[i + 2], 0x44);
        a[i + 1] = _mm256_shuffle_ps(b[i], b[i + 2], 0xee);
        a[i + 2] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0x44);
        a[i + 3] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0xee);
    }
#pragma GCC unroll 4
    for (int i = 0; i < HALF_LANES / 2; i++) {
        __m256 low = a[i];
        __m256 high = a[i + 4];
        a[i] = _mm256_permute2f128_ps(low, high, 0x20);
        a[i + 4] = _mm256_permute2f128_ps(low, high, 0x31);
    }
}

#endif

#endif
