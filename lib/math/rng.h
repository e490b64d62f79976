/* rng.h: random numbers without a state: number i of a key is a hash of both, in whatever order, on
 * whichever thread. Dropout's backward pass, a training that is resumed and a second thread ask
 * again. Good enough for dropout, for choosing and for weights to measure with; no cryptography.
 *
 *     uint64_t key = rng_fold_in(rng_fold_in(seed, step), layer);
 *     rng_dropout(x, count, key, row, 0.1f);
 */
#ifndef ATTN_MATH_RNG_H
#define ATTN_MATH_RNG_H

#include <stddef.h>
#include <stdint.h>

/* 64 bits, each of which depends on every bit of the state. */
uint64_t splitmix64(uint64_t state);

/* A new key from a key and a number. */
uint64_t rng_fold_in(uint64_t key, uint64_t number);

/* A whole number from 0 to limit - 1. */
uint64_t rng_below(uint64_t key, uint64_t number, uint64_t limit);

/* Dropout of one row: each element is 0 with probability `rate` (below 1), else divided by
 * 1 - rate. The same key and number drop the same elements. */
void rng_dropout(float *x, size_t count, uint64_t key, uint64_t number, float rate);

/* The same, of other elements, for a row that comes in parts: x[0] is its element `first`. */
void rng_dropout_part(float *x, size_t count, size_t first, uint64_t key, float rate);

/* Numbers spread evenly from middle - spread to middle + spread; a gigabyte takes a fraction of a
 * second. */
void rng_fill_uniform(float *x, size_t count, uint32_t seed, float middle, float spread);

#endif
