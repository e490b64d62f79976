/* piece_cache.h: what became of the pieces that a text repeats, so that most of them need no merge.
 *
 * One for each text, of a size in proportion to it and bounded; a place holds the last of the
 * pieces that fall on it. Long pieces and those of many tokens are not kept.
 *
 *     struct piece_cache cache = {0};              (works, and keeps nothing)
 *     piece_cache_init(&cache, text_size);
 *     struct piece_entry *entry = piece_cache_at(&cache, bytes, size);
 *     if (!entry || !piece_entry_is(entry, bytes, size)) { ...; piece_entry_set(entry, ...); }
 *     piece_cache_release(&cache);
 */
#ifndef ATTN_TEXT_PIECE_CACHE_H
#define ATTN_TEXT_PIECE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/bpe.h"

enum {
    PIECE_ENTRY_BYTES = 22,
    PIECE_ENTRY_TOKENS = 8,
    PIECE_CACHE_ENTRIES_MAX = 8192, /* half a megabyte */
};

struct piece_entry { /* 64 bytes, a cache line */
    uint32_t ids[PIECE_ENTRY_TOKENS];
    uint8_t ends[PIECE_ENTRY_TOKENS];
    uint8_t count;
    uint8_t size; /* 0: free */
    char bytes[PIECE_ENTRY_BYTES];
};

struct piece_cache {
    struct piece_entry *entries;
    size_t mask;
};

/* Where there is no memory for a cache, or no use for one, it stays without entries. */
void piece_cache_init(struct piece_cache *cache, size_t text_size);
void piece_cache_release(struct piece_cache *cache);

/* The entry on which a piece falls, or NULL when it cannot be kept. */
struct piece_entry *piece_cache_at(const struct piece_cache *cache, const char *bytes, size_t size);

bool piece_entry_is(const struct piece_entry *entry, const char *bytes, size_t size);

/* Keep the tokens of a piece, unless they are too many. */
void piece_entry_set(struct piece_entry *entry, const char *bytes, size_t size,
                     const struct bpe_token *tokens, size_t count);

#endif
