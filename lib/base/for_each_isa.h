/* for_each_isa.h: one function, compiled for several instruction sets, chosen when the program
 * starts. The clones differ in speed, never in bits: nothing is compiled with -ffast-math, and no
 * sum is reordered. */
#ifndef ATTN_BASE_FOR_EACH_ISA_H
#define ATTN_BASE_FOR_EACH_ISA_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FOR_EACH_ISA __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FOR_EACH_ISA
#endif

#endif
