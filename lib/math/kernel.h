/* kernel.h: small matrix products, generated for their exact shape by libxsmm.
 *
 * A kernel computes C[n][m] (+)= B[n][k] · A[k][m], all row-major with their own strides: `b` are n
 * rows of activations, `a` a panel of weights. A and B hold floats, or pairs of bf16 numbers.
 *
 * Where there is no code (LIBXSMM_TARGET=generic, no AVX2), or little work, C takes over. Every
 * element is one chain of fused multiply-adds in the order of k, whatever computes it. So are
 * pairs, in the order of vdpbf16ps: the second product first, subnormal numbers count as 0. Or, by
 * AMX, in that of tdpbf16ps: TILE_PAIRS at a time, whose second products are summed apart from the
 * first; then both are added to each other, and to C.
 *
 *     kernels_get(kernels, &kernel, &(struct kernel_shape){.m = 64, .n = 6, .k = 768, ...}, work);
 *     kernel_call(&kernel, a, b, c, a);
 */
#ifndef ATTN_MATH_KERNEL_H
#define ATTN_MATH_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum {
    TILE_PAIRS = 16,
    SUM_SEGMENT = 512, /* products of floats in one chain of a sum, at most (gemm.h) */
};

struct kernel_shape {
    int m, n, k;
    int a_stride, b_stride, c_stride; /* elements from row to row */
    int accumulate;                   /* 0: C = …, 1: C += … */
    int prefetch;                     /* 1: prefetch the A of the next call; n: an n-th of it */
    int pairs;                        /* 1: the elements of A and B are pairs of bf16 numbers, */
    int begun;                        /* of the first TILE_PAIRS so many come before these */
    int flushes;                      /* 1: of floats subnormal ones count as 0 */
    int panels; /* 1: A is panels, one after the other: of pairs, m / PAIR_COLUMNS of [k,
                   PAIR_COLUMNS]; B has floats, of each pair the second first (PAIRS_BY_FMA), or
                   pairs (PAIRS_BY_TILES). Or of floats, for one row (kernels_read_in_order) */
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

/* What multiplies pairs here. Nothing that fuses is slower with them than with floats. */
enum pair_way {
    PAIRS_BY_C,
    PAIRS_BY_FMA,   /* widened to floats; as chains the same as … */
    PAIRS_BY_DOT,   /* … vdpbf16ps, where that is faster */
    PAIRS_BY_TILES, /* AMX */
    PAIRS_BY_TILES_IN_C,
    PAIR_WAYS,
};

/* Which of them, chosen when it is first asked for. Before that it can be decided: without AMX; or,
 * for tests, one of them. And its name. */
enum pair_way kernels_pair_way(struct kernels *kernels);
void kernels_leave_tiles(struct kernels *kernels);
void kernels_set_pair_way(struct kernels *kernels, enum pair_way way);
const char *pair_way_name(enum pair_way way);

/* Do they sum in the order of tiles? */
static inline bool pair_way_is_tiles(enum pair_way way)
{
    return way == PAIRS_BY_TILES || way == PAIRS_BY_TILES_IN_C;
}

/* C (+)= B · A, of floats or of pairs (uint32_t); `next_a`: the next call's A, to prefetch, or any
 * readable address. */
void kernel_call(const struct kernel *kernel, const void *a, const void *b, float *c,
                 const void *next_a);

#endif
