/* lanes_avx512.h: add_lanes of a register, for those who include <immintrin.h>. */
#ifndef ATTN_MATH_LANES_AVX512_H
#define ATTN_MATH_LANES_AVX512_H

#include <immintrin.h>

/* In the order of add_lanes, and so the same bits. */
static inline __attribute__((target("avx512f"))) float add_lanes_avx512(__m512 lanes)
{
    __m512 half = _mm512_add_ps(lanes, _mm512_shuffle_f32x4(lanes, lanes, 0x4e));
    __m512 quarter = _mm512_add_ps(half, _mm512_shuffle_f32x4(half, half, 0xb1));
    __m512 pair = _mm512_add_ps(quarter, _mm512_permute_ps(quarter, 0x4e));
    return _mm512_cvtss_f32(_mm512_add_ps(pair, _mm512_permute_ps(pair, 0xb1)));
}

#endif
