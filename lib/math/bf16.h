/* bf16.h: the upper half of a float32; a pair is 32 bits, its first number in the lower half.
 *
 *     bf16_pair_row(pairs, floats, 7);             (4 pairs; the last one's second number is 0)
 *     float back = bf16_value((uint16_t)(pairs[0] >> 16));                        (floats[1])
 */
#ifndef ATTN_MATH_BF16_H
#define ATTN_MATH_BF16_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* To the nearest number, of two equally near ones to the even one; NaN stays NaN. */
static inline uint16_t bf16_round(float value)
{
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1); /* carries from the middle on */
    uint32_t quiet = bits | 0x400000; /* rounded, some NaN would be infinity, or 0 */
    return (uint16_t)((value != value ? quiet : rounded) >> 16); /* fewer steps than by bits */
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

/* The pairs that so many numbers are: an odd one has 0 after it. */
static inline size_t bf16_pairs(size_t count)
{
    return count / 2 + count % 2;
}

/* A row of numbers as pairs of neighbours; two rows as pairs of what stands above each other; a row
 * as the second numbers of pairs, whose first ones stay. */
void bf16_pair_row(uint32_t *restrict pairs, const float *restrict row, size_t count);
void bf16_pair_rows(uint32_t *restrict pairs, const float *restrict first,
                    const float *restrict second, size_t count);
void bf16_put_second(uint32_t *restrict pairs, const float *restrict row, size_t count);

/* A row of numbers rounded. */
void bf16_round_each(float *restrict to, const float *restrict row, size_t count);

#endif
