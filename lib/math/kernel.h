/* kernel.h: small matrix products, generated for their exact shape by libxsmm.
 *
 * A kernel computes C[n][m] (+)= B[n][k] · A[k][m], all row-major with their own strides: `b` are n
 * rows of activations, `a` a panel of weights. A and B hold floats, or pairs of bf16 numbers.
 *
 * Where there is no code (LIBXSMM_TARGET=generic, no AVX2), or little work, C takes over. Every
 * element of floats is one chain of fused multiply-adds in the order of k, whatever computes it.
 * Pairs are multiplied only where the processor has an instruction for them (pair_way), in the
 * order of that instruction: the same for every number of rows.
 *
 *     kernels_get(kernels, &kernel, &(struct kernel_shape){.m = 64, .n = 6, .k = 768, ...}, work);
 *     kernel_call(&kernel, a, b, c, a);
 */
#ifndef ATTN_MATH_KERNEL_H
#define ATTN_MATH_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum { SUM_SEGMENT = 512 }; /* products of floats in one chain of a sum, at most (gemm.h) */

struct kernel_shape {
    int m, n, k;
    int a_stride, b_stride, c_stride; /* elements from row to row */
    int accumulate;                   /* 0: C = …, 1: C += … */
    int prefetch;                     /* 1: prefetch the A of the next call; n: an n-th of it */
    int pairs;  /* 1: the elements of A and B are pairs of bf16 numbers; m is PAIR_COLUMNS */
    int panels; /* 1: A is panels of floats, one after the other, for one row
                   (kernels_read_in_order) */
};

/* libxsmm's calling convention: the last three are what to prefetch. */
typedef void kernel_code(const void *a, const void *b, float *c, const void *next_a,
                         const void *next_b, const float *next_c);

/* C that computes any shape (kernel_body.h). */
typedef void kernel_body(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                         const void *next_a);

struct kernel {
    struct kernel_shape shape;
    kernel_code *code; /* NULL: */
    kernel_body *body;
};

enum { KERNELS_AT_ONCE = 64 }; /* this many kernels fetched in a row stay valid together */

struct kernels; /* the table of those generated so far; bounded, oldest forgotten all at once */

/* An empty table for this processor, or for the older one that LIBXSMM_TARGET names. */
int kernels_open(struct kernels **kernels, struct err *err);
void kernels_free(struct kernels *kernels);

/* Begin to fetch kernels that are used together. Kernels fetched before may be gone after this. */
void kernels_begin(struct kernels *kernels);

/* The kernel of that shape, for about `work` multiply-adds: code is written when their sum is worth
 * it, or from now on for any work. Never from within a loop that threads share. */
void kernels_get(struct kernels *kernels, struct kernel *kernel, const struct kernel_shape *shape,
                 double work);
void kernels_write_all(struct kernels *kernels);

/* For --version: "avx512", "avx2", "neon" or "c"; and the library that writes code, with its
 * version, or NULL: there is none. */
const char *kernels_target(struct kernels *kernels);
const char *kernels_library(void);

/* Is a share of what is prefetched asked for evenly, while panels of floats are multiplied? */
bool kernels_prefetch_evenly(const struct kernels *kernels);

/* Is memory best read in the order of panels, and is there a kernel that does, for one row? */
bool kernels_read_in_order(const struct kernels *kernels);

/* What multiplies bf16 here. */
enum pair_way {
    PAIRS_NONE,     /* no kernel of pairs: numbers are widened, and multiplied as float32 */
    PAIRS_BY_DOT,   /* libxsmm's kernels with vdpbf16ps, where that is faster than float32 */
    PAIRS_BY_TILES, /* AMX */
    PAIR_WAYS,
};

/* Chosen when it is first asked for; and its name: "float32", "vdpbf16ps" or "amx". */
enum pair_way kernels_pair_way(struct kernels *kernels);
const char *pair_way_name(enum pair_way way);

/* C (+)= B · A, of floats or of pairs (uint32_t); `next_a`: the next call's A, to prefetch, or any
 * readable address. */
void kernel_call(const struct kernel *kernel, const void *a, const void *b, float *c,
                 const void *next_a);

#endif
