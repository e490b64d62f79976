/* vectors_avx2.c: the loops of vectors.h with AVX2 instructions. */
#include "math/kernel.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

enum { VECTOR_FLOATS = 8, WORDS = 4, REGISTERS = 2, ROWS_MAX = 6 };

#define IN_VECTORS __attribute__((target("avx2,fma")))
#define FOR_ROWS(DO) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6)
#define vector __m256
#define vector_zero _mm256_setzero_ps
#define vector_all _mm256_set1_ps
#define vector_load _mm256_loadu_ps
#define vector_store _mm256_storeu_ps
#define vector_add _mm256_add_ps
#define vector_multiply_add _mm256_fmadd_ps

static inline IN_VECTORS vector vector_words(const char *const *rows, size_t byte)
{
    __m128 first = _mm_loadu_ps((const float *)(const void *)(rows[0] + byte));
    __m128 second = _mm_loadu_ps((const float *)(const void *)(rows[4] + byte));
    return _mm256_insertf128_ps(_mm256_castps128_ps256(first), second, 1);
}

static inline IN_VECTORS void transpose_words(vector a[WORDS])
{
    vector low = _mm256_unpacklo_ps(a[0], a[1]), low_too = _mm256_unpacklo_ps(a[2], a[3]);
    vector high = _mm256_unpackhi_ps(a[0], a[1]), high_too = _mm256_unpackhi_ps(a[2], a[3]);
    a[0] = _mm256_shuffle_ps(low, low_too, 0x44);
    a[1] = _mm256_shuffle_ps(low, low_too, 0xee);
    a[2] = _mm256_shuffle_ps(high, high_too, 0x44);
    a[3] = _mm256_shuffle_ps(high, high_too, 0xee);
}

#include "math/vectors.h"

const struct vector_loops vectors_avx2 = VECTOR_LOOPS;
#else
const struct vector_loops vectors_avx2 = {0};
#endif
