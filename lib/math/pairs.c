/* pairs.c: products of pairs, each element a chain in the order of vdpbf16ps: of a pair the second
 * product first, subnormal numbers 0. */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "math/bf16.h"
#include "math/flush.h"
#include "math/isa.h"
#include "math/kernel_body.h"

/* --- in plain C ------------------------------------------------------------------------------- */

/* c += a pair of B times a row of A. */
FOR_EACH_ISA
static void add_pairs(float *restrict c, uint32_t b, const uint32_t *restrict a, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float sum =
            flushed_fma(bf16_flushed_second(b), bf16_flushed_second(a[i]), flush_subnormal(c[i]));
        c[i] = flushed_fma(bf16_flushed_first(b), bf16_flushed_first(a[i]), sum);
    }
}

void pairs_plain(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                 const void *next_a)
{
    const uint32_t *rows = b;
    (void)next_a;
    for (int row = 0; row < shape->n; row++, rows += shape->b_stride, c += shape->c_stride) {
        if (!shape->accumulate)
            memset(c, 0, (size_t)shape->m * sizeof *c);
        for (int i = 0; i < shape->k; i++)
            add_pairs(c, rows[i], (const uint32_t *)a + (size_t)i * (size_t)shape->a_stride,
                      (size_t)shape->m);
    }
}

/* --- widened in registers --------------------------------------------------------------------- */

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

enum {
    ROWS = 4,         /* that are summed side by side, */
    WIDTH_MAX = 64,   /* and columns, with AVX-512, */
    LINE = 16,        /* or with AVX2: as many as a cache line holds */
    MANY = 8,         /* rows: more than these share what is widened, */
    BLOCK_ROWS = 64,  /* so many and */
    BLOCK_PAIRS = 64, /* so many at a time */
};

/* Rows and columns of C, and the A of the next call, which may be prefetched. */
struct part {
    const struct kernel_shape *shape;
    const uint32_t *a, *b;
    float *c;
    const char *next; /* NULL: it is not */
};

/* With numbers that are known, the sums stay in registers. */
static inline void add_tile(const struct part *part, size_t rows, size_t columns)
{
    const struct kernel_shape *shape = part->shape;
    size_t a_stride = (size_t)shape->a_stride;
    size_t b_stride = (size_t)shape->b_stride;
    size_t c_stride = (size_t)shape->c_stride;
    const uint32_t *restrict a = part->a;
    float sums[ROWS][WIDTH_MAX];
    for (size_t t = 0; t < rows; t++)
        for (size_t i = 0; i < columns; i++)
            sums[t][i] = shape->accumulate ? part->c[t * c_stride + i] : 0.0f;
    for (size_t k = 0; k < (size_t)shape->k; k++, a += a_stride) {
        for (size_t i = 0; part->next && i < columns; i += LINE)
            __builtin_prefetch(part->next + (k * a_stride + i) * sizeof *a);
        for (size_t t = 0; t < rows; t++) {
            float second = bf16_second(part->b[t * b_stride + k]);
            float first = bf16_first(part->b[t * b_stride + k]);
            for (size_t i = 0; i < columns; i++)
                sums[t][i] =
                    fmaf(first, bf16_first(a[i]), fmaf(second, bf16_second(a[i]), sums[t][i]));
        }
    }
    for (size_t t = 0; t < rows; t++)
        for (size_t i = 0; i < columns; i++)
            part->c[t * c_stride + i] = sums[t][i];
}

/* All rows of some columns; the first of them prefetch. */
static inline void add_columns(struct part part, size_t columns)
{
    size_t n = (size_t)part.shape->n;
    size_t row = 0;
    for (; row + ROWS <= n; row += ROWS, part.next = NULL) {
        add_tile(&part, ROWS, columns);
        part.b += ROWS * (size_t)part.shape->b_stride;
        part.c += ROWS * (size_t)part.shape->c_stride;
    }
    for (; row < n; row++, part.next = NULL) {
        add_tile(&part, 1, columns);
        part.b += part.shape->b_stride;
        part.c += part.shape->c_stride;
    }
}

/* Columns from one on. */
static inline struct part part_at(const struct part *whole, size_t column)
{
    struct part part = *whole;
    part.a += column;
    part.c += column;
    part.next += part.next ? column * sizeof *part.a : 0;
    return part;
}

static inline void add_all(const struct part *whole, size_t column, size_t width)
{
    size_t m = (size_t)whole->shape->m;
    for (; column + width <= m; column += width)
        add_columns(part_at(whole, column), width);
    for (; column + LINE <= m; column += LINE)
        add_columns(part_at(whole, column), LINE);
    if (column < m)
        add_columns(part_at(whole, column), m - column);
}

__attribute__((noinline, target("arch=x86-64-v4"))) static void add_avx512(const struct part *part,
                                                                           size_t column)
{
    add_all(part, column, WIDTH_MAX);
}

__attribute__((noinline, target("arch=x86-64-v3"))) static void add_avx2(const struct part *part)
{
    add_all(part, 0, LINE);
}

/* The first columns, by floats: A and B are widened for many rows at a time. */
static void multiply_widened(const struct part *part, size_t columns)
{
    float rows[BLOCK_ROWS * 2 * BLOCK_PAIRS];
    struct kernel_shape block = *part->shape;
    size_t n = (size_t)part->shape->n;
    size_t k = (size_t)part->shape->k;
    block.m = (int)columns;
    block.b_stride = 2 * BLOCK_PAIRS;
    block.prefetch = 0;
    for (size_t row = 0; row < n; row += BLOCK_ROWS)
        for (size_t i = 0; i < k; i += BLOCK_PAIRS) {
            const uint32_t *b = part->b + row * (size_t)part->shape->b_stride + i;
            block.n = (int)num_min(BLOCK_ROWS, n - row);
            block.k = (int)num_min(BLOCK_PAIRS, k - i);
            block.accumulate = part->shape->accumulate || i > 0;
            for (size_t t = 0; t < (size_t)block.n; t++, b += part->shape->b_stride)
                bf16_widen_row(rows + t * 2 * BLOCK_PAIRS, b, (size_t)block.k);
            widened_avx512(&block, part->a + i * (size_t)block.a_stride, rows,
                           part->c + row * (size_t)block.c_stride, NULL);
        }
}

void pairs_avx512(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                  const void *next_a)
{
    struct part part = {shape, a, b, c, shape->prefetch ? next_a : NULL};
    size_t widened = shape->n > MANY ? (size_t)shape->m / PANEL_FLOATS * PANEL_FLOATS : 0;
    unsigned usual = flush_begin();
    if (widened)
        multiply_widened(&part, widened);
    if (widened < (size_t)shape->m)
        add_avx512(&part, widened);
    flush_end(usual);
}

void pairs_avx2(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                const void *next_a)
{
    unsigned usual = flush_begin();
    add_avx2(&(struct part){shape, a, b, c, shape->prefetch ? next_a : NULL});
    flush_end(usual);
}
#else
void pairs_avx512(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                  const void *next_a)
{
    pairs_plain(shape, a, b, c, next_a);
}

void pairs_avx2(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                const void *next_a)
{
    pairs_plain(shape, a, b, c, next_a);
}
#endif
