/* exp.h: e^x for float32, in a form that compilers turn into vector code. */
#ifndef ATTN_MATH_EXP_H
#define ATTN_MATH_EXP_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Adding it rounds to a whole number, which is in its low bits then. */
#define EXP_MAGIC 12582912.0f /* 1.5 · 2^23 */

/* e^r of e^x = 2^n · e^r, |r| ≤ ln 2 / 2; by a polynomial of degree 7 (Taylor's, its error below a
 * tenth of a unit in the last place there). */
static inline float exp_of_rest(float x, float n)
{
    float high = fmaf(n, -0.693359375f, x); /* ln 2 in two parts; this one is exact */
    float r = fmaf(n, 2.12194440e-4f, high);
    float lost = fmaf(n, 2.12194440e-4f, high - r); /* by rounding r: a quarter of a unit */
    float p = 1.0f / 5040;
    p = fmaf(p, r, 1.0f / 720);
    p = fmaf(p, r, 1.0f / 120);
    p = fmaf(p, r, 1.0f / 24);
    p = fmaf(p, r, 1.0f / 6);
    p = fmaf(p, r, 0.5f);
    return 1.0f + (r + fmaf(r * r, p, lost));
}

/* e^x with n = round(x / ln 2). Within 1 unit in the last place where the result is normal; 0 below
 * e^-87.33 instead of subnormals, infinity above e^88.72, NaN stays NaN. */
static inline float exp_float(float x)
{
    float rounded = fmaf(x, 1.44269504f, EXP_MAGIC);
    float p = exp_of_rest(x, rounded - EXP_MAGIC);
    uint32_t bits = 0;
    uint32_t power = 0;
    memcpy(&bits, &p, sizeof bits);
    memcpy(&power, &rounded, sizeof power);
    bits += power << 23; /* · 2^n: the low bits of `rounded` are n, and 23 up is the exponent */
    float result = 0;
    memcpy(&result, &bits, sizeof result);
    result = x < -87.33f ? 0.0f : result;
    result = x > 88.722832f ? __builtin_inff() : result;
    return x != x ? x : result;
}

/* The same number for x ≤ 0 or NaN, which is what a softmax asks for, in fewer steps: 2^n is a
 * number of its own, and what is NaN stays so by itself. */
static inline float exp_negative(float x)
{
    const float bias = 127.0f; /* of exponents */
    float rounded = fmaf(x, 1.44269504f, EXP_MAGIC + bias);
    float p = exp_of_rest(x, rounded - (EXP_MAGIC + bias));
    uint32_t bits = 0;
    float power = 0;
    memcpy(&bits, &rounded, sizeof bits);
    bits <<= 23;
    memcpy(&power, &bits, sizeof power);
    return x < -87.33f ? 0.0f : p * power;
}

#endif
