/* kernel_avx2.c: panels of floats with AVX2. */
#include "math/avx2.h"
#include "math/kernel.h"

#ifdef AVX512

enum { VECTOR_FLOATS = HALF_LANES, REGISTERS = 2, ROWS_MAX = 6 };

#define IN_VECTORS IN_AVX2
#define FOR_ROWS(DO) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6)
#define vector __m256
#define vector_zero _mm256_setzero_ps
#define vector_all _mm256_set1_ps
#define vector_load _mm256_loadu_ps
#define vector_store _mm256_storeu_ps
#define vector_add _mm256_add_ps
#define vector_multiply_add _mm256_fmadd_ps

#include "math/kernel_panels.h"

void floats_avx2(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                 const void *next_a)
{
    panels_floats(shape, a, b, c, next_a);
}
#else
void floats_avx2(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                 const void *next_a)
{
    floats_plain(shape, a, b, c, next_a);
}
#endif
