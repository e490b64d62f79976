/* chance.h: numbers that look like chance, made from a place: the same place, the same number, in
 * whatever order, on whichever thread.
 *
 *     uint64_t row = chance(chance(seed) + layer);
 *     uint64_t number = chance(row + key);
 */
#ifndef ATTN_MATH_CHANCE_H
#define ATTN_MATH_CHANCE_H

#include <stdint.h>

/* 64 bits, each of which depends on every bit of the place: splitmix64's step. */
static inline uint64_t chance(uint64_t place)
{
    uint64_t z = place + 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* From 0 to count - 1, about evenly. */
static inline uint32_t chance_below(uint64_t number, uint32_t count)
{
    return (uint32_t)((number >> 32) * count >> 32);
}

#endif
