/* vectors_avx2.c: loops with AVX2 (vectors.h). */
#include "math/kernel.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

enum { VECTOR_FLOATS = 8, REGISTERS = 2, ROWS_MAX = 6 };

#define IN_VECTORS __attribute__((target("avx2,fma")))
#define FOR_ROWS(DO) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6)
#define vector __m256
#define vector_zero _mm256_setzero_ps
#define vector_all _mm256_set1_ps
#define vector_load _mm256_loadu_ps
#define vector_store _mm256_storeu_ps
#define vector_add _mm256_add_ps
#define vector_multiply_add _mm256_fmadd_ps

/* Each step joins elements twice as far apart as the step before. */
static inline IN_VECTORS void transpose_registers(vector a[VECTOR_FLOATS])
{
    vector b[VECTOR_FLOATS];
#pragma GCC unroll 4
    for (int i = 0; i < VECTOR_FLOATS; i += 2) {
        b[i] = _mm256_unpacklo_ps(a[i], a[i + 1]);
        b[i + 1] = _mm256_unpackhi_ps(a[i], a[i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < VECTOR_FLOATS; i += 4) {
        a[i] = _mm256_shuffle_ps(b[i], b[i + 2], 0x44);
        a[i + 1] = _mm256_shuffle_ps(b[i], b[i + 2], 0xee);
        a[i + 2] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0x44);
        a[i + 3] = _mm256_shuffle_ps(b[i + 1], b[i + 3], 0xee);
    }
#pragma GCC unroll 4
    for (int i = 0; i < VECTOR_FLOATS / 2; i++) {
        vector low = a[i];
        vector high = a[i + 4];
        a[i] = _mm256_permute2f128_ps(low, high, 0x20);
        a[i + 4] = _mm256_permute2f128_ps(low, high, 0x31);
    }
}

#include "math/vectors.h"

const struct vector_loops vectors_avx2 = VECTOR_LOOPS;
#else
const struct vector_loops vectors_avx2 = {0};
#endif
