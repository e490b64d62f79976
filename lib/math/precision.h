/* precision.h: the precision of numbers: float32, or bf16, which is the upper half of a float32. A
 * pair of bf16 numbers has 32 bits; its first number is in the lower half.
 *
 *     bf16_pair_row(pairs, floats, 7);             (4 pairs; the second number of the last is 0)
 *     float back = bf16_value((uint16_t)(pairs[0] >> 16));                        (floats[1])
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "base/err.h"

/* The precision of products (gemm.h). */
enum precision { PRECISION_FP32, PRECISION_BF16, PRECISIONS };

/* precision_name: "f32" or "bf16". precision_choose: find the precision of a name (NULL: no
 * change), or set an error for --precision. */
const char *precision_name(enum precision precision);
int precision_choose(enum precision *precision, const char *name, struct err *err);

/* Round a float to the nearest bf16 number, ties to even; NaN stays NaN. */
static inline uint16_t bf16_round(float value)
{
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1); /* this addition carries into the upper
                                                          * half if the upper half must be rounded
                                                          * up */
    uint32_t quiet = bits | 0x400000; /* rounding would turn some NaN into infinity or 0 */
    return (uint16_t)((value != value ? quiet : rounded) >> 16);
}

static inline float bf16_value(uint16_t number)
{
    uint32_t bits = (uint32_t)number << 16;
    float value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float bf16_rounded(float value)
{
    return bf16_value(bf16_round(value));
}

/* The number of pairs for `count` numbers; if `count` is odd, the last pair ends with a 0. */
static inline size_t bf16_pairs(size_t count)
{
    return count / 2 + count % 2;
}

/* bf16_pair_row joins neighbouring numbers of a row into pairs. bf16_pair_rows joins the numbers of
 * two rows in the same column into pairs. bf16_put_second replaces the second number of pair i by
 * number i of a row. */
void bf16_pair_row(uint32_t *restrict pairs, const float *restrict row, size_t count);
void bf16_pair_rows(uint32_t *restrict pairs, const float *restrict first,
                    const float *restrict second, size_t count);
void bf16_put_second(uint32_t *restrict pairs, const float *restrict row, size_t count);
