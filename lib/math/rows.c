#include "math/rows.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "math/isa.h"
#include "math/portable_math.h"

FOR_EACH_ISA
float sum_row(const float *x, size_t count)
{
    float lanes[LANES] = {0};
    FOR_LANES(count, lanes[lane] += x[i]);
    return add_lanes(lanes);
}

/* Σ (x - mean)². */
FOR_EACH_ISA
static float sum_of_squares(const float *x, size_t count, float mean)
{
    float lanes[LANES] = {0};
    FOR_LANES(count, lanes[lane] += (x[i] - mean) * (x[i] - mean));
    return add_lanes(lanes);
}

FOR_EACH_ISA
static void normalise(float *y, const float *x, size_t count, float mean, float factor,
                      const struct norm *norm)
{
    for (size_t i = 0; i < count; i++)
        y[i] = (x[i] - mean) * factor * (norm->offset + norm->scale[i]);
    for (size_t i = 0; norm->shift && i < count; i++)
        y[i] += norm->shift[i];
}

void norm_rows(struct matrix y, struct matrix x, const struct norm *norm)
{
    float columns = (float)x.columns;
    for (size_t row = 0; row < x.rows; row++) {
        const float *in = x.data + row * x.stride;
        float mean = norm->rms ? 0 : sum_row(in, x.columns) / columns;
        float variance = sum_of_squares(in, x.columns, mean) / columns;
        float factor = 1.0f / sqrtf(variance + norm->epsilon);
        normalise(y.data + row * y.stride, in, x.columns, mean, factor, norm);
    }
}

FOR_EACH_ISA
void multiply_rows(struct matrix y, struct matrix x)
{
    for (size_t row = 0; row < y.rows; row++, y.data += y.stride, x.data += x.stride)
        for (size_t i = 0; i < y.columns; i++)
            y.data[i] *= x.data[i];
}

FOR_EACH_ISA
void cap_row(float *y, size_t count, float cap)
{
    for (size_t i = 0; i < count; i++)
        y[i] = cap * tanh_float(y[i] / cap);
}

void copy_rows(struct matrix y, struct matrix x)
{
    for (size_t row = 0; row < y.rows; row++)
        memcpy(y.data + row * y.stride, x.data + row * x.stride, y.columns * sizeof *y.data);
}

FOR_EACH_ISA
void add_rows(struct matrix y, struct matrix x)
{
    for (size_t row = 0; row < y.rows; row++, y.data += y.stride, x.data += x.stride)
        for (size_t i = 0; i < y.columns; i++)
            y.data[i] += x.data[i];
}

FOR_EACH_ISA
void add_to_row(float *restrict y, const float *restrict x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        y[i] += x[i];
}

void sum_columns(float *total, struct matrix x)
{
    for (size_t row = 0; row < x.rows; row++)
        add_to_row(total, x.data + row * x.stride, x.columns);
}

FOR_EACH_ISA
void add_scaled_row(float *restrict y, const float *restrict x, size_t count, float factor,
                    const float *later)
{
    enum { STEP = 4 * LANES };
    size_t whole = count / STEP * STEP;
    for (size_t i = 0; i < whole; i += STEP) {
        for (size_t line = 0; line < STEP; line += LANES)
            __builtin_prefetch(later + i + line);
        for (size_t lane = 0; lane < STEP; lane++)
            y[i + lane] = fmaf(factor, x[i + lane], y[i + lane]);
    }
    for (size_t i = whole; i < count; i++)
        y[i] = fmaf(factor, x[i], y[i]);
}

FOR_EACH_ISA
void scale_row(float *y, const float *x, size_t count, float factor)
{
    for (size_t i = 0; i < count; i++)
        y[i] = x[i] * factor;
}

/* Is the exponent of any element the one of infinities and NaN? */
FOR_EACH_ISA
static bool any_special(const float *x, size_t count)
{
    const uint32_t exponent = 0x7f800000;
    uint32_t special = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = 0;
        memcpy(&bits, &x[i], sizeof bits);
        special |= (bits & exponent) == exponent;
    }
    return special != 0;
}

size_t first_nonfinite(const float *x, size_t count)
{
    if (!any_special(x, count))
        return count;
    size_t i = 0;
    while (isfinite(x[i]))
        i++;
    return i;
}
