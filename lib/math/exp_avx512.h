/* exp_avx512.h: exp_negative of sixteen numbers, for those who include <immintrin.h>. */
#ifndef ATTN_MATH_EXP_AVX512_H
#define ATTN_MATH_EXP_AVX512_H

#include <immintrin.h>

#include "math/exp.h"

/* Step for step what exp_negative does, and so the same bits. */
static inline __attribute__((target("avx512f"))) __m512 exp_negative_avx512(__m512 x)
{
    const __m512 magic = _mm512_set1_ps(EXP_MAGIC + 127.0f);
    const __m512 ln_2_low = _mm512_set1_ps(2.12194440e-4f);
    __m512 rounded = _mm512_fmadd_ps(x, _mm512_set1_ps(1.44269504f), magic);
    __m512 n = _mm512_sub_ps(rounded, magic);
    __m512 high = _mm512_fmadd_ps(n, _mm512_set1_ps(-0.693359375f), x);
    __m512 r = _mm512_fmadd_ps(n, ln_2_low, high);
    __m512 lost = _mm512_fmadd_ps(n, ln_2_low, _mm512_sub_ps(high, r));
    __m512 p = _mm512_set1_ps(1.0f / 5040);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 720));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 120));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 24));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 6));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.5f));
    p = _mm512_add_ps(r, _mm512_fmadd_ps(_mm512_mul_ps(r, r), p, lost));
    p = _mm512_add_ps(_mm512_set1_ps(1.0f), p);
    __m512i power = _mm512_slli_epi32(_mm512_castps_si512(rounded), 23);
    __mmask16 normal = _mm512_cmp_ps_mask(x, _mm512_set1_ps(-87.33f), _CMP_NLT_UQ);
    return _mm512_maskz_mul_ps(normal, p, _mm512_castsi512_ps(power));
}

#endif
