#include "text/subword/bpe.h"

#include <string.h>

#include "../unit.h"
#include "base/heap.h"

enum { TEXT_BYTES = 1 << 20 };

static const struct bpe_token tokens[PIECE_ENTRY_TOKENS + 1] = {{7, 0, 1}, {8, 1, 3}};

TEST(a_piece_is_kept_until_another_takes_its_place)
{
    struct piece_cache cache;
    piece_cache_init(&cache, TEXT_BYTES);
    ck_assert_uint_eq(cache.mask, PIECE_CACHE_ENTRIES_MAX - 1);
    struct piece_entry *entry = piece_cache_at(&cache, "the", 3);
    ck_assert_ptr_nonnull(entry);
    ck_assert(!piece_entry_is(entry, "the", 3));
    piece_entry_set(entry, "the", 3, tokens, 2);
    ck_assert_ptr_eq(piece_cache_at(&cache, "the", 3), entry);
    ck_assert(piece_entry_is(entry, "the", 3));
    ck_assert(!piece_entry_is(entry, "th", 2));
    ck_assert(!piece_entry_is(entry, "thy", 3));
    ck_assert_uint_eq(entry->count, 2);
    ck_assert_uint_eq(entry->ids[1], 8);
    ck_assert_uint_eq(entry->ends[1], 3);
    piece_entry_set(entry, "of", 2, tokens, 1);
    ck_assert(!piece_entry_is(entry, "the", 3));
    ck_assert(piece_entry_is(entry, "of", 2));
    piece_cache_release(&cache);
}

TEST(long_pieces_and_those_of_many_tokens_are_not_kept)
{
    char piece[PIECE_ENTRY_BYTES + 1];
    struct piece_cache cache;
    memset(piece, 'a', sizeof piece);
    piece_cache_init(&cache, TEXT_BYTES);
    struct piece_entry *entry = piece_cache_at(&cache, piece, PIECE_ENTRY_BYTES);
    ck_assert_ptr_nonnull(entry);
    ck_assert_ptr_null(piece_cache_at(&cache, piece, PIECE_ENTRY_BYTES + 1));
    piece_entry_set(entry, piece, PIECE_ENTRY_BYTES, tokens, PIECE_ENTRY_TOKENS + 1);
    ck_assert(!piece_entry_is(entry, piece, PIECE_ENTRY_BYTES));
    piece_entry_set(entry, piece, PIECE_ENTRY_BYTES, tokens, PIECE_ENTRY_TOKENS);
    ck_assert(piece_entry_is(entry, piece, PIECE_ENTRY_BYTES));
    piece_cache_release(&cache);
}

TEST(a_cache_is_in_proportion_to_its_text)
{
    size_t before = 0;
    for (size_t size = 0; size <= 8 * TEXT_BYTES; size = 2 * size + 1) {
        struct piece_cache cache;
        piece_cache_init(&cache, size);
        size_t bytes = cache.entries ? (cache.mask + 1) * sizeof *cache.entries : 0;
        ck_assert_uint_le(bytes, 2 * size);
        ck_assert_uint_ge(bytes, before);
        before = bytes;
        piece_cache_release(&cache);
    }
    ck_assert_uint_eq(before, 64 * PIECE_CACHE_ENTRIES_MAX);
}

TEST(without_memory_there_is_no_cache)
{
    struct piece_cache cache;
    heap_fail_at(1, 0);
    piece_cache_init(&cache, TEXT_BYTES);
    heap_fail_at(0, 0);
    ck_assert_ptr_null(piece_cache_at(&cache, "the", 3));
    piece_cache_release(&cache);
}
