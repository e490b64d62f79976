/* kernel.h: small matrix products, in machine code that libxsmm generates for their exact shape.
 *
 * A kernel computes C[n][m] (+)= B[n][k] · A[k][m], all row-major with their own strides. Usually,
 * B is n rows of activations and A is a panel of weights. Both hold floats, or pairs of bf16
 * numbers.
 *
 * Kernels in C are used if no code can be generated (LIBXSMM_TARGET=generic, no AVX2), if there is
 * little work, or if they are faster. In all kernels of floats, an element of C is one chain of
 * fused multiply-adds in the order of k (with several panels, a sum of segments). Pairs are
 * multiplied only by instructions for pairs (pair_way), whose order is the same for every number of
 * rows.
 *
 *     kernels_get(kernels, &kernel, &(struct kernel_shape){.m = 64, .n = 6, .k = 768, ...}, work);
 *     kernel_call(&kernel, a, b, c, a);
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "format/dtype.h"
#include "math/isa.h"
#include "math/tensor.h"

/* libxsmm generates code for x86-64 only; the Makefile and dependencies.sh check the same. */
#if defined(__x86_64__) && defined(__linux__)
#define GENERATES
#endif

enum {
    SUM_SEGMENT = 512
}; /* maximum number of products in one chain of a sum of floats
                             * (gemm.h) */

/* --- instruction sets ------------------------------------------------------------------------- */

enum kernel_target {
    TARGET_C,    /* plain C */
    TARGET_OLD,  /* x86-64 without AVX2, or without fused multiply-adds */
    TARGET_NEON, /* arm64 */
    TARGET_AVX2,
    TARGET_AVX512,
    TARGET_BF16,  /* AVX-512 with vdpbf16ps, if that is faster than products of floats, or if it is
                   * requested */
    TARGET_TILES, /* AVX-512 with AMX, which the operating system may refuse (tiles_ask) */
};

/* Return this processor's instruction set, or a smaller one if LIBXSMM_TARGET names it. The names
 * are libxsmm's. */
enum kernel_target target_choose(void);

/* Properties of processors that no CPUID flag reports; they were measured on processors of the same
 * maker. */
struct cpu_tuning {
    bool slow_dots;        /* vdpbf16ps takes longer than the multiply-adds it replaces */
    bool stalls_on_bursts; /* products wait if much is prefetched at once: libxsmm's kernels, which
                            * prefetch the next panel in one go, reach three quarters of their peak
                            * speed */
    bool reads_in_order;   /* a panel is read fastest in the order of its addresses; if false,
                            * memory is read fastest from sixteen addresses on different pages at a
                            * time */
    bool rows_in_order;    /* sixteen rows that are transposed are read fastest if they are
                            * adjacent; if false, they are read fastest if they are from sixteen
                            * strips */
};

struct cpu_tuning cpu_tuning(void);

/* For tests: replace the properties; NULL restores them. The properties change no bit of a float32
 * result. */
void cpu_tuning_pretend(const struct cpu_tuning *tuning);

/* --- kernels ---------------------------------------------------------------------------------- */

struct kernel_shape {
    int m, n, k;
    int a_stride, b_stride, c_stride; /* elements from one row to the next */
    int accumulate;                   /* 0: C = B · A, 1: C += B · A */
    int prefetch;                     /* 0: no prefetch; i: prefetch 1/i of the A of the
                                       * next call */
    int pairs;  /* 1: the elements of A and B are pairs of bf16 numbers, and m is PAIR_COLUMNS; 0:
                 * floats */
    int panels; /* 1: A is panels of floats, one after the other, and n is 1
                   (kernels_read_in_order) */
};

/* libxsmm's calling convention: the memory at the last three arguments may be prefetched. */
typedef void kernel_code(const void *a, const void *b, float *c, const void *next_a,
                         const void *next_b, const float *next_c);

/* The type of a kernel that is written in C; kernels may prefetch from `next_a`. */
typedef void kernel_body(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                         const void *next_a);

struct kernel {
    struct kernel_shape shape;
    kernel_code *code; /* machine code; NULL: `body` computes the product */
    kernel_body *body;
};

enum {
    KERNELS_AT_ONCE = 64
}; /* maximum number of kernels that stay valid together after one
                                * kernels_begin */

struct kernels; /* a table of the kernels fetched so far; when it is full, all are removed */

/* Make an empty table for this processor, or for the smaller instruction set that LIBXSMM_TARGET
 * names. */
int kernels_open(struct kernels **kernels, struct err *err);
void kernels_free(struct kernels *kernels);

/* Begin to fetch kernels that are used together. Kernels fetched before this call may be invalid
 * after it. */
void kernels_begin(struct kernels *kernels);

/* Get the kernel of a shape, for about `work` multiply-adds. If generated code is best, it is
 * generated as soon as the shape's total work is worth it; for pairs, and after kernels_write_all,
 * it is generated at once. Not thread-safe. */
void kernels_get(struct kernels *kernels, struct kernel *kernel, const struct kernel_shape *shape,
                 double work);
void kernels_write_all(struct kernels *kernels);

/* For messages. kernels_target: "avx512", "avx2", "neon" or "c". kernels_library: the library that
 * generates code, with its version, or NULL if there is none. */
const char *kernels_target(struct kernels *kernels);
const char *kernels_library(void);

/* True if kernels of panels of floats spread their prefetches evenly over a product. */
bool kernels_prefetch_evenly(const struct kernels *kernels);

/* True if one row is best multiplied by several panels, in the order of their addresses. */
bool kernels_read_in_order(const struct kernels *kernels);

/* How numbers in bf16 are multiplied. */
enum pair_way {
    PAIRS_NONE,     /* no kernel of pairs: numbers are widened and multiplied as float32 */
    PAIRS_BY_DOT,   /* libxsmm's kernels with vdpbf16ps (see TARGET_BF16) */
    PAIRS_BY_TILES, /* kernels with AMX instructions (tiles_amx) */
    PAIR_WAYS,
};

/* kernels_pair_way: how `kernels` multiply pairs, chosen at the first call. pair_way_name: the name
 * of a way: "float32", "vdpbf16ps" or "amx". */
enum pair_way kernels_pair_way(struct kernels *kernels);
const char *pair_way_name(enum pair_way way);

/* C (+)= B · A, of floats or of pairs (uint32_t). `next_a` is the A of the next call, which is
 * prefetched, or any readable address. */
void kernel_call(const struct kernel *kernel, const void *a, const void *b, float *c,
                 const void *next_a);

/* --- kernels in C ----------------------------------------------------------------------------- */

/* Kernels of floats in plain C. floats_softly computes fused multiply-adds without an instruction
 * for them (soft_fmaf). */
kernel_body floats_plain;
kernel_body floats_softly;

struct number_rows;

/* Loops with the vectors of one instruction set (vectors.h). All members are NULL or 0 if the
 * compiler lacks the instruction set. */
struct vector_loops {
    /* On arm64, A may be any matrix; on x86-64 it is a panel without gaps whose number of columns
     * is a multiple of PANEL_FLOATS, or several panels of PANEL_FLOATS columns (shape.panels). */
    kernel_body *floats;

    /* `transpose` and `multiply` read LANES rows that are not quantised (weight.h), and return how
     * many numbers of each row they have used. transpose: to[i · stride + row] = number i of a row.
     * multiply: sums[t][row] += x[t] · row, each sum one chain, for at most `rows_most` rows of x,
     * whose sums stay in registers. */
    size_t (*transpose)(float *to, size_t stride, const struct number_rows *rows, size_t count);
    size_t (*multiply)(float (*sums)[LANES], struct matrix x, const struct number_rows *rows);
    size_t rows_most;

    /* y = x · QUANT_COLUMNS rows of `count` packed numbers (weight.h). If x is NULL, copy the
     * numbers: y[i · columns + row] = number i of a row. */
    void (*quants)(float *y, size_t columns, const float *x, const char *strip, size_t count,
                   struct dtype_packing packing);
};

enum { PANEL_FLOATS = 32, QUANT_COLUMNS = 32 };
enum vector_form { VECTORS_AVX512, VECTORS_AVX2, VECTORS_NEON, VECTOR_FORMS };
extern const struct vector_loops vectors_avx512, vectors_avx2, vectors_neon;

/* vectors_find: the loops of a form. vectors_best: the loops with the longest vectors. Both return
 * NULL if this processor has no such loops. */
const struct vector_loops *vectors_find(enum vector_form form);
const struct vector_loops *vectors_best(void);

/* tiles_amx multiplies pairs with AMX, which tiles_ask must request from the operating system
 * first; tiles_ask returns false if AMX is refused or missing. A sum adds TILE_PAIRS pairs at a
 * time: the sum of their first products plus the sum of their second products. */
enum { TILE_PAIRS = 16 };
kernel_body tiles_amx;
bool tiles_ask(void);
