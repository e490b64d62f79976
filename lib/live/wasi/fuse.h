/* fuse.h: fused multiply-adds in vectors. WebAssembly has no instruction for them; the results have
 * the same bits as the results of soft_fmaf, in a third of its time. */
#pragma once

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <wasm_simd128.h>

#include "math/soft_fmaf.h"

#define fuse_columns fuse_vectors

/* a · b + c, rounded once. Vectors cannot use the rarely taken branch: see fuse_four. */
static inline float fuse_one(float a, float b, float c)
{
    double sum = (double)a * b + c;
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    bool is_right = (bits & 0x1fffffff) != 0x10000000 && fabs(sum) > 2 * (double)FLT_MIN;
    return is_right ? (float)sum : soft_fmaf(a, b, c);
}

/* b · a + c for two floats of a and of c, in double precision. */
static inline v128_t fuse_pair(v128_t b, const float *a, const float *c)
{
    v128_t product = wasm_f64x2_mul(b, wasm_f64x2_promote_low_f32x4(wasm_v128_load64_zero(a)));
    return wasm_f64x2_add(product, wasm_f64x2_promote_low_f32x4(wasm_v128_load64_zero(c)));
}

/* b · a + c for four numbers, as floats. Rounding the sums a second time, to floats, can be wrong
 * only halfway between two floats and where floats are subnormal or 0: `doubt` marks these
 * numbers. */
static inline v128_t fuse_four(v128_t b, const float *a, const float *c, v128_t *doubt)
{
    v128_t sums[] = {fuse_pair(b, a, c), fuse_pair(b, a + 2, c + 2)};
    v128_t rounded = wasm_i32x4_shuffle(wasm_f32x4_demote_f64x2_zero(sums[0]),
                                        wasm_f32x4_demote_f64x2_zero(sums[1]), 0, 1, 4, 5);
    v128_t low = wasm_i32x4_shuffle(sums[0], sums[1], 0, 2, 4, 6);
    v128_t rest = wasm_v128_and(low, wasm_i32x4_const_splat(0x1fffffff));
    v128_t middle = wasm_i32x4_eq(rest, wasm_i32x4_const_splat(0x10000000));
    v128_t small = wasm_f32x4_le(wasm_f32x4_abs(rounded), wasm_f32x4_const_splat(FLT_MIN));
    *doubt = wasm_v128_or(*doubt, wasm_v128_or(middle, small));
    return rounded;
}

/* sums += b · a, as in kernel_plain.c; the number of columns is a multiple of 16. */
static inline void fuse_vectors(float *restrict sums, float b, const float *restrict a, int columns)
{
    for (int at = 0; at < columns; at += 16, sums += 16, a += 16) {
        v128_t found[4];
        v128_t doubt = wasm_i32x4_const_splat(0);
        for (int i = 0; i < 4; i++)
            found[i] = fuse_four(wasm_f64x2_splat((double)b), a + 4 * i, sums + 4 * i, &doubt);
        if (!wasm_v128_any_true(doubt))
            memcpy(sums, found, sizeof found);
        else
            for (int i = 0; i < 16; i++)
                sums[i] = soft_fmaf(b, a[i], sums[i]);
    }
}
