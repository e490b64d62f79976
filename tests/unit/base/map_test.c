#include "base/hash.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"
#include "base/memory.h"

enum { MANY = 50000, KEY_BYTES = 32 };

static void fill(char (*keys)[KEY_BYTES], size_t count)
{
    for (size_t i = 0; i < count; i++)
        snprintf(keys[i], KEY_BYTES, "word%zu", i);
}

TEST(keys_have_the_values_that_were_put)
{
    static char keys[MANY][KEY_BYTES];
    struct map map = {0};
    uint32_t value = 0;
    fill(keys, MANY);
    for (uint32_t i = 0; i < MANY; i++)
        ck_assert_int_eq(map_put(&map, keys[i], strlen(keys[i]), i * 7, NULL), 0);
    ck_assert_uint_eq(map.count, MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        ck_assert(map_get(&map, keys[i], strlen(keys[i]), &value));
        ck_assert_uint_eq(value, i * 7);
    }
    map_release(&map);
    ck_assert_uint_eq(map.count, 0);
}

TEST(a_key_may_hold_any_byte_or_none)
{
    static const char *const keys[] = {"", "\0", "\0\0", "a\0b", "a\0c", "\xff\xfe\xfd"};
    static const size_t sizes[] = {0, 1, 2, 3, 3, 3};
    struct map map = {0};
    uint32_t value = 0;
    for (uint32_t i = 0; i < 6; i++)
        ck_assert_int_eq(map_put(&map, keys[i], sizes[i], i, NULL), 0);
    ck_assert_uint_eq(map.count, 6);
    for (uint32_t i = 0; i < 6; i++) {
        ck_assert(map_get(&map, keys[i], sizes[i], &value));
        ck_assert_uint_eq(value, i);
    }
    map_release(&map);
}

TEST(a_map_that_cannot_grow_keeps_its_values)
{
    static char keys[100][KEY_BYTES];
    struct map map = {0};
    struct err err = {0};
    uint32_t value = 0;
    uint32_t count = 0;
    fill(keys, 100);
    heap_fail_at(2, 1);
    while (map_put(&map, keys[count], strlen(keys[count]), count, &err) == 0)
        count++;
    heap_fail_at(0, 0);
    ck_assert_int_eq(strncmp(err.text, "out of memory: ", 15), 0);
    ck_assert_uint_gt(count, 0);
    ck_assert_uint_eq(map.count, count);
    for (uint32_t i = 0; i < count; i++) {
        ck_assert(map_get(&map, keys[i], strlen(keys[i]), &value));
        ck_assert_uint_eq(value, i);
    }
    map_release(&map);
}

TEST(a_count_that_overflows_is_refused)
{
    static const size_t counts[] = {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 4};
    struct map map = {0};
    for (size_t i = 0; i < 3; i++) {
        struct err err = {0};
        ck_assert_int_eq(map_reserve(&map, counts[i], &err), -1);
        ck_assert_msg(strncmp(err.text, "out of memory: ", 15) == 0, "%s", err.text);
    }
    ck_assert_uint_eq(map.slot_count, 0);
}
