/* hash.h: hashes that no one outside of this process can foresee, so that a vocabulary cannot hold
 * words that all want one slot. They are keyed by two numbers drawn when the process starts:
 * nothing that is printed or written may depend on them or on the order of slots.
 *
 *     uint64_t hash = hash_bytes("dessert", 7);
 *     uint64_t pair = hash_mix(left, right);
 */
#ifndef ATTN_BASE_HASH_H
#define ATTN_BASE_HASH_H

#include <stdint.h>
#include <string.h>

#include "base/arena.h"

extern uint64_t hash_keys[2]; /* set before main, and never again */

/* Bits of both numbers everywhere in the result. */
static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)(a ^ hash_keys[0]) * (b ^ hash_keys[1]);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_bytes(const char *bytes, size_t size);

/* The same where HASH_NEAR bytes can be read, however few are hashed. It has no branch on their
 * number: sizes of words are as good as random, and half of such branches are mispredicted. */
enum { HASH_NEAR = 8 };

/* So many bytes, HASH_NEAR at most, as a number. */
static inline uint64_t hash_load(const char *bytes, size_t size)
{
    uint64_t number = 0;
    memcpy(&number, bytes, sizeof number);
    return size ? number << 8 * (HASH_NEAR - size) : 0;
}

static inline uint64_t hash_near(const char *bytes, size_t size)
{
    if (size > HASH_NEAR)
        return hash_bytes(bytes, size);
    uint64_t hash = hash_mix(size, hash_load(bytes, size));
    return hash_mix(hash, hash);
}

/* FNV-1a, a checksum for files: it has no key, and one changed byte always changes it. Begin with
 * HASH_FNV_BEGIN; bytes may come in pieces. */
#define HASH_FNV_BEGIN 0xcbf29ce484222325u
uint64_t hash_fnv(uint64_t hash, const char *bytes, size_t size);

/* --- an index: numbers of things found by their hash; the caller compares the things ---
 *
 *     struct hash_probe probe = hash_probe(&index, hash_bytes(word, size));
 *     while (hash_next(&probe, &number))
 *         if (is_it(number, word, size))
 *             return number;
 *     hash_put(&probe, new_number);     (the probe has found the free slot)
 */
enum {
    HASH_TAG_SHIFT = 24,
    HASH_NUMBER_MAX = (1 << HASH_TAG_SHIFT) - 2, /* numbers stand in the slots plus 1 */
};

struct hash_index {
    uint32_t *slots; /* 0: free; else tag and number + 1 */
    size_t mask;     /* slots - 1 */
};

struct hash_probe {
    const struct hash_index *index;
    size_t at;
    uint32_t tag;
};

/* Room for `count` numbers, from the arena. */
int hash_index_init(struct hash_index *index, size_t count, struct arena *arena, struct err *err);

/* Begin to look for a hash. */
static inline struct hash_probe hash_probe(const struct hash_index *index, uint64_t hash)
{
    return (struct hash_probe){
        .index = index,
        .at = (size_t)(hash >> HASH_TAG_SHIFT) & index->mask,
        .tag = (uint32_t)(hash >> 56) << HASH_TAG_SHIFT,
    };
}

/* Ask for the memory where a hash will be looked for, some time before that. */
static inline void hash_prefetch(const struct hash_index *index, uint64_t hash)
{
    __builtin_prefetch(&index->slots[(size_t)(hash >> HASH_TAG_SHIFT) & index->mask]);
}

/* The next number whose thing may have that hash; false when there is none left. */
static inline bool hash_next(struct hash_probe *probe, uint32_t *number)
{
    const struct hash_index *index = probe->index;
    for (uint32_t slot; (slot = index->slots[probe->at]);) {
        probe->at = (probe->at + 1) & index->mask;
        if ((slot ^ probe->tag) >> HASH_TAG_SHIFT == 0) {
            *number = (slot & ((1u << HASH_TAG_SHIFT) - 1)) - 1;
            return true;
        }
    }
    return false;
}

/* Enter a number where the probe has come to its end. */
static inline void hash_put(const struct hash_probe *probe, uint32_t number)
{
    probe->index->slots[probe->at] = probe->tag | (number + 1);
}

/* Put another number in the place of the one that hash_next gave last. */
static inline void hash_replace(const struct hash_probe *probe, uint32_t number)
{
    size_t last = (probe->at - 1) & probe->index->mask;
    probe->index->slots[last] = probe->tag | (number + 1);
}

#endif
