/* dice.h: pseudo-random numbers, the same in every run.
 *
 *     uint32_t dice = 1;
 *     dice_fill(x, count, &dice);
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Marsaglia's xorshift; `dice` must not be 0. */
static inline uint32_t dice_bits(uint32_t *dice)
{
    *dice ^= *dice << 13;
    *dice ^= *dice >> 17;
    *dice ^= *dice << 5;
    return *dice;
}

/* In [-1, 1), with all bits of a float. */
static inline float dice_float(uint32_t *dice)
{
    return (float)((double)dice_bits(dice) / 2147483648.0 - 1.0);
}

static inline void dice_fill(float *values, size_t count, uint32_t *dice)
{
    for (size_t i = 0; i < count; i++)
        values[i] = dice_float(dice);
}
