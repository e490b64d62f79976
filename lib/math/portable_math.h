/* portable_math.h: elementary functions in plain arithmetic, with the same bits everywhere; the C
 * library's functions depend on its version and on the processor. */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Adding this number to a float rounds the float to a whole number, which is then in the low bits
 * of the sum. */
#define EXP_MAGIC 12582912.0f /* 1.5 · 2^23 */

/* Return e^r, where e^x = 2^n · e^r and |r| ≤ ln 2 / 2, by Taylor's polynomial of degree 7, whose
 * error is below a tenth of a unit in the last place. */
static inline float exp_of_rest(float x, float n)
{
    float high = fmaf(n, -0.693359375f, x); /* n · ln 2 is subtracted in two parts; this step is
                                             * exact */
    float r = fmaf(n, 2.12194440e-4f, high);
    float lost =
        fmaf(n, 2.12194440e-4f, high - r); /* the rounding error of r: up to a quarter of a unit in
                                            * the last place */
    float p = 1.0f / 5040;
    p = fmaf(p, r, 1.0f / 720);
    p = fmaf(p, r, 1.0f / 120);
    p = fmaf(p, r, 1.0f / 24);
    p = fmaf(p, r, 1.0f / 6);
    p = fmaf(p, r, 0.5f);
    return 1.0f + (r + fmaf(r * r, p, lost));
}

/* e^x with n = round(x / ln 2), within 1 unit in the last place if the result is normal. The result
 * is 0 for x < -87.33, where it would be subnormal, and infinity for x > 88.72; NaN stays NaN. */
static inline float exp_float(float x)
{
    float rounded = fmaf(x, 1.44269504f, EXP_MAGIC);
    float p = exp_of_rest(x, rounded - EXP_MAGIC);
    uint32_t bits = 0;
    uint32_t power = 0;
    memcpy(&bits, &p, sizeof bits);
    memcpy(&power, &rounded, sizeof power);
    bits += power
            << 23; /* multiply by 2^n: the low bits of `rounded` are n, and the exponent of a float
                    * begins at bit 23 */
    float result = 0;
    memcpy(&result, &bits, sizeof result);
    result = x < -87.33f ? 0.0f : result;
    result = x > 88.722832f ? __builtin_inff() : result;
    return x != x ? x : result;
}

/* The normal distribution's cumulative function, (1 + erf(x / √2)) / 2, within 5 units in the last
 * place if the result is normal. For -|x| it is e^-z² · f(q) / (1 + 2z) / 2 with z = |x| / √2, q =
 * (z - 2) / (z + 2) and a polynomial f whose error is at most 1.3e-8 for z up to 10. */
static inline float normal_share(float x)
{
    float size = fabsf(x) > 14.0f ? 14.0f : fabsf(x); /* NaN stays NaN */
    float z = 0.70710678f * size;
    float q = (z - 2.0f) / (z + 2.0f);
    float f = -4.0171537e-4f;
    f = fmaf(f, q, -1.2318774e-3f);
    f = fmaf(f, q, 1.3137227e-3f);
    f = fmaf(f, q, 8.6332709e-3f);
    f = fmaf(f, q, -8.0595994e-3f);
    f = fmaf(f, q, -5.4204710e-2f);
    f = fmaf(f, q, 1.6405527e-1f);
    f = fmaf(f, q, -1.6603139e-1f);
    f = fmaf(f, q, -9.2763975e-2f);
    f = fmaf(f, q, 1.2769784f);
    float square = size * size;
    float lost = fmaf(size, size, -square); /* the rounding error of square */
    float power = exp_float(-0.5f * square) * fmaf(-0.5f, lost, 1.0f);
    float below = 0.5f * power * f / fmaf(2.0f, z, 1.0f);
    return x > 0 ? 1.0f - below : below;
}

/* exp_float for x ≤ 0 or NaN, as in a softmax, with the same bits in fewer steps: 2^n is a normal
 * float, and NaN needs no special case. */
static inline float exp_negative(float x)
{
    const float bias = 127.0f; /* the bias of exponents in a float */
    float rounded = fmaf(x, 1.44269504f, EXP_MAGIC + bias);
    float p = exp_of_rest(x, rounded - (EXP_MAGIC + bias));
    uint32_t bits = 0;
    float power = 0;
    memcpy(&bits, &rounded, sizeof bits);
    bits <<= 23;
    memcpy(&power, &bits, sizeof power);
    return x < -87.33f ? 0.0f : p * power;
}

/* tanh x, within 2 units in the last place: Cephes' polynomial for |x| < 0.625, else
 * 1 - 2 / (e^2|x| + 1). NaN stays NaN. */
static inline float tanh_float(float x)
{
    float z = x * x;
    float p = -5.70498872745e-3f;
    p = fmaf(p, z, 2.06390887954e-2f);
    p = fmaf(p, z, -5.37397155531e-2f);
    p = fmaf(p, z, 1.33314422036e-1f);
    p = fmaf(p, z, -3.33332819422e-1f);
    float size = fabsf(x);
    float near = fmaf(p * z, size, size);
    float far = 1.0f - 2.0f / (exp_float(2.0f * size) + 1.0f);
    return copysignf(size < 0.625f ? near : far, x);
}

/* ln x for a normal, positive x: x = 2^e · m with m from √½ to √2, and
 * ln m = 2 · (s + s³/3 + s⁵/5 + …) with s = (m - 1) / (m + 1), |s| < 0.172. The series ends where
 * its remainder is below 2^-53 of the sum: within 2 units in the last place. */
static inline double log_double(double x)
{
    const uint64_t sqrt_half = 0x3fe6a09e667f3bcdu;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint64_t above = bits - sqrt_half; /* its high bits are the exponent of x / √½ */
    double e = (double)(int32_t)((int64_t)above >> 52);
    uint64_t fraction = (above & 0xfffffffffffffu) + sqrt_half;
    double m;
    memcpy(&m, &fraction, sizeof m);
    double s = (m - 1) / (m + 1);
    double s2 = s * s;
    double p = 1.0 / 21;
    p = p * s2 + 1.0 / 19;
    p = p * s2 + 1.0 / 17;
    p = p * s2 + 1.0 / 15;
    p = p * s2 + 1.0 / 13;
    p = p * s2 + 1.0 / 11;
    p = p * s2 + 1.0 / 9;
    p = p * s2 + 1.0 / 7;
    p = p * s2 + 1.0 / 5;
    p = p * s2 + 1.0 / 3;
    /* e · ln 2 is added in two parts; the product of e and the first part is exact */
    return e * 0x1.62e42fee00000p-1 + (2 * s + (2 * s * s2 * p + e * 0x1.a39ef35793c76p-33));
}

/* e^x = 2^n · e^r, and e^r = 1 + r/1 · (1 + r/2 · (1 + r/3 · …)) with |r| ≤ ln 2 / 2, where further
 * terms would add less than a bit. ln 2 is in two parts; multiples of the first part are exact. */
static inline double exp_double(double x)
{
    const double ln_2 = 6.93147180369123816490e-01;
    const double ln_2_rest = 1.90821492927058770002e-10;
    double n = rint(x / ln_2);
    double r = x - n * ln_2 - n * ln_2_rest;
    double sum = 1;
    for (int k = 14; k > 0; k--)
        sum = 1 + r / k * sum;
    return ldexp(sum, (int)n);
}

/* 1 - r²/(k·(k+1)) · (1 - r²/((k+2)·(k+3)) · …), where k begins at `first`: sin r / r for first =
 * 2, cos r for first = 1. With |r| ≤ π/4, further terms would add less than a bit. */
static inline double wave_series(double r, int first)
{
    double sum = 1;
    for (int k = first + 18; k >= first; k -= 2)
        sum = 1 - r * r / (k * (k + 1)) * sum;
    return sum;
}

/* Compute the sine and cosine of an angle ≥ 0, in radians. π/2 is subtracted in two parts;
 * multiples of the first part are exact. */
static inline void sine_cosine(double *sine, double *cosine, double angle)
{
    const double quarter = 1.57079632673412561417e+00;
    const double quarter_rest = 6.07710050650619224932e-11;
    double quarters = rint(angle / quarter);
    double r = angle - quarters * quarter - quarters * quarter_rest;
    double s = r * wave_series(r, 2);
    double c = wave_series(r, 1);
    int quadrant = (int)fmod(quarters, 4);
    *sine = quadrant % 2 ? c : s;
    *cosine = quadrant % 2 ? s : c;
    *sine = quadrant >= 2 ? -*sine : *sine;
    *cosine = quadrant == 1 || quadrant == 2 ? -*cosine : *cosine;
}
