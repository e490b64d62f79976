/* log.h: the natural logarithm in plain arithmetic, so that it has the same bits everywhere: the C
 * library's depends on its version and on the processor. Compilers turn loops of it into vector
 * code. */
#ifndef ATTN_MATH_LOG_H
#define ATTN_MATH_LOG_H

#include <stdint.h>
#include <string.h>

/* ln x for a normal, positive x: x = 2^e · m with m from √½ to √2, and
 * ln m = 2 · (s + s³/3 + s⁵/5 + …) with s = (m - 1) / (m + 1), |s| < 0.172. The series ends where
 * its rest is below 2^-53 of the sum: within 2 units in the last place. */
static inline double log_double(double x)
{
    const uint64_t sqrt_half = 0x3fe6a09e667f3bcdu;
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint64_t above = bits - sqrt_half; /* its high bits: the exponent, counted from √½ */
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
    /* ln 2 in two parts; the product with the first is exact. */
    return e * 0x1.62e42fee00000p-1 + (2 * s + (2 * s * s2 * p + e * 0x1.a39ef35793c76p-33));
}

#endif
