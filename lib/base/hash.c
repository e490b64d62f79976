#include "base/hash.h"

#include "base/num.h"
#include "base/platform.h"

uint64_t hash_keys[2];

/* Odd, so that neither is 0. */
__attribute__((constructor)) static void set_keys(void)
{
    platform_random(hash_keys, sizeof hash_keys);
    hash_keys[0] |= 1;
    hash_keys[1] |= 1;
}

/* What is left at the end is mixed with a hash that no one knows, and once more: the low bits of a
 * single product would show the order of numbers that follow each other. */
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

int hash_index_init(struct hash_index *index, size_t count, struct arena *arena, struct err *err)
{
    size_t slots = 16;
    size_t twice = 0;
    if (!num_multiply(&twice, count, 2))
        return err_memory(err, SIZE_MAX);
    while (slots < twice)
        if (!num_multiply(&slots, slots, 2))
            return err_memory(err, SIZE_MAX);
    index->slots = arena_alloc(arena, slots, sizeof *index->slots, err);
    index->mask = slots - 1;
    return index->slots ? 0 : -1;
}
