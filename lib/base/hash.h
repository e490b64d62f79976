/* hash.h: hashes, an index of numbers by hash, a table from byte strings to numbers, and SHA-256.
 *
 * All hashes but hash_fnv and SHA-256 depend on two random numbers of this process, so that no
 * vocabulary can choose words that all have the same slot. No output may depend on these hashes or
 * the order of slots. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/memory.h"

extern uint64_t hash_keys[2]; /* set before main, then constant */

/* Hash two numbers: each bit of the result depends on both. */
static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)(a ^ hash_keys[0]) * (b ^ hash_keys[1]);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_bytes(const char *bytes, size_t size);

/* hash_near returns the same as hash_bytes, but faster; the caller must make sure that HASH_NEAR
 * bytes can be read at `bytes`, even if `size` is smaller. For sizes up to HASH_NEAR it has no
 * branch that depends on the size: the processor would often predict it wrongly. */
enum { HASH_NEAR = 8 };

/* The first `size` bytes as a number; HASH_NEAR bytes are read, and `size` is at most HASH_NEAR. */
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

/* FNV-1a, a checksum for files, without a key: one changed byte always changes it. Begin with
 * HASH_FNV_BEGIN; the bytes may be added in several calls. */
#define HASH_FNV_BEGIN 0xcbf29ce484222325u
uint64_t hash_fnv(uint64_t hash, const char *bytes, size_t size);

/* --- an index: numbers by the hashes of their items; the caller compares the items ------------
 *
 *     struct hash_probe probe = hash_probe(&index, hash_bytes(word, size));
 *     while (hash_next(&probe, &number))
 *         if (is_it(number, word, size))
 *             return number;
 *     hash_put(&probe, new_number);
 */
enum {
    HASH_TAG_SHIFT = 24,
    HASH_NUMBER_MAX = (1 << HASH_TAG_SHIFT) - 2, /* slots contain the number + 1 */
};

struct hash_index {
    uint32_t *slots; /* 0: the slot is free; else the highest 8 bits of the hash, and number + 1 */
    size_t mask;     /* number of slots - 1 */
};

struct hash_probe {
    const struct hash_index *index;
    size_t at;
    uint32_t tag;
};

/* Allocate slots for `count` numbers from the arena. */
int hash_index_init(struct hash_index *index, size_t count, struct arena *arena, struct err *err);

/* Begin to look up a hash. */
static inline struct hash_probe hash_probe(const struct hash_index *index, uint64_t hash)
{
    return (struct hash_probe){
        .index = index,
        .at = (size_t)(hash >> HASH_TAG_SHIFT) & index->mask,
        .tag = (uint32_t)(hash >> 56) << HASH_TAG_SHIFT,
    };
}

/* Prefetch the slot of a hash that will be looked up. */
static inline void hash_prefetch(const struct hash_index *index, uint64_t hash)
{
    __builtin_prefetch(&index->slots[(size_t)(hash >> HASH_TAG_SHIFT) & index->mask]);
}

/* Get the next number that may have the hash; false: there are no more. */
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

/* Insert a number after hash_next returned false: the probe is at the free slot. */
static inline void hash_put(const struct hash_probe *probe, uint32_t number)
{
    probe->index->slots[probe->at] = probe->tag | (number + 1);
}

/* Replace the number that hash_next returned last. */
static inline void hash_replace(const struct hash_probe *probe, uint32_t number)
{
    size_t last = (probe->at - 1) & probe->index->mask;
    probe->index->slots[last] = probe->tag | (number + 1);
}

/* --- a map, whose keys are borrowed -----------------------------------------------------------
 *
 *     struct hash_table map = {0};
 *     if (hash_table_reserve(&map, count, err) || hash_table_put(&map, "is", 2, 4, err)) ...
 *     if (hash_table_get(&map, "is", 2, &id)) ...
 *     hash_table_release(&map);
 */
struct hash_table {
    struct hash_table_slot *slots;
    size_t slot_count; /* a power of two; 0: no slots are allocated */
    size_t count;
};

/* Allocate slots for `count` keys. */
int hash_table_reserve(struct hash_table *table, size_t count, struct err *err);

/* Set the value of a new or known key, whose bytes must outlive the map. */
int hash_table_put(struct hash_table *table, const char *key, size_t size, uint32_t value,
                   struct err *err);

/* Set the value of a new key. Fail if the key is known: "tensor 'NAME': expected once, found
 * twice", where `what` is "tensor". */
int hash_table_add(struct hash_table *table, const char *what, const char *key, size_t size,
                   uint32_t value, struct err *err);

/* True if the key is known; `*value` is then set to its value. `value` may be NULL. */
bool hash_table_get(const struct hash_table *table, const char *key, size_t size, uint32_t *value);

void hash_table_release(struct hash_table *table);

/* SHA-256 (FIPS 180-4), with the SHA instructions of x86-64 if the processor has them.
 *
 *     sha256_begin(&hash);
 *     sha256_add(&hash, "abc", 3);
 *     sha256_end(&hash, digits);        (ba7816bf…)
 */

enum { SHA256_DIGITS = 64, SHA256_BLOCK_BYTES = 64 };

struct sha256 {
    uint32_t state[8];
    uint64_t size_bytes;                     /* bytes added so far */
    unsigned char block[SHA256_BLOCK_BYTES]; /* the bytes of a block that is not complete yet */
};

void sha256_begin(struct sha256 *hash);
void sha256_add(struct sha256 *hash, const void *bytes, size_t size);

/* Write the hexadecimal digits and a closing 0. */
void sha256_end(struct sha256 *hash, char digits[SHA256_DIGITS + 1]);

/* For tests: if `plain`, do not use the SHA instructions; otherwise use them again. */
void sha256_plain(bool plain);
