/* soft_fmaf.h: a fused multiply-add for processors without an instruction for it, and a loop of
 * fused multiply-adds, which lib/live/wasi replaces by vector instructions. */
#pragma once

#include <math.h>
#include <stdint.h>
#include <string.h>

/* a · b + c, rounded once: the bits of fmaf, except for the payload of NaN. The product of two
 * floats is exact in double precision. Adding c would round twice, to double and to float, so the
 * first rounding is to odd, which records in the last bit that digits were lost (Boldo and
 * Melquiond, 2008). The C library changes the rounding mode instead, which is 40 times slower. */
static inline float soft_fmaf(float a, float b, float c)
{
    double product = (double)a * b;
    double sum = product + c;
    double added = sum - product;
    double lost = (product - (sum - added)) + (c - added); /* exact; NaN if sum is not finite */
    int64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    int64_t towards = (lost > 0) == (sum > 0) ? 1 : -1; /* 1: away from 0; -1: towards 0 */
    bits += (lost > 0 || lost < 0) && (bits & 1) == 0 ? towards : 0;
    memcpy(&sum, &bits, sizeof sum);
    return (float)sum;
}

#ifndef fuse_columns /* lib/live/wasi defines its own version */
/* sums[i] += b · a[i], with one rounding. */
static inline void fuse_columns(float *restrict sums, float b, const float *restrict a, int columns)
{
    for (int column = 0; column < columns; column++)
        sums[column] = fmaf(b, a[column], sums[column]);
}
#endif
