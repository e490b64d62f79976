/* rng.h: random numbers, not for cryptography. The first kind has no state: number i of a key is a
 * hash of the key and i, which a backward pass, a resumed training or another thread can compute
 * again.
 *
 *     uint64_t key = rng_fold_in(rng_fold_in(seed, step), layer);
 *     rng_dropout(x, count, key, row, 0.1f);
 *
 * The second kind is the words of the Mersenne Twister MT19937 (Matsumoto and Nishimura, 1998),
 * from which PyTorch (train/weight_init.h) and Python make their numbers.
 *
 *     struct twister twister;
 *     twister_begin_python(&twister, 42);
 *     size_t i = twister_below(&twister, 10);
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* splitmix64: a hash of 64 bits. rng_fold_in: a new key from a key and a number. rng_below: random
 * number `number` of a key, from 0 to limit - 1, where limit < 2^32. */
uint64_t splitmix64(uint64_t state);
uint64_t rng_fold_in(uint64_t key, uint64_t number);
uint64_t rng_below(uint64_t key, uint64_t number, uint64_t limit);

/* rng_dropout: each element x of row `number` becomes 0 with probability `rate` < 1, and is
 * otherwise divided by 1 - rate. rng_dropout_part does this for a part of a row, from element
 * `first` on, with other random numbers. */
void rng_dropout(float *x, size_t count, uint64_t key, uint64_t number, float rate);
void rng_dropout_part(float *x, size_t count, size_t first, uint64_t key, float rate);

/* Fill x with uniform random numbers from middle - spread to middle + spread. */
void rng_fill_uniform(float *x, size_t count, uint32_t seed, float middle, float spread);

enum { TWISTER_WORDS = 624 };

struct twister {
    uint32_t words[TWISTER_WORDS];
    uint32_t next; /* index of the next word to draw; TWISTER_WORDS: all words have been drawn */
};

/* twister_begin: the authors' init_genrand. twister_begin_python: their init_by_array with the seed
 * as one or two words, as in Python's random.Random(seed). */
void twister_begin(struct twister *twister, uint32_t seed);
void twister_begin_python(struct twister *twister, uint64_t seed);

/* Make the next TWISTER_WORDS words of the sequence. */
void twister_renew(struct twister *twister);

static inline uint32_t twister_word(struct twister *twister)
{
    if (twister->next == TWISTER_WORDS)
        twister_renew(twister);
    uint32_t word = twister->words[twister->next++];
    word ^= word >> 11;
    word ^= word << 7 & 0x9d2c5680u;
    word ^= word << 15 & 0xefc60000u;
    return word ^ word >> 18;
}

/* Draw a number from 0 to limit - 1, where limit is from 1 to 2^32 - 1, as Python's
 * randrange(limit) does. */
uint32_t twister_below(struct twister *twister, uint32_t limit);
