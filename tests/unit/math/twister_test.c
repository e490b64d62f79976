#include "math/rng.h"

#include "../unit.h"
#include "base/hash.h"

/* random.Random(seed).randrange(limit) of Python, for all limits below 2,000, in one number. */
TEST(numbers_are_those_of_python)
{
    static const struct {
        uint64_t seed, drawn;
    } cases[] = {
        {0, 0xb4d668becb819d58},
        {1, 0x15acb03897b30da3},
        {34103, 0xd32edc99192eee80},
        {((uint64_t)1 << 40) + 5, 0xbafeb51bcc2598b7},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct twister twister;
        uint64_t drawn = HASH_FNV_BEGIN;
        twister_begin_python(&twister, cases[i].seed);
        for (uint32_t limit = 1; limit < 2000; limit++)
            drawn = (drawn ^ twister_below(&twister, limit)) * 0x100000001b3;
        ck_assert_uint_eq(drawn, cases[i].drawn);
    }
}

TEST(the_largest_limit_is_kept)
{
    struct twister twister;
    twister_begin_python(&twister, 7);
    for (int i = 0; i < 1000; i++)
        ck_assert_uint_lt(twister_below(&twister, UINT32_MAX), UINT32_MAX);
}
