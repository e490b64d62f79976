/* isa.h: loops that compilers vectorise, whose results have the same bits on every instruction set:
 * a sum has LANES fixed chains, and fused multiply-adds are written as fmaf. */
#pragma once

#include <stddef.h>

#include "base/platform.h"

enum {
    LANES = 16
}; /* number of chains of a sum on all processors: as many as an AVX-512 register
                      * has floats */

/* Run a statement for each i below `count`, with lane = i modulo LANES: first LANES indices at a
 * time, in a loop that compilers vectorise, then the remaining indices. */
#define FOR_LANES(count, ...)                                         \
    do {                                                              \
        size_t whole_ = (count) / LANES * LANES;                      \
        for (size_t step_ = 0; step_ < whole_; step_ += LANES)        \
            for (size_t lane = 0; lane < LANES; lane++) {             \
                size_t i = step_ + lane;                              \
                __VA_ARGS__;                                          \
            }                                                         \
        for (size_t i = whole_, lane = 0; i < (count); i++, lane++) { \
            __VA_ARGS__;                                              \
        }                                                             \
    } while (0)

/* Add LANES sums pairwise, in the same order for every instruction set; overwrites `lanes`. */
static inline float add_lanes(float lanes[LANES])
{
    for (int i = 0; i < LANES / 2; i++)
        lanes[i] += lanes[i + LANES / 2];
    for (int i = 0; i < LANES / 4; i++)
        lanes[i] += lanes[i + LANES / 4];
    return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}

/* Add LANES sums from first to last. */
static inline double sum_lanes(const double lanes[LANES])
{
    double sum = 0;
    for (int i = 0; i < LANES; i++)
        sum += lanes[i];
    return sum;
}
