#include "base/hash.h"

#include <string.h>

#include "../unit.h"
#include "base/memory.h"

TEST(the_largest_number_is_stored)
{
    struct hash_index index;
    struct arena arena = {0};
    uint32_t number = 0;
    ck_assert_int_eq(hash_index_init(&index, 1, &arena, NULL), 0);
    struct hash_probe probe = hash_probe(&index, UINT64_MAX);
    ck_assert(!hash_next(&probe, &number));
    hash_put(&probe, HASH_NUMBER_MAX);
    probe = hash_probe(&index, UINT64_MAX);
    ck_assert(hash_next(&probe, &number));
    ck_assert_uint_eq(number, HASH_NUMBER_MAX);
    ck_assert(!hash_next(&probe, &number));
    arena_release(&arena);
}

TEST(every_byte_of_a_key_changes_its_hash)
{
    char key[40];
    for (size_t size = 1; size <= sizeof key; size++) {
        memset(key, 'a', sizeof key);
        uint64_t hash = hash_bytes(key, size);
        ck_assert(hash != hash_bytes(key, size - 1));
        ck_assert(hash == hash_near(key, size));
        for (size_t i = 0; i < size; i++) {
            key[i] = 'b';
            ck_assert_msg(hash != hash_bytes(key, size), "byte %zu of %zu", i, size);
            key[i] = 'a';
        }
    }
}

TEST(an_index_without_memory_is_refused)
{
    struct hash_index index;
    struct arena arena = {0};
    struct err err = {0};
    heap_fail_at(1, 0);
    ck_assert_int_eq(hash_index_init(&index, 100, &arena, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "out of memory: "));
    ck_assert_int_eq(hash_index_init(&index, SIZE_MAX, &arena, NULL), -1);
    ck_assert_int_eq(hash_index_init(&index, SIZE_MAX / 2, &arena, NULL), -1);
    arena_release(&arena);
}
