/* hash.h: hashes that no one outside of this process can foresee.
 *
 * Whoever writes a vocabulary must not be able to choose words that all want one slot of a table:
 * entering them would take quadratic time. Two numbers drawn when the process starts are mixed into
 * every hash, and the product of two unknown factors, its halves folded, cannot be steered. It is
 * no hash to sign things with, and it differs from run to run: nothing that is printed or written
 * may depend on it, so no table is ever read in the order of its slots.
 *
 *     uint64_t hash = hash_bytes("dessert", 7);
 *     uint64_t pair = hash_mix(left, right);
 */
#ifndef ATTN_BASE_HASH_H
#define ATTN_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

extern uint64_t hash_keys[2]; /* set before main, and never again */

/* Bits of both numbers everywhere in the result. */
static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)(a ^ hash_keys[0]) * (b ^ hash_keys[1]);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_bytes(const char *bytes, size_t size);

#endif
