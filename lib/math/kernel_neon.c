/* kernel_neon.c: kernels of floats for arm64. */
#include "math/kernel.h"

#ifdef __ARM_NEON
#include <arm_neon.h>
#include <math.h>

enum {
    VECTOR = 4,                 /* floats of a register */
    VECTORS = 4,                /* of columns, and */
    ROWS = 4,                   /* rows, of which the sums stay in registers: 16 of 32 */
    COLUMNS = VECTORS * VECTOR, /* a cache line of A */
};

#define ALWAYS_INLINE inline __attribute__((always_inline))
#define EACH(i, count) _Pragma("GCC unroll 4") for (int i = 0; i < (count); i++)

/* sums += column i of B, which are numbers of its rows, times row i of A. */
static ALWAYS_INLINE void add_product(float32x4_t sums[ROWS][VECTORS], const float *a,
                                      const float x[ROWS], int rows, int vectors)
{
    EACH(v, vectors)
    {
        float32x4_t weights = vld1q_f32(a + v * VECTOR);
        EACH(row, rows) sums[row][v] = vfmaq_n_f32(sums[row][v], weights, x[row]);
    }
}

/* A block of C; with numbers that are known, its sums stay in registers. */
static ALWAYS_INLINE void block(const struct kernel_shape *shape, const float *a, const float *b,
                                float *c, int rows, int vectors)
{
    float32x4_t sums[ROWS][VECTORS];
    int i = 0;
    EACH(row, rows)
    EACH(v, vectors)
    sums[row][v] =
        shape->accumulate ? vld1q_f32(c + row * shape->c_stride + v * VECTOR) : vdupq_n_f32(0);
    for (; i + VECTOR <= shape->k; i += VECTOR) {
        float32x4_t x[ROWS];
        EACH(row, rows) x[row] = vld1q_f32(b + row * shape->b_stride + i);
        EACH(step, VECTOR)
        {
            float numbers[ROWS] = {0};
            EACH(row, rows) numbers[row] = x[row][step];
            add_product(sums, a, numbers, rows, vectors);
            a += shape->a_stride;
        }
    }
    for (; i < shape->k; i++, a += shape->a_stride) {
        float numbers[ROWS] = {0};
        EACH(row, rows) numbers[row] = b[row * shape->b_stride + i];
        add_product(sums, a, numbers, rows, vectors);
    }
    EACH(row, rows)
    EACH(v, vectors) vst1q_f32(c + row * shape->c_stride + v * VECTOR, sums[row][v]);
}

/* Columns that fill no register. */
static void rest(const struct kernel_shape *shape, const float *a, const float *b, float *c,
                 int columns)
{
    for (int row = 0; row < shape->n; row++, b += shape->b_stride, c += shape->c_stride)
        for (int column = 0; column < columns; column++) {
            float sum = shape->accumulate ? c[column] : 0.0f;
            for (int i = 0; i < shape->k; i++)
                sum = fmaf(b[i], a[i * shape->a_stride + column], sum);
            c[column] = sum;
        }
}

/* Some columns of all rows: A is read again from the first cache. */
static ALWAYS_INLINE void strip(const struct kernel_shape *shape, const float *a, const float *b,
                                float *c, int vectors)
{
    int row = 0;
    for (; row + ROWS <= shape->n; row += ROWS)
        block(shape, a, b + row * shape->b_stride, c + row * shape->c_stride, ROWS, vectors);
    for (; row < shape->n; row++)
        block(shape, a, b + row * shape->b_stride, c + row * shape->c_stride, 1, vectors);
}

void floats_neon(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                 const void *next_a)
{
    const float *panel = a;
    (void)next_a;
    int column = 0;
    for (; column + COLUMNS <= shape->m; column += COLUMNS)
        strip(shape, panel + column, b, c + column, VECTORS);
    for (; column + VECTOR <= shape->m; column += VECTOR)
        strip(shape, panel + column, b, c + column, 1);
    rest(shape, panel + column, b, c + column, shape->m - column);
}
#else
void floats_neon(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                 const void *next_a)
{
    floats_plain(shape, a, b, c, next_a);
}
#endif
