/* exp.h: e^x for float32, in a form that compilers turn into vector code. */
#ifndef ATTN_MATH_EXP_H
#define ATTN_MATH_EXP_H

#include <stdint.h>
#include <string.h>

/* e^x = 2^n · e^r with n = round(x / ln 2) and |r| ≤ ln 2 / 2; e^r by a polynomial of degree 7
 * (Taylor's, its error below a tenth of a unit there). Within 1 unit in the last place where the
 * result is normal; 0 below e^-87.33 instead of subnormals, infinity above e^88.72, NaN stays NaN.
 */
static inline float exp_float(float x)
{
    const float magic = 12582912.0f; /* 1.5 · 2^23: adding it rounds to a whole number */
    float rounded = x * 1.44269504f + magic;
    float n = rounded - magic;
    float high_r = x - n * 0.693359375f; /* ln 2 in two parts; the first product is exact */
    float low_r = n * -2.12194440e-4f;
    float r = high_r - low_r;
    float lost = (high_r - r) - low_r; /* what rounding r left over: a quarter of a unit */
    float p = 1.0f / 5040;
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r * r + lost + r;
    uint32_t bits = 0;
    memcpy(&bits, &rounded, sizeof bits);
    /* 2^n in two factors, so that n = 128 and n = -126 do not leave the range of exponents. */
    int32_t whole = (int32_t)(bits - 0x4b400000u);
    int32_t half = whole >> 1;
    uint32_t low_bits = (uint32_t)(half + 127) << 23;
    uint32_t high_bits = (uint32_t)(whole - half + 127) << 23;
    float low = 0;
    float high = 0;
    memcpy(&low, &low_bits, sizeof low);
    memcpy(&high, &high_bits, sizeof high);
    float result = (p + 1.0f) * low * high;
    result = x < -87.33f ? 0.0f : result;
    result = x > 88.73f ? __builtin_inff() : result;
    return x != x ? x : result;
}

#endif
