#include "math/nontemporal.h"

#include <string.h>

#include "../unit.h"

enum { ROOM = 2200, LINE = 16 };

static float from[ROOM], to[ROOM], expected[ROOM];

/* Around the length from which stores bypass caches, and around whole lines. */
static const size_t counts[] = {0,   1,   15,  16,  17,  255, 256,  257, 270,
                                271, 272, 273, 287, 288, 511, 1024, 2047};

/* Untouched cells are -1. */
static void prepare(void)
{
    for (size_t i = 0; i < ROOM; i++) {
        from[i] = (float)i;
        to[i] = expected[i] = -1;
    }
}

TEST(a_copy_is_complete_at_every_alignment)
{
    for (size_t i = 0; i < COUNT(counts); i++) {
        for (size_t shift = 0; shift < 2 * LINE; shift++) {
            prepare();
            memcpy(expected + shift, from + 3 + i, counts[i] * sizeof *to);
            nontemporal_copy(to + shift, from + 3 + i, counts[i]);
            nontemporal_fence();
            ck_assert_mem_eq(to, expected, sizeof to);
        }
    }
}

TEST(a_fill_is_complete_at_every_alignment)
{
    for (size_t i = 0; i < COUNT(counts); i++) {
        for (size_t shift = 0; shift < 2 * LINE; shift++) {
            prepare();
            for (size_t k = 0; k < counts[i]; k++)
                expected[shift + k] = 7.5f;
            nontemporal_fill(to + shift, counts[i], 7.5f);
            nontemporal_fence();
            ck_assert_mem_eq(to, expected, sizeof to);
        }
    }
}
