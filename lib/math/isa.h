/* isa.h: one function, compiled for several instruction sets, chosen when the program starts.
 *
 * The clones differ in speed, never in bits: sums are written as fixed chains (LANES of them),
 * fused multiply-adds as fmaf, and nothing is compiled with -ffast-math.
 */
#ifndef ATTN_MATH_ISA_H
#define ATTN_MATH_ISA_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FOR_EACH_ISA __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FOR_EACH_ISA
#endif

enum { LANES = 16 }; /* floats summed side by side: one AVX-512 register, whatever the machine */

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
