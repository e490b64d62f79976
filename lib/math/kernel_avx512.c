/* kernel_avx512.c: panels of floats with AVX-512. */
#include "math/avx512.h"
#include "math/kernel.h"

#ifdef AVX512

enum { VECTOR_FLOATS = LANES, REGISTERS = 2, ROWS_MAX = 12 };

#define IN_VECTORS IN_AVX512
#define FOR_ROWS(DO) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12)
#define vector __m512
#define vector_zero _mm512_setzero_ps
#define vector_all _mm512_set1_ps
#define vector_load _mm512_loadu_ps
#define vector_store _mm512_storeu_ps
#define vector_add _mm512_add_ps
#define vector_multiply_add _mm512_fmadd_ps

#include "math/kernel_panels.h"

void floats_avx512(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                   const void *next_a)
{
    panels_floats(shape, a, b, c, next_a);
}
#else
void floats_avx512(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                   const void *next_a)
{
    floats_plain(shape, a, b, c, next_a);
}
#endif
