#include "math/twister.h"

enum { MIDDLE = 397, KEY_WORDS = 2 };

/* Mix the word before into word `i`. */
static uint32_t mixed(const uint32_t *words, unsigned i, uint32_t factor)
{
    uint32_t before = words[i - 1];
    return words[i] ^ (before ^ before >> 30) * factor;
}

/* After the last word, continue with the second: the first is a copy of the last. */
static unsigned after(uint32_t *words, unsigned i)
{
    if (i + 1 < TWISTER_WORDS)
        return i + 1;
    words[0] = words[TWISTER_WORDS - 1];
    return 1;
}

/* init_by_array of the authors, with the seed as one word or two. */
void twister_begin(struct twister *twister, uint64_t seed)
{
    const uint32_t key[KEY_WORDS] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t length = key[1] ? 2 : 1;
    uint32_t *words = twister->words;
    unsigned i = 1;
    words[0] = 19650218;
    for (uint32_t k = 1; k < TWISTER_WORDS; k++)
        words[k] = 1812433253u * (words[k - 1] ^ words[k - 1] >> 30) + k;
    for (uint32_t k = 0; k < TWISTER_WORDS; k++, i = after(words, i))
        words[i] = mixed(words, i, 1664525) + key[k % length] + k % length;
    for (uint32_t k = 1; k < TWISTER_WORDS; k++, i = after(words, i))
        words[i] = mixed(words, i, 1566083941) - i;
    words[0] = 0x80000000u;
    twister->next = TWISTER_WORDS;
}

static void refill(struct twister *twister)
{
    uint32_t *words = twister->words;
    for (unsigned i = 0; i < TWISTER_WORDS; i++) {
        uint32_t joined = (words[i] & 0x80000000u) | (words[(i + 1) % TWISTER_WORDS] & 0x7fffffffu);
        words[i] =
            words[(i + MIDDLE) % TWISTER_WORDS] ^ joined >> 1 ^ (joined & 1 ? 0x9908b0dfu : 0);
    }
    twister->next = 0;
}

static uint32_t next_word(struct twister *twister)
{
    if (twister->next == TWISTER_WORDS)
        refill(twister);
    uint32_t word = twister->words[twister->next++];
    word ^= word >> 11;
    word ^= word << 7 & 0x9d2c5680u;
    word ^= word << 15 & 0xefc60000u;
    return word ^ word >> 18;
}

/* Draw as many of the upper bits as the limit has, until they are below it. */
uint32_t twister_below(struct twister *twister, uint32_t limit)
{
    unsigned bits = 0;
    uint32_t drawn = 0;
    while (bits < 32 && limit >> bits)
        bits++;
    do
        drawn = next_word(twister) >> (32 - bits);
    while (drawn >= limit);
    return drawn;
}
