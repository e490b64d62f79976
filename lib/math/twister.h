/* twister.h: the Mersenne Twister MT19937 (Matsumoto and Nishimura, 1998), seeded and limited as
 * Python's random.Random(seed).randrange(limit): other programs can draw the same samples.
 *
 *     struct twister twister;
 *     twister_begin(&twister, 42);
 *     size_t i = twister_below(&twister, 10);
 */
#pragma once

#include <stdint.h>

enum { TWISTER_WORDS = 624 };

struct twister {
    uint32_t words[TWISTER_WORDS];
    uint32_t next; /* index of the next word */
};

void twister_begin(struct twister *twister, uint64_t seed);

/* A number below `limit`, which is from 1 to 2^32 - 1. */
uint32_t twister_below(struct twister *twister, uint32_t limit);
