/* pair_ways.h: every way to multiply pairs of bf16 numbers that this processor has.
 *
 *     for (size_t i = 0; i < COUNT(pair_ways); i++) {
 *         struct kernels *kernels = pair_way_open(&pair_ways[i]);
 *         if (!kernels)
 *             continue;                                     (this processor has no such way)
 *         ... pair_way_is_tiles(kernels_pair_way(kernels)) ...
 *         kernels_free(kernels);
 *     }
 */
#ifndef ATTN_TESTS_PAIR_WAYS_H
#define ATTN_TESTS_PAIR_WAYS_H

#include <check.h>
#include <stdlib.h>

#include "math/kernel.h"

static const struct pair_case {
    const char *target; /* LIBXSMM_TARGET */
    enum pair_way way;
} pair_ways[] = {
    {"spr", PAIRS_BY_TILES}, {"spr", PAIRS_BY_TILES_IN_C}, {"cpx", PAIRS_BY_DOT},
    {"skx", PAIRS_BY_FMA},   {"hsw", PAIRS_BY_FMA},        {"generic", PAIRS_BY_C},
};

/* Do these kernels go that way? Tiles in C are for any processor. */
static inline int pair_way_take(const struct pair_case *wanted, struct kernels *kernels)
{
    if (wanted->way == PAIRS_BY_TILES_IN_C)
        kernels_set_pair_way(kernels, wanted->way);
    return kernels_pair_way(kernels) == wanted->way;
}

static inline struct kernels *pair_way_open(const struct pair_case *wanted)
{
    struct kernels *kernels = NULL;
    ck_assert_int_eq(setenv("LIBXSMM_TARGET", wanted->target, 1), 0);
    ck_assert_int_eq(kernels_open(&kernels, NULL), 0);
    if (pair_way_take(wanted, kernels))
        return kernels;
    kernels_free(kernels);
    return NULL;
}

#endif
