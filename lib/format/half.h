/* half.h: a number of IEEE 754's binary16 as float32. */
#ifndef ATTN_FORMAT_HALF_H
#define ATTN_FORMAT_HALF_H

#include <stdint.h>
#include <string.h>

static inline float float_of_bits(uint32_t bits)
{
    float value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* 1 sign, 5 exponent (bias 15), 10 fraction bits; float32 has 1, 8 (bias 127), 23. A subnormal is
 * fraction · 2^-24 and a normal float32. No branches, so that compilers make a vector loop of it.
 */
static inline float float_of_half(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = half >> 10 & 0x1f;
    uint32_t fraction = half & 0x3ff;
    uint32_t subnormal = 0;
    float small = (float)(int32_t)fraction * 0x1p-24f;
    memcpy(&subnormal, &small, sizeof subnormal);
    uint32_t normal = (exponent == 0x1f ? 0xff : exponent + 127 - 15) << 23 | fraction << 13;
    return float_of_bits(sign | (exponent ? normal : subnormal));
}

#endif
