#include "math/fma_loop.h"

#include <stddef.h>

/* x · FACTOR + TERM goes to 1 and stays there: no subnormals, no infinities. */
#define FACTOR 0.75f
#define TERM 0.25f

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

__attribute__((target("avx512f"))) static float loop_avx512(void)
{
    __m512 chains[FMA_CHAINS];
    const __m512 factor = _mm512_set1_ps(FACTOR);
    const __m512 term = _mm512_set1_ps(TERM);
    for (int i = 0; i < FMA_CHAINS; i++)
        chains[i] = _mm512_set1_ps((float)i);
    for (int step = 0; step < FMA_STEPS; step++) {
#pragma GCC unroll 12
        for (int i = 0; i < FMA_CHAINS; i++)
            chains[i] = _mm512_fmadd_ps(chains[i], factor, term);
    }
    for (int i = 1; i < FMA_CHAINS; i++)
        chains[0] = _mm512_add_ps(chains[0], chains[i]);
    return _mm512_cvtss_f32(chains[0]);
}

__attribute__((target("avx2,fma"))) static float loop_avx2(void)
{
    __m256 chains[FMA_CHAINS];
    const __m256 factor = _mm256_set1_ps(FACTOR);
    const __m256 term = _mm256_set1_ps(TERM);
    for (int i = 0; i < FMA_CHAINS; i++)
        chains[i] = _mm256_set1_ps((float)i);
    for (int step = 0; step < FMA_STEPS; step++) {
#pragma GCC unroll 12
        for (int i = 0; i < FMA_CHAINS; i++)
            chains[i] = _mm256_fmadd_ps(chains[i], factor, term);
    }
    for (int i = 1; i < FMA_CHAINS; i++)
        chains[0] = _mm256_add_ps(chains[0], chains[i]);
    return _mm256_cvtss_f32(chains[0]);
}

static fma_loop *find_vector_loop(enum fma_form form)
{
    if (form == FMA_AVX512 && __builtin_cpu_supports("avx512f"))
        return loop_avx512;
    if (form == FMA_AVX2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return loop_avx2;
    return NULL;
}
#else
static fma_loop *find_vector_loop(enum fma_form form)
{
    (void)form;
    return NULL;
}
#endif

typedef float vector __attribute__((vector_size(4 * sizeof(float))));

static float loop_plain(void)
{
    vector chains[FMA_CHAINS];
    const vector factor = {FACTOR, FACTOR, FACTOR, FACTOR};
    const vector term = {TERM, TERM, TERM, TERM};
    for (int i = 0; i < FMA_CHAINS; i++)
        chains[i] = term * (float)i;
    for (int step = 0; step < FMA_STEPS; step++) {
#pragma GCC unroll 12
        for (int i = 0; i < FMA_CHAINS; i++)
            chains[i] = chains[i] * factor + term;
    }
    for (int i = 1; i < FMA_CHAINS; i++)
        chains[0] += chains[i];
    return chains[0][0];
}

fma_loop *fma_loop_find(enum fma_form form)
{
    return form == FMA_PLAIN ? loop_plain : find_vector_loop(form);
}

int fma_lanes(enum fma_form form)
{
    static const int lanes[FMA_FORMS] = {[FMA_AVX512] = 16, [FMA_AVX2] = 8, [FMA_PLAIN] = 4};
    return lanes[form];
}

const char *fma_name(enum fma_form form)
{
    static const char *const names[FMA_FORMS] = {"avx512", "avx2", "plain"};
    return names[form];
}
