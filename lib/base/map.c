#include "base/map.h"

#include <string.h>

#include "base/hash.h"
#include "base/heap.h"
#include "base/num.h"

enum { FIRST_SLOTS = 16 };

struct map_slot {
    const char *key; /* NULL: free */
    size_t size;
    uint32_t hash;
    uint32_t value;
};

/* The slot of the key, or the free one where it belongs. The map is never full. */
static struct map_slot *find(const struct map *map, const char *key, size_t size, uint32_t hash)
{
    size_t mask = map->slot_count - 1;
    size_t i = hash & mask;
    for (;; i = (i + 1) & mask) {
        struct map_slot *slot = &map->slots[i];
        if (!slot->key)
            return slot;
        if (slot->hash == hash && slot->size == size && memcmp(slot->key, key, size) == 0)
            return slot;
    }
}

static int resize(struct map *map, size_t slot_count, struct err *err)
{
    struct map bigger = {.slot_count = slot_count, .count = map->count};
    bigger.slots = heap_alloc(slot_count, sizeof *bigger.slots, err);
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

int map_reserve(struct map *map, size_t count, struct err *err)
{
    size_t twice = 0;
    size_t slots = map->slot_count ? map->slot_count : FIRST_SLOTS;
    if (!num_multiply(&twice, count, 2))
        return err_memory(err, count);
    while (slots < twice)
        if (!num_multiply(&slots, slots, 2))
            return err_memory(err, count);
    return slots == map->slot_count ? 0 : resize(map, slots, err);
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
