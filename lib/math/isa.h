/* isa.h: one function, compiled for several instruction sets, chosen when the program starts.
 *
 * The clones differ in speed, never in bits: sums are written as fixed chains (LANES of them),
 * fused multiply-adds as fmaf, and nothing is compiled with -ffast-math.
 */
#ifndef ATTN_MATH_ISA_H
#define ATTN_MATH_ISA_H

#include <stddef.h>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FOR_EACH_ISA __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FOR_EACH_ISA
#endif

enum { LANES = 16 }; /* floats summed side by side: one AVX-512 register, whatever the machine */

/* A statement for each i below `count`, with lane = i modulo LANES: whole steps, of which compilers
 * make vectors, and the rest. */
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

/* LANES sums side by side, added pairwise: one order for every instruction set. */
static inline float add_lanes(float lanes[LANES])
{
    for (int i = 0; i < LANES / 2; i++)
        lanes[i] += lanes[i + LANES / 2];
    for (int i = 0; i < LANES / 4; i++)
        lanes[i] += lanes[i + LANES / 4];
    return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}

#endif
