/* rng.h: random numbers without a state: number i of a key is a hash of both, so that a backward
 * pass, a resumed training and another thread can ask again. No cryptography.
 *
 *     uint64_t key = rng_fold_in(rng_fold_in(seed, step), layer);
 *     rng_dropout(x, count, key, row, 0.1f);
 */
#ifndef ATTN_MATH_RNG_H
#define ATTN_MATH_RNG_H

#include <stddef.h>
#include <stdint.h>

/* 64 bits, each of which depends on every bit of the state; a new key from a key and a number; a
 * whole number from 0 to limit - 1. */
uint64_t splitmix64(uint64_t state);
uint64_t rng_fold_in(uint64_t key, uint64_t number);
uint64_t rng_below(uint64_t key, uint64_t number, uint64_t limit);

/* Dropout of one row: each element is 0 with probability `rate` (below 1), else divided by
 * 1 - rate. The second, of other elements, is for a row in parts: x[0] is its element `first`. */
void rng_dropout(float *x, size_t count, uint64_t key, uint64_t number, float rate);
void rng_dropout_part(float *x, size_t count, size_t first, uint64_t key, float rate);

/* Numbers spread evenly from middle - spread to middle + spread. */
void rng_fill_uniform(float *x, size_t count, uint32_t seed, float middle, float spread);

#endif
