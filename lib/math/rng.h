/* rng.h: random numbers without a state: number i of a key is a hash of both, so that a backward
 * pass, a resumed training or another thread can compute it again. Not for cryptography.
 *
 *     uint64_t key = rng_fold_in(rng_fold_in(seed, step), layer);
 *     rng_dropout(x, count, key, row, 0.1f);
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A hash of 64 bits; a new key from a key and a number; a number below limit < 2^32. */
uint64_t splitmix64(uint64_t state);
uint64_t rng_fold_in(uint64_t key, uint64_t number);
uint64_t rng_below(uint64_t key, uint64_t number, uint64_t limit);

/* Dropout of row `number`: each element becomes 0 with probability `rate` < 1, else x / (1 - rate).
 * rng_dropout_part: of a part of a row, from element `first` on, with other random numbers. */
void rng_dropout(float *x, size_t count, uint64_t key, uint64_t number, float rate);
void rng_dropout_part(float *x, size_t count, size_t first, uint64_t key, float rate);

/* Uniform numbers from middle - spread to middle + spread. */
void rng_fill_uniform(float *x, size_t count, uint32_t seed, float middle, float spread);
