/* map.h: from byte strings, which are borrowed, to numbers: open addressing in one block.
 *
 *     struct map map = {0};
 *     if (map_reserve(&map, count, err) || map_put(&map, "is", 2, 4, err)) ...
 *     if (map_get(&map, "is", 2, &id)) ...
 *     map_release(&map);
 */
#ifndef ATTN_BASE_MAP_H
#define ATTN_BASE_MAP_H

#include <stdint.h>

#include "base/err.h"

struct map {
    struct map_slot *slots;
    size_t slot_count; /* a power of two, or 0 */
    size_t count;
};

/* Room for `count` keys without growing. */
int map_reserve(struct map *map, size_t count, struct err *err);

/* Set the value of a key, new or not. The key's bytes must outlive the map. */
int map_put(struct map *map, const char *key, size_t size, uint32_t value, struct err *err);

/* True, with the value where `value` is not NULL, when the key is there. */
bool map_get(const struct map *map, const char *key, size_t size, uint32_t *value);

void map_release(struct map *map);

#endif
