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
    struct hash_table table = {0};
    uint32_t value = 0;
    fill(keys, MANY);
    for (uint32_t i = 0; i < MANY; i++)
        ck_assert_int_eq(hash_table_put(&table, keys[i], strlen(keys[i]), i * 7, NULL), 0);
    ck_assert_uint_eq(table.count, MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        ck_assert(hash_table_get(&table, keys[i], strlen(keys[i]), &value));
        ck_assert_uint_eq(value, i * 7);
    }
    hash_table_release(&table);
    ck_assert_uint_eq(table.count, 0);
}

TEST(a_key_may_hold_any_byte_or_none)
{
    static const char *const keys[] = {"", "\0", "\0\0", "a\0b", "a\0c", "\xff\xfe\xfd"};
    static const size_t sizes[] = {0, 1, 2, 3, 3, 3};
    struct hash_table table = {0};
    uint32_t value = 0;
    for (uint32_t i = 0; i < 6; i++)
        ck_assert_int_eq(hash_table_put(&table, keys[i], sizes[i], i, NULL), 0);
    ck_assert_uint_eq(table.count, 6);
    for (uint32_t i = 0; i < 6; i++) {
        ck_assert(hash_table_get(&table, keys[i], sizes[i], &value));
        ck_assert_uint_eq(value, i);
    }
    hash_table_release(&table);
}

TEST(a_table_that_cannot_grow_keeps_its_values)
{
    static char keys[100][KEY_BYTES];
    struct hash_table table = {0};
    struct err err = {0};
    uint32_t value = 0;
    uint32_t count = 0;
    fill(keys, 100);
    heap_fail_at(2, 1);
    while (hash_table_put(&table, keys[count], strlen(keys[count]), count, &err) == 0)
        count++;
    heap_fail_at(0, 0);
    ck_assert_int_eq(strncmp(err.text, "out of memory: ", 15), 0);
    ck_assert_uint_gt(count, 0);
    ck_assert_uint_eq(table.count, count);
    for (uint32_t i = 0; i < count; i++) {
        ck_assert(hash_table_get(&table, keys[i], strlen(keys[i]), &value));
        ck_assert_uint_eq(value, i);
    }
    hash_table_release(&table);
}

TEST(a_count_that_overflows_is_refused)
{
    static const size_t counts[] = {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 4};
    struct hash_table table = {0};
    for (size_t i = 0; i < 3; i++) {
        struct err err = {0};
        ck_assert_int_eq(hash_table_reserve(&table, counts[i], &err), -1);
        ck_assert_msg(strncmp(err.text, "out of memory: ", 15) == 0, "%s", err.text);
    }
    ck_assert_uint_eq(table.slot_count, 0);
}
