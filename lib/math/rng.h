/* rng.h: random numbers without a state: number i of a key is a hash of both.
 *
 * Whoever needs a number again asks for it again: the way back through dropout, a training that is
 * resumed, a second thread. Good enough for dropout and for choosing; no cryptography.
 *
 *     uint64_t key = rng_fold_in(rng_fold_in(seed, step), layer);
 *     rng_dropout(x, count, key, row, 0.1f);
 */
#ifndef ATTN_MATH_RNG_H
#define ATTN_MATH_RNG_H

#include <stddef.h>
#include <stdint.h>

/* A new key from a key and a number. */
uint64_t rng_fold_in(uint64_t key, uint64_t number);

/* A whole number from 0 to limit - 1. */
uint64_t rng_below(uint64_t key, uint64_t number, uint64_t limit);

/* Dropout of one row: each element is 0 with probability `rate` (below 1), else divided by
 * 1 - rate. The same key and number drop the same elements. */
void rng_dropout(float *x, size_t count, uint64_t key, uint64_t number, float rate);

#endif
