/* exp_avx512.h: e^x of a few vectors, step for step what portable_math.h does, and so the same
 * bits. Every step is taken for all vectors, so that none waits for the one before; `count` is a
 * constant wherever this is called, EXP_VECTORS at most. */
#ifndef ATTN_MATH_EXP_AVX512_H
#define ATTN_MATH_EXP_AVX512_H

#include "math/avx512.h"
#include "math/portable_math.h"

#ifdef AVX512

enum { EXP_VECTORS = 4 };

#define STEP_IN_AVX512 IN_AVX512 static inline __attribute__((always_inline))
#define EACH _Pragma("GCC unroll 4") for (int i = 0; i < count; i++)

/* n = round(x / ln 2), and `bias`, in the low bits of `rounded`; p = e^r of e^x = 2^n · e^r. */
STEP_IN_AVX512 void exp_parts_avx512(__m512 *p, __m512 *rounded, const __m512 *x, float bias,
                                     int count)
{
    const __m512 magic = _mm512_set1_ps(EXP_MAGIC + bias);
    const __m512 ln_2_low = _mm512_set1_ps(2.12194440e-4f);
    __m512 n[EXP_VECTORS];
    __m512 high[EXP_VECTORS];
    __m512 r[EXP_VECTORS];
    __m512 lost[EXP_VECTORS];
    EACH rounded[i] = _mm512_fmadd_ps(x[i], _mm512_set1_ps(1.44269504f), magic);
    EACH n[i] = _mm512_sub_ps(rounded[i], magic);
    EACH high[i] = _mm512_fmadd_ps(n[i], _mm512_set1_ps(-0.693359375f), x[i]);
    EACH r[i] = _mm512_fmadd_ps(n[i], ln_2_low, high[i]);
    EACH lost[i] = _mm512_fmadd_ps(n[i], ln_2_low, _mm512_sub_ps(high[i], r[i]));
    EACH p[i] = _mm512_fmadd_ps(_mm512_set1_ps(1.0f / 5040), r[i], _mm512_set1_ps(1.0f / 720));
    EACH p[i] = _mm512_fmadd_ps(p[i], r[i], _mm512_set1_ps(1.0f / 120));
    EACH p[i] = _mm512_fmadd_ps(p[i], r[i], _mm512_set1_ps(1.0f / 24));
    EACH p[i] = _mm512_fmadd_ps(p[i], r[i], _mm512_set1_ps(1.0f / 6));
    EACH p[i] = _mm512_fmadd_ps(p[i], r[i], _mm512_set1_ps(0.5f));
    EACH p[i] = _mm512_fmadd_ps(_mm512_mul_ps(r[i], r[i]), p[i], lost[i]);
    EACH p[i] = _mm512_add_ps(r[i], p[i]);
    EACH p[i] = _mm512_add_ps(_mm512_set1_ps(1.0f), p[i]);
}

/* x = exp_negative(x) */
STEP_IN_AVX512 void exp_negative_avx512(__m512 *x, int count)
{
    __m512 p[EXP_VECTORS];
    __m512 rounded[EXP_VECTORS];
    exp_parts_avx512(p, rounded, x, 127.0f, count);
    EACH
    {
        __m512i power = _mm512_slli_epi32(_mm512_castps_si512(rounded[i]), 23);
        __mmask16 normal = _mm512_cmp_ps_mask(x[i], _mm512_set1_ps(-87.33f), _CMP_NLT_UQ);
        x[i] = _mm512_maskz_mul_ps(normal, p[i], _mm512_castsi512_ps(power));
    }
}

/* x = exp_float(x) */
STEP_IN_AVX512 void exp_float_avx512(__m512 *x, int count)
{
    __m512 p[EXP_VECTORS];
    __m512 rounded[EXP_VECTORS];
    exp_parts_avx512(p, rounded, x, 0.0f, count);
    EACH
    {
        __m512i power = _mm512_slli_epi32(_mm512_castps_si512(rounded[i]), 23);
        __mmask16 normal = _mm512_cmp_ps_mask(x[i], _mm512_set1_ps(-87.33f), _CMP_NLT_UQ);
        __mmask16 beyond = _mm512_cmp_ps_mask(x[i], _mm512_set1_ps(88.722832f), _CMP_NLE_UQ);
        __m512i scaled = _mm512_maskz_add_epi32(normal, _mm512_castps_si512(p[i]), power);
        x[i] = _mm512_mask_mul_ps(_mm512_castsi512_ps(scaled), beyond, x[i],
                                  _mm512_set1_ps(__builtin_inff()));
    }
}

#undef EACH

#endif

#endif
