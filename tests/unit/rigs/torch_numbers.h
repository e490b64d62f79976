/* torch_numbers.h: random numbers of PyTorch 2.13.0+cpu on a CPU. Made by
 * tests/references/torch/tables.py. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct torch_row {
    uint64_t seed;
    size_t count;
    uint32_t digest; /* of the numbers' bits, FNV-1a: rigs/digest.h */
};

/* clang-format off */
static const struct torch_row torch_uniform[] = {
    {0, 1, 2929528615u},
    {0, 5, 3427508482u},
    {0, 15, 1178801651u},
    {0, 16, 382581681u},
    {0, 18, 213464005u},
    {0, 33, 752123600u},
    {0, 48, 3737176278u},
    {123, 1, 3235564475u},
    {123, 5, 2250039448u},
    {123, 15, 1331913211u},
    {123, 16, 255011419u},
    {123, 18, 2381395770u},
    {123, 33, 2597484644u},
    {123, 48, 3765065176u},
    {2147483653, 1, 1798387844u},
    {2147483653, 5, 727273792u},
    {2147483653, 15, 332703066u},
    {2147483653, 16, 588061187u},
    {2147483653, 18, 3884214399u},
    {2147483653, 33, 740279822u},
    {2147483653, 48, 304443934u},
};

static const struct torch_row torch_normal[] = {
    {0, 1, 161150683u},
    {0, 5, 733211041u},
    {0, 15, 2275907763u},
    {0, 16, 3390456703u},
    {0, 18, 3212865648u},
    {0, 33, 126970498u},
    {0, 48, 84522258u},
    {123, 1, 364345326u},
    {123, 5, 3433339485u},
    {123, 15, 3421953300u},
    {123, 16, 1706618622u},
    {123, 18, 220627935u},
    {123, 33, 536280097u},
    {123, 48, 2236450508u},
    {2147483653, 1, 1143334215u},
    {2147483653, 5, 1884037927u},
    {2147483653, 15, 673307444u},
    {2147483653, 16, 3543948650u},
    {2147483653, 18, 3403594526u},
    {2147483653, 33, 1165467297u},
    {2147483653, 48, 1822951712u},
};

/* Seed 7: the digest of sequence() in tables.py. */
static const uint32_t torch_sequence = 2705199969u;

/* Seed 5: the digests of torch.randn(100003), and of torch.rand after it. */
static const uint32_t torch_long_normal = 4147930479u;
static const uint32_t torch_long_uniform = 2954906867u;
/* clang-format on */
