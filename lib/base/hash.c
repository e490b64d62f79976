#include "base/hash.h"

#include <string.h>

#include "base/memory.h"
#include "base/platform.h"

enum { FIRST_SLOTS = 16 };

/* Where nothing is random, as in a page: with small keys, ids would share few slots. */
uint64_t hash_keys[2] = {0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u};

/* Set both keys to odd numbers, which are not 0. */
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

struct map_slot {
    const char *key; /* NULL: free */
    size_t size;
    uint32_t hash;
    uint32_t value;
};

/* The slot of the key, or a free one for it. The map is never full. */
static struct map_slot *find(const struct map *map, const char *key, size_t size, uint32_t hash)
{
    size_t mask = map->slot_count - 1, i = hash & mask;
    struct map_slot *slots = map->slots;
    while (slots[i].key &&
           (slots[i].hash != hash || slots[i].size != size || memcmp(slots[i].key, key, size) != 0))
        i = (i + 1) & mask;
    return &slots[i];
}

int map_reserve(struct map *map, size_t count, struct err *err)
{
    size_t slots = map->slot_count ? map->slot_count : FIRST_SLOTS;
    if (double_slots(&slots, count, err))
        return -1;
    if (slots == map->slot_count)
        return 0;
    struct map bigger = {.slot_count = slots, .count = map->count};
    bigger.slots = heap_alloc(slots, sizeof *bigger.slots, err);
    if (!bigger.slots)
        return -1;
    for (size_t i = 0; i < map->slot_count; i++) {
        const struct map_slot *slot = &map->slots[i];
        if (slot->key)
            *find(&bigger, slot->key, slot->size, slot->hash) = *slot;
    }
    heap_free(map->slots);
    *map = bigger;
    return 0;
}

int map_put(struct map *map, const char *key, size_t size, uint32_t value, struct err *err)
{
    if (map_reserve(map, map->count + 1, err))
        return -1;
    uint32_t hash = (uint32_t)hash_bytes(key, size);
    struct map_slot *slot = find(map, key, size, hash);
    if (!slot->key)
        map->count++;
    *slot = (struct map_slot){.key = key, .size = size, .hash = hash, .value = value};
    return 0;
}

int map_add(struct map *map, const char *what, const char *key, size_t size, uint32_t value,
            struct err *err)
{
    return map_get(map, key, size, NULL)
               ? err_set(err, "%s '%.*s': expected once, found twice", what, (int)size, key)
               : map_put(map, key, size, value, err);
}

bool map_get(const struct map *map, const char *key, size_t size, uint32_t *value)
{
    if (map->count == 0)
        return false;
    const struct map_slot *slot = find(map, key, size, (uint32_t)hash_bytes(key, size));
    if (slot->key && value)
        *value = slot->value;
    return slot->key != NULL;
}

void map_release(struct map *map)
{
    heap_free(map->slots);
    *map = (struct map){0};
}
