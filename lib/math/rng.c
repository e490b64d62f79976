#include "math/rng.h"

#include "math/isa.h"

static uint64_t mix64(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static inline uint32_t mix32(uint32_t x)
{
    x = (x ^ x >> 16) * 0x7feb352dU;
    x = (x ^ x >> 15) * 0x846ca68bU;
    return x ^ x >> 16;
}

uint64_t splitmix64(uint64_t state)
{
    return mix64(state + 0x9e3779b97f4a7c15);
}

uint64_t rng_fold_in(uint64_t key, uint64_t number)
{
    return mix64(splitmix64(key) ^ (number * 0xd1342543de82ef95 + 1));
}

/* Return bits · limit / 2^64, rounded down, for 64 random bits: it is nearly uniform and needs no
 * division. */
uint64_t rng_below(uint64_t key, uint64_t number, uint64_t limit)
{
    uint64_t bits = rng_fold_in(key, number);
    uint64_t low = (bits & 0xffffffff) * limit;
    return ((bits >> 32) * limit + (low >> 32)) >> 32; /* does not overflow, because limit < 2^32 */
}

FOR_EACH_ISA
void rng_dropout(float *x, size_t count, uint64_t key, uint64_t number, float rate)
{
    uint32_t first = (uint32_t)rng_fold_in(key, number);
    uint32_t low = (uint32_t)((double)rate * 4294967296.0);
    float factor = 1.0f / (1.0f - rate);
    if (rate <= 0)
        return;
    for (size_t i = 0; i < count; i++)
        x[i] = mix32(first + (uint32_t)i) < low ? 0.0f : x[i] * factor;
}

void rng_dropout_part(float *x, size_t count, size_t first, uint64_t key, float rate)
{
    enum { STEPS = 1 << 24 }; /* floats just below 1 are 1 / STEPS apart */
    const float factor = 1.0f / (1.0f - rate);
    const float limit = rate * (float)STEPS;
    for (size_t i = 0; i < count; i++)
        x[i] = (float)(splitmix64(key + first + i) >> 40) < limit ? 0.0f : x[i] * factor;
}

FOR_EACH_ISA
void rng_fill_uniform(float *x, size_t count, uint32_t seed, float middle, float spread)
{
    const float unit = 1.0f / (1 << 23);
    uint32_t first = mix32(seed);
    for (size_t i = 0; i < count; i++) {
        int32_t even = (int32_t)(mix32(first + (uint32_t)i) >> 8) - (1 << 23); /* 24 bits, which a
                                                                                * float holds
                                                                                * exactly */
        x[i] = middle + (float)even * unit * spread;
    }
}

/* --- MT19937 ---------------------------------------------------------------------------------- */

void twister_begin(struct twister *twister, uint32_t seed)
{
    uint32_t *words = twister->words;
    words[0] = seed;
    for (uint32_t i = 1; i < TWISTER_WORDS; i++)
        words[i] = 1812433253u * (words[i - 1] ^ words[i - 1] >> 30) + i;
    twister->next = TWISTER_WORDS;
}

/* Return word `i` mixed with the previous word. */
static uint32_t mixed(const uint32_t *words, unsigned i, uint32_t factor)
{
    uint32_t before = words[i - 1];
    return words[i] ^ (before ^ before >> 30) * factor;
}

/* Return the index after i. After the last word it is 1, since word 0 becomes a copy of the last
 * word. */
static unsigned after(uint32_t *words, unsigned i)
{
    if (i + 1 < TWISTER_WORDS)
        return i + 1;
    words[0] = words[TWISTER_WORDS - 1];
    return 1;
}

void twister_begin_python(struct twister *twister, uint64_t seed)
{
    const uint32_t key[] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t length = key[1] ? 2 : 1;
    uint32_t *words = twister->words;
    unsigned i = 1;
    twister_begin(twister, 19650218);
    for (uint32_t k = 0; k < TWISTER_WORDS; k++, i = after(words, i))
        words[i] = mixed(words, i, 1664525) + key[k % length] + k % length;
    for (uint32_t k = 1; k < TWISTER_WORDS; k++, i = after(words, i))
        words[i] = mixed(words, i, 1566083941) - i;
    words[0] = 0x80000000u;
}

/* The new value of `word`, made of its top bit, the other bits of `next`, and `other`. */
static inline uint32_t twist(uint32_t word, uint32_t next, uint32_t other)
{
    uint32_t joined = (word & 0x80000000u) | (next & 0x7fffffffu);
    return other ^ joined >> 1 ^ (next & 1 ? 0x9908b0dfu : 0);
}

void twister_renew(struct twister *twister)
{
    enum { WORDS = TWISTER_WORDS, MIDDLE = 397 };
    uint32_t *words = twister->words;
    for (size_t i = 0; i < WORDS - MIDDLE; i++)
        words[i] = twist(words[i], words[i + 1], words[i + MIDDLE]);
    for (size_t i = WORDS - MIDDLE; i < WORDS - 1; i++)
        words[i] = twist(words[i], words[i + 1], words[i + MIDDLE - WORDS]);
    words[WORDS - 1] = twist(words[WORDS - 1], words[0], words[MIDDLE - 1]);
    twister->next = 0;
}

/* Draw numbers until one is below the limit: the upper bits of words, as many as the limit has. */
uint32_t twister_below(struct twister *twister, uint32_t limit)
{
    unsigned bits = 0;
    uint32_t drawn = 0;
    while (bits < 32 && limit >> bits)
        bits++;
    do
        drawn = twister_word(twister) >> (32 - bits);
    while (drawn >= limit);
    return drawn;
}
