#include "math/kernel.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "math/bf16.h"
#include "math/isa.h"
#include "math/portable_math.h"

enum { WIDE = 4 * LANES };

/* WIDE columns of one row, or LANES: with a number that is known, their sums stay in registers. */
static inline void add_columns(const struct kernel_shape *shape, const float *restrict a,
                               const float *restrict b, float *restrict c, int columns)
{
    float sums[WIDE] = {0};
    if (shape->accumulate)
        memcpy(sums, c, (size_t)columns * sizeof *c);
    for (int i = 0; i < shape->k; i++, a += shape->a_stride)
        for (int column = 0; column < columns; column++)
            sums[column] = fmaf(b[i], a[column], sums[column]);
    memcpy(c, sums, (size_t)columns * sizeof *c);
}

/* What is left of the row. */
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
static void multiply(const struct kernel_shape *shape, const float *a, const float *b, float *c)
{
    for (int row = 0; row < shape->n; row++, b += shape->b_stride, c += shape->c_stride) {
        int column = 0;
        for (; shape->m - column >= WIDE; column += WIDE)
            add_columns(shape, a + column, b, c + column, WIDE);
        for (; shape->m - column >= LANES; column += LANES)
            add_columns(shape, a + column, b, c + column, LANES);
        add_rest(shape, a + column, b, c + column, shape->m - column);
    }
}

FOR_EACH_ISA
static void add_softly(float *restrict c, float b, const float *restrict a, int columns)
{
    for (int column = 0; column < columns; column++)
        c[column] = soft_fmaf(b, a[column], c[column]);
}

static void multiply_softly(const struct kernel_shape *shape, const float *a, const float *b,
                            float *c)
{
    for (int row = 0; row < shape->n; row++, b += shape->b_stride, c += shape->c_stride) {
        if (!shape->accumulate)
            memset(c, 0, (size_t)shape->m * sizeof *c);
        for (int i = 0; i < shape->k; i++)
            add_softly(c, b[i], a + (size_t)i * (size_t)shape->a_stride, shape->m);
    }
}

/* What instructions for bf16 make of subnormal numbers. */
static inline float flushed(float x)
{
    return fabsf(x) < FLT_MIN ? copysignf(0.0f, x) : x;
}

static inline float first_of(uint32_t pair)
{
    return flushed(bf16_value((uint16_t)pair));
}

static inline float second_of(uint32_t pair)
{
    return flushed(bf16_value((uint16_t)(pair >> 16)));
}

/* c += a pair of B times a row of A. */
FOR_EACH_ISA
static void add_pairs(float *restrict c, uint32_t b, const uint32_t *restrict a, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float sum = flushed(fmaf(second_of(b), second_of(a[i]), flushed(c[i])));
        c[i] = flushed(fmaf(first_of(b), first_of(a[i]), sum));
    }
}

static void multiply_pairs(const struct kernel_shape *shape, const uint32_t *a, const uint32_t *b,
                           float *c)
{
    for (int row = 0; row < shape->n; row++, b += shape->b_stride, c += shape->c_stride) {
        if (!shape->accumulate)
            memset(c, 0, (size_t)shape->m * sizeof *c);
        for (int i = 0; i < shape->k; i++)
            add_pairs(c, b[i], a + (size_t)i * (size_t)shape->a_stride, (size_t)shape->m);
    }
}

void kernel_call_plain(const struct kernel *kernel, const void *a, const void *b, float *c)
{
    if (kernel->shape.pairs)
        multiply_pairs(&kernel->shape, a, b, c);
    else if (kernel->soft)
        multiply_softly(&kernel->shape, a, b, c);
    else
        multiply(&kernel->shape, a, b, c);
}
