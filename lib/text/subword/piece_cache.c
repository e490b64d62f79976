#include "text/subword/bpe.h"

#include <string.h>

#include "base/hash.h"
#include "base/heap.h"

enum {
    ENTRIES_MIN = 256, /* a text that fills fewer is not worth it */
    BYTES_PER_ENTRY = 32,
};

void piece_cache_init(struct piece_cache *cache, size_t text_size)
{
    size_t count = PIECE_CACHE_ENTRIES_MAX;
    *cache = (struct piece_cache){0};
    while (count > text_size / BYTES_PER_ENTRY && count >= ENTRIES_MIN)
        count /= 2;
    if (count < ENTRIES_MIN)
        return;
    cache->entries = heap_alloc(count, sizeof *cache->entries, NULL);
    cache->mask = count - 1;
}

void piece_cache_release(struct piece_cache *cache)
{
    heap_free(cache->entries);
    *cache = (struct piece_cache){0};
}

struct piece_entry *piece_cache_at(struct piece_cache *cache, const char *bytes, size_t size)
{
    if (!cache->entries || size > PIECE_ENTRY_BYTES)
        return NULL;
    if (!cache->last || !piece_entry_is(cache->last, bytes, size))
        cache->last = &cache->entries[(hash_bytes(bytes, size) >> 32) & cache->mask];
    return cache->last;
}

bool piece_entry_is(const struct piece_entry *entry, const char *bytes, size_t size)
{
    return entry->size == size && entry->bytes[0] == bytes[0] && /* most often they are others */
           (size == 1 || memcmp(entry->bytes, bytes, size) == 0);
}

void piece_entry_set(struct piece_entry *entry, const char *bytes, size_t size,
                     const struct bpe_token *tokens, size_t count)
{
    if (count > PIECE_ENTRY_TOKENS)
        return;
    for (size_t i = 0; i < count; i++) {
        entry->ids[i] = tokens[i].id;
        entry->ends[i] = (uint8_t)tokens[i].end;
    }
    entry->count = (uint8_t)count;
    entry->size = (uint8_t)size;
    memcpy(entry->bytes, bytes, size);
}
