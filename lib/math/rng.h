/* rng.h: random numbers. Not for cryptography. The first kind has no state: number i of a key is a
 * hash of both, and a backward pass, a resumed training or another thread can compute it again.
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

/* splitmix64: a hash of 64 bits. rng_fold_in: a new key from a key and a number. rng_below: number
 * `number` of the key, below limit < 2^32. */
uint64_t splitmix64(uint64_t state);
uint64_t rng_fold_in(uint64_t key, uint64_t number);
uint64_t rng_below(uint64_t key, uint64_t number, uint64_t limit);

/* Dropout of row `number`: each element becomes 0 with probability `rate` < 1, else x / (1 - rate).
 * rng_dropout_part: of a part of a row, from element `first` on, with other random numbers. */
void rng_dropout(float *x, size_t count, uint64_t key, uint64_t number, float rate);
void rng_dropout_part(float *x, size_t count, size_t first, uint64_t key, float rate);

/* Uniform numbers from middle - spread to middle + spread. */
void rng_fill_uniform(float *x, size_t count, uint32_t seed, float middle, float spread);

enum { TWISTER_WORDS = 624 };

struct twister {
    uint32_t words[TWISTER_WORDS];
    uint32_t next; /* index of the next word to draw; TWISTER_WORDS: all words are drawn */
};

/* init_genrand of the authors, and init_by_array with the seed as one word or two, as Python's
 * random.Random(seed). */
void twister_begin(struct twister *twister, uint32_t seed);
void twister_begin_python(struct twister *twister, uint64_t seed);

/* Make the next TWISTER_WORDS words. */
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

/* A number below `limit`, which is from 1 to 2^32 - 1, as Python's randrange(limit). */
uint32_t twister_below(struct twister *twister, uint32_t limit);
