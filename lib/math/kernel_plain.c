/* kernel_plain.c: kernels of floats in plain C. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "math/isa.h"
#include "math/kernel.h"
#include "math/soft_fmaf.h"

enum { WIDE = 4 * LANES };

/* Compute `columns` columns of a row of C. `columns` is a constant in each call, WIDE or LANES,
 * which keeps the sums in registers. */
static inline void add_columns(const struct kernel_shape *shape, const float *restrict a,
                               const float *restrict b, float *restrict c, int columns)
{
    float sums[WIDE] = {0};
    if (shape->accumulate)
        memcpy(sums, c, (size_t)columns * sizeof *c);
    for (int i = 0; i < shape->k; i++, a += shape->a_stride)
        fuse_columns(sums, b[i], a, columns);
    memcpy(c, sums, (size_t)columns * sizeof *c);
}

/* Compute the last columns of a row of C, fewer than LANES. */
static inline void add_rest(const struct kernel_shape *shape, const float *restrict a,
                            const float *restrict b, float *restrict c, int columns)
{
    if (!shape->accumulate)
        memset(c, 0, (size_t)columns * sizeof *c);
    for (int i = 0; i < shape->k; i++, a += shape->a_stride)
        for (int column = 0; column < columns; column++)
            c[column] = fmaf(b[i], a[column], c[column]);
}

FOR_EACH_ISA
void floats_plain(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                  const void *next_a)
{
    const float *panel = a, *x = b;
    (void)next_a;
    assert(!shape->panels);
    for (int row = 0; row < shape->n; row++, x += shape->b_stride, c += shape->c_stride) {
        int column = 0;
        for (; shape->m - column >= WIDE; column += WIDE)
            add_columns(shape, panel + column, x, c + column, WIDE);
        for (; shape->m - column >= LANES; column += LANES)
            add_columns(shape, panel + column, x, c + column, LANES);
        add_rest(shape, panel + column, x, c + column, shape->m - column);
    }
}

FOR_EACH_ISA
static void add_softly(float *restrict c, float b, const float *restrict a, int columns)
{
    for (int column = 0; column < columns; column++)
        c[column] = soft_fmaf(b, a[column], c[column]);
}

void floats_softly(const struct kernel_shape *shape, const void *a, const void *b, float *c,
                   const void *next_a)
{
    const float *rows = b;
    (void)next_a;
    for (int row = 0; row < shape->n; row++, rows += shape->b_stride, c += shape->c_stride) {
        if (!shape->accumulate)
            memset(c, 0, (size_t)shape->m * sizeof *c);
        for (int i = 0; i < shape->k; i++)
            add_softly(c, rows[i], (const float *)a + (size_t)i * (size_t)shape->a_stride,
                       shape->m);
    }
}
