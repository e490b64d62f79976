#include "model/pattern.h"

#include <string.h>

#include "../unit.h"
#include "../rigs/dice.h"

enum { LIMIT = 10000, WORDS = 200 };

static uint64_t words[WORDS];

static void fill_and_empty(size_t limit, size_t count)
{
    static bool is_in[LIMIT];
    static uint32_t keys[LIMIT];
    struct bitset set = bitset_of(words, limit);
    uint32_t dice = (uint32_t)(limit + count);
    size_t fresh = 0;
    memset(is_in, 0, sizeof is_in);
    for (size_t i = 0; i < count; i++) {
        size_t key = dice_bits(&dice) % limit;
        ck_assert_int_eq(bitset_add(&set, key), !is_in[key]);
        fresh += !is_in[key];
        is_in[key] = true;
    }
    ck_assert_uint_eq(bitset_empty(&set, keys), fresh);
    for (size_t i = 0; i < fresh; i++) {
        ck_assert(is_in[keys[i]]);
        ck_assert(i == 0 || keys[i] > keys[i - 1]);
    }
    for (size_t i = 0; i < bitset_words(limit); i++)
        ck_assert_uint_eq(words[i], 0);
}

/* Around the ends of words, and of words of words. */
TEST(keys_come_out_once_and_rising)
{
    static const size_t limits[] = {1, 2, 63, 64, 65, 128, 4095, 4096, 4097, LIMIT};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        ck_assert_uint_le(bitset_words(limits[i]), WORDS);
        for (size_t count = 0; count < LIMIT; count = 3 * count + 1)
            fill_and_empty(limits[i], count);
    }
}

TEST(the_last_key_has_a_place)
{
    static const size_t limits[] = {1, 64, 65, 4096, 4097, LIMIT};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        uint32_t key = 0;
        struct bitset set = bitset_of(words, limits[i]);
        ck_assert(bitset_add(&set, limits[i] - 1));
        ck_assert(!bitset_add(&set, limits[i] - 1));
        ck_assert_uint_eq(bitset_empty(&set, &key), 1);
        ck_assert_uint_eq(key, limits[i] - 1);
        ck_assert_uint_eq(bitset_empty(&set, &key), 0);
    }
}
