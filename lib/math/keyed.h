/* keyed.h: random numbers without a state: number i of a key is a hash of both.
 *
 * Whoever needs a number again asks for it again: the way back through dropout, a training that is
 * resumed, a second thread. Good enough for dropout and for choosing; no cryptography.
 *
 *     uint64_t key = keyed_next(keyed_next(seed, step), layer);
 *     keyed_drop(x, count, key, row, 0.1f);
 */
#ifndef ATTN_MATH_KEYED_H
#define ATTN_MATH_KEYED_H

#include <stddef.h>
#include <stdint.h>

/* A new key from a key and a number. */
uint64_t keyed_next(uint64_t key, uint64_t number);

/* A whole number from 0 to limit - 1. */
uint64_t keyed_below(uint64_t key, uint64_t number, uint64_t limit);

/* Dropout of one row: each element is 0 with probability `rate` (below 1), else divided by
 * 1 - rate. The same key and number drop the same elements. */
void keyed_drop(float *x, size_t count, uint64_t key, uint64_t number, float rate);

#endif
