#include "base/hash.h"

#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "base/platform.h"

enum { FIRST_SLOTS = 16 };

/* Default keys, for systems without random numbers, such as web pages. With small keys, many ids
 * would share the same few slots. */
uint64_t hash_keys[2] = {0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u};

/* Set both keys to random odd numbers, which are not 0. */
__attribute__((constructor)) static void set_keys(void)
{
    platform_random(hash_keys, sizeof hash_keys);
    hash_keys[0] |= 1;
    hash_keys[1] |= 1;
}

/* The result is mixed with itself: the low bits of a single product would show the order of
 * consecutive numbers. */
uint64_t hash_bytes(const char *bytes, size_t size)
{
    char few[HASH_NEAR] = {0};
    uint64_t hash = size;
    if (size <= HASH_NEAR)
        return hash_near(size ? memcpy(few, bytes, size) : few, size);
    for (size_t at = 0; at + HASH_NEAR < size; at += HASH_NEAR)
        hash = hash_mix(hash, hash_load(bytes + at, HASH_NEAR));
    hash = hash_mix(hash, hash_load(bytes + size - HASH_NEAR, HASH_NEAR));
    return hash_mix(hash, hash);
}

uint64_t hash_fnv(uint64_t hash, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3u;
    return hash;
}

/* Double `*slots`, a power of two, until `count` entries use at most half of the slots. */
static int double_slots(size_t *slots, size_t count, struct err *err)
{
    if (count > SIZE_MAX / 4)
        return err_memory(err, SIZE_MAX);
    while (*slots < 2 * count)
        *slots *= 2;
    return 0;
}

int hash_index_init(struct hash_index *index, size_t count, struct arena *arena, struct err *err)
{
    size_t slots = FIRST_SLOTS;
    if (double_slots(&slots, count, err))
        return -1;
    index->slots = arena_alloc(arena, slots, sizeof *index->slots, err);
    index->mask = slots - 1;
    return index->slots ? 0 : -1;
}

/* --- maps from byte strings ------------------------------------------------------------------- */

struct hash_table_slot {
    const char *key; /* NULL: the slot is free */
    size_t size;
    uint32_t hash;
    uint32_t value;
};

/* Find the slot of a key or, for a new key, a free slot. The map is never full. */
static struct hash_table_slot *find(const struct hash_table *table, const char *key, size_t size,
                                    uint32_t hash)
{
    size_t mask = table->slot_count - 1, i = hash & mask;
    struct hash_table_slot *slots = table->slots;
    while (slots[i].key &&
           (slots[i].hash != hash || slots[i].size != size || memcmp(slots[i].key, key, size) != 0))
        i = (i + 1) & mask;
    return &slots[i];
}

int hash_table_reserve(struct hash_table *table, size_t count, struct err *err)
{
    size_t slots = table->slot_count ? table->slot_count : FIRST_SLOTS;
    if (double_slots(&slots, count, err))
        return -1;
    if (slots == table->slot_count)
        return 0;
    struct hash_table bigger = {.slot_count = slots, .count = table->count};
    bigger.slots = heap_alloc(slots, sizeof *bigger.slots, err);
    if (!bigger.slots)
        return -1;
    for (size_t i = 0; i < table->slot_count; i++) {
        const struct hash_table_slot *slot = &table->slots[i];
        if (slot->key)
            *find(&bigger, slot->key, slot->size, slot->hash) = *slot;
    }
    heap_free(table->slots);
    *table = bigger;
    return 0;
}

int hash_table_put(struct hash_table *table, const char *key, size_t size, uint32_t value,
                   struct err *err)
{
    if (hash_table_reserve(table, table->count + 1, err))
        return -1;
    uint32_t hash = (uint32_t)hash_bytes(key, size);
    struct hash_table_slot *slot = find(table, key, size, hash);
    if (!slot->key)
        table->count++;
    *slot = (struct hash_table_slot){.key = key, .size = size, .hash = hash, .value = value};
    return 0;
}

int hash_table_add(struct hash_table *table, const char *what, const char *key, size_t size,
                   uint32_t value, struct err *err)
{
    return hash_table_get(table, key, size, NULL)
               ? err_set(err, "%s '%.*s': expected once, found twice", what, (int)size, key)
               : hash_table_put(table, key, size, value, err);
}

bool hash_table_get(const struct hash_table *table, const char *key, size_t size, uint32_t *value)
{
    if (table->count == 0)
        return false;
    const struct hash_table_slot *slot = find(table, key, size, (uint32_t)hash_bytes(key, size));
    if (slot->key && value)
        *value = slot->value;
    return slot->key != NULL;
}

void hash_table_release(struct hash_table *table)
{
    heap_free(table->slots);
    *table = (struct hash_table){0};
}

/* --- SHA-256 ---------------------------------------------------------------------------------- */

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static bool only_plain;

void sha256_plain(bool plain)
{
    only_plain = plain;
}

static uint32_t rotate(uint32_t word, int bits)
{
    return word >> bits | word << (32 - bits);
}

/* Add a block to the hash. The names a to h and w are from the standard (FIPS 180-4). */
static void add_block(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 16; i++, block += 4)
        w[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 |
               (uint32_t)block[3];
    for (int i = 16; i < 64; i++) {
        uint32_t early = w[i - 15], late = w[i - 2];
        w[i] = w[i - 16] + (rotate(early, 7) ^ rotate(early, 18) ^ early >> 3) + w[i - 7] +
               (rotate(late, 17) ^ rotate(late, 19) ^ late >> 10);
    }
    for (int i = 0; i < 64; i++) {
        uint32_t chosen = (e & f) ^ (~e & g);
        uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
        uint32_t t1 =
            h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + chosen + round_constants[i] + w[i];
        uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority;
        h = g, g = f, f = e, e = d + t1;
        d = c, c = b, b = a, a = t1 + t2;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

#ifdef __x86_64__

#include <cpuid.h>
#include <immintrin.h>

enum { LEAF_FEATURES = 7, BIT_SHA = 29 };

/* True if the processor has SHA instructions. Cached: cpuid takes 20 µs in a virtual machine. */
static bool processor_can(void)
{
    static atomic_int answer; /* 0: unknown; 1: no; 2: yes */
    unsigned a, b, c, d;
    if (!atomic_load(&answer))
        atomic_store(&answer,
                     1 + (__get_cpuid_count(LEAF_FEATURES, 0, &a, &b, &c, &d) && b >> BIT_SHA & 1));
    return atomic_load(&answer) == 2;
}

/* Add blocks to the hash with SHA instructions. An instruction does two rounds on the state, which
 * is in the vectors abef and cdgh. */
__attribute__((target("sha,sse4.1"))) static void add_blocks_quickly(uint32_t state[8],
                                                                     const unsigned char *blocks,
                                                                     size_t count)
{
    const __m128i big_end = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
    __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);
    __m128i abef = _mm_alignr_epi8(badc, hgfe, 8);
    __m128i cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);
    for (; count > 0; count--, blocks += SHA256_BLOCK_BYTES) {
        __m128i abef_before = abef;
        __m128i cdgh_before = cdgh;
        __m128i w[4]; /* the last sixteen words of SHA-256's message schedule */
        for (int i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)blocks + i), big_end);
        for (int i = 0; i < 16; i++) {
            __m128i constants = _mm_loadu_si128((const __m128i *)round_constants + i);
            __m128i sum = _mm_add_epi32(w[0], constants);
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
            __m128i next =
                _mm_add_epi32(_mm_sha256msg1_epu32(w[0], w[1]), _mm_alignr_epi8(w[3], w[2], 4));
            w[0] = w[1], w[1] = w[2], w[2] = w[3];
            w[3] = _mm_sha256msg2_epu32(next, w[2]);
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    __m128i feba = _mm_shuffle_epi32(abef, 0x1b);
    __m128i dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

#endif

static void add_blocks(uint32_t state[8], const unsigned char *blocks, size_t count)
{
#ifdef __x86_64__
    if (!only_plain && processor_can()) {
        add_blocks_quickly(state, blocks, count);
        return;
    }
#endif
    for (; count > 0; count--, blocks += SHA256_BLOCK_BYTES)
        add_block(state, blocks);
}

void sha256_begin(struct sha256 *hash)
{
    *hash = (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                      0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(struct sha256 *hash, const void *bytes, size_t size)
{
    const unsigned char *from = bytes;
    size_t held = hash->size_bytes % SHA256_BLOCK_BYTES;
    hash->size_bytes += size;
    if (held) {
        size_t left = SHA256_BLOCK_BYTES - held;
        size_t part = size < left ? size : left;
        memcpy(hash->block + held, from, part);
        from += part;
        size -= part;
        if (part < left)
            return;
        add_blocks(hash->state, hash->block, 1);
    }
    size_t whole = size / SHA256_BLOCK_BYTES;
    if (whole)
        add_blocks(hash->state, from, whole);
    size -= whole * SHA256_BLOCK_BYTES;
    if (size)
        memcpy(hash->block, from + whole * SHA256_BLOCK_BYTES, size);
}

/* Pad the message with a 1 bit, zeros, and the size in bits in the last eight bytes of a block.
 * Then write the digits of the hash. */
void sha256_end(struct sha256 *hash, char digits[SHA256_DIGITS + 1])
{
    static const char hex[] = "0123456789abcdef";
    unsigned char size[8];
    uint64_t bits = hash->size_bytes * 8;
    for (size_t i = 0; i < sizeof size; i++)
        size[i] = (unsigned char)(bits >> (56 - 8 * i));
    sha256_add(hash, "\x80", 1);
    while ((hash->size_bytes + sizeof size) % SHA256_BLOCK_BYTES)
        sha256_add(hash, "", 1);
    sha256_add(hash, size, sizeof size);
    for (int i = 0; i < SHA256_DIGITS; i++)
        digits[i] = hex[hash->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    digits[SHA256_DIGITS] = '\0';
}
