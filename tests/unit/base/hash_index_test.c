#include "base/hash.h"

#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "base/heap.h"

enum { WORDS = 2000 };

static char words[WORDS][16];

/* The number of a word, or -1; the probe stands where it would be put. */
static long find(const struct hash_index *index, const char *word, struct hash_probe *probe)
{
    uint32_t number = 0;
    *probe = hash_probe(index, hash_bytes(word, strlen(word)));
    while (hash_next(probe, &number))
        if (strcmp(words[number], word) == 0)
            return number;
    return -1;
}

TEST(what_was_put_in_is_found)
{
    struct hash_index index;
    struct hash_probe probe;
    struct arena arena = {0};
    ck_assert_int_eq(hash_index_init(&index, WORDS, &arena, NULL), 0);
    for (uint32_t i = 0; i < WORDS; i++) {
        snprintf(words[i], sizeof words[i], "%x", i * 7919);
        ck_assert_int_eq(find(&index, words[i], &probe), -1);
        hash_put(&probe, i);
    }
    for (uint32_t i = 0; i < WORDS; i++)
        ck_assert_int_eq(find(&index, words[i], &probe), i);
    ck_assert_int_eq(find(&index, "no", &probe), -1);
    arena_release(&arena);
}

TEST(the_last_number_found_can_be_replaced)
{
    struct hash_index index;
    struct hash_probe probe;
    struct arena arena = {0};
    ck_assert_int_eq(hash_index_init(&index, 4, &arena, NULL), 0);
    strcpy(words[0], "one");
    strcpy(words[1], "one");
    find(&index, "one", &probe);
    hash_put(&probe, 0);
    ck_assert_int_eq(find(&index, "one", &probe), 0);
    hash_replace(&probe, 1);
    ck_assert_int_eq(find(&index, "one", &probe), 1);
    arena_release(&arena);
}

TEST(the_largest_number_has_its_place)
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

TEST(every_byte_of_a_key_counts)
{
    char key[40];
    for (size_t size = 1; size <= sizeof key; size++) {
        memset(key, 'a', sizeof key);
        uint64_t hash = hash_bytes(key, size);
        ck_assert(hash != hash_bytes(key, size - 1));
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
