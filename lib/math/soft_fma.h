/* soft_fma.h: fmaf where the processor has none, for loops that a compiler makes vectors of.
 *
 * The product of two floats is exact in double precision. Their sum with the third is not, and
 * would be rounded twice: so it is rounded to odd first, which keeps what was lost in the last bit,
 * and the second time, to float, comes out as if it were the first (Boldo and Melquiond, 2008). The
 * C library does the same by way of the rounding mode, which takes forty times as long.
 *
 *     sum = soft_fmaf(x, w, sum);
 */
#ifndef ATTN_MATH_SOFT_FMA_H
#define ATTN_MATH_SOFT_FMA_H

#include <stdint.h>
#include <string.h>

/* a · b + c, rounded once: the bits of fmaf, but for which NaN it is. */
static inline float soft_fmaf(float a, float b, float c)
{
    double product = (double)a * b;
    double sum = product + c;
    double added = sum - product;
    double lost = (product - (sum - added)) + (c - added); /* exactly; NaN where sum is no number */
    int64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    int64_t towards = (lost > 0) == (sum > 0) ? 1 : -1; /* away from 0, or to it */
    bits += (lost > 0 || lost < 0) && (bits & 1) == 0 ? towards : 0;
    memcpy(&sum, &bits, sizeof sum);
    return (float)sum;
}

#endif
