#include "math/rows.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "math/exp.h"
#include "math/isa.h"

/* LANES sums side by side, then added pairwise: one order for every instruction set. */
static inline float add_lanes(float lanes[LANES])
{
    for (size_t width = LANES / 2; width > 0; width /= 2)
        for (size_t i = 0; i < width; i++)
            lanes[i] += lanes[i + width];
    return lanes[0];
}

FOR_EACH_ISA
static float sum(const float *x, size_t count)
{
    float lanes[LANES] = {0};
    size_t whole = count / LANES * LANES;
    for (size_t i = 0; i < whole; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            lanes[lane] += x[i + lane];
    for (size_t i = whole; i < count; i++)
        lanes[i - whole] += x[i];
    return add_lanes(lanes);
}

/* Σ (x - mean)². */
FOR_EACH_ISA
static float sum_of_squares(const float *x, size_t count, float mean)
{
    float lanes[LANES] = {0};
    size_t whole = count / LANES * LANES;
    for (size_t i = 0; i < whole; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            lanes[lane] += (x[i + lane] - mean) * (x[i + lane] - mean);
    for (size_t i = whole; i < count; i++)
        lanes[i - whole] += (x[i] - mean) * (x[i] - mean);
    return add_lanes(lanes);
}

FOR_EACH_ISA
static void normalise(float *y, const float *x, size_t count, float mean, float factor,
                      const struct norm *norm)
{
    for (size_t i = 0; i < count; i++)
        y[i] = (x[i] - mean) * factor * norm->scale[i] + norm->shift[i];
}

void layernorm_rows(struct matrix y, struct matrix x, const struct norm *norm)
{
    float columns = (float)x.columns;
    for (size_t row = 0; row < x.rows; row++) {
        const float *in = x.data + row * x.stride;
        float mean = sum(in, x.columns) / columns;
        float variance = sum_of_squares(in, x.columns, mean) / columns;
        float factor = 1.0f / sqrtf(variance + norm->epsilon);
        normalise(y.data + row * y.stride, in, x.columns, mean, factor, norm);
    }
}

FOR_EACH_ISA
static void add_row(float *restrict to, const float *restrict from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

void copy_rows(struct matrix y, struct matrix x)
{
    for (size_t row = 0; row < y.rows; row++)
        memcpy(y.data + row * y.stride, x.data + row * x.stride, y.columns * sizeof *y.data);
}

void add_rows(struct matrix y, struct matrix x)
{
    for (size_t row = 0; row < y.rows; row++)
        add_row(y.data + row * y.stride, x.data + row * x.stride, y.columns);
}

void add_to_rows(struct matrix y, const float *vector)
{
    for (size_t row = 0; row < y.rows; row++)
        add_row(y.data + row * y.stride, vector, y.columns);
}

FOR_EACH_ISA
void scale_row(float *y, const float *x, size_t count, float factor)
{
    for (size_t i = 0; i < count; i++)
        y[i] = x[i] * factor;
}

/* The largest element that is a number. */
FOR_EACH_ISA
static float largest(const float *x, size_t count)
{
    float lanes[LANES];
    for (size_t lane = 0; lane < LANES; lane++)
        lanes[lane] = -INFINITY;
    size_t whole = count / LANES * LANES;
    for (size_t i = 0; i < whole; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            lanes[lane] = x[i + lane] > lanes[lane] ? x[i + lane] : lanes[lane];
    for (size_t i = whole; i < count; i++)
        lanes[i - whole] = x[i] > lanes[i - whole] ? x[i] : lanes[i - whole];
    float max = lanes[0];
    for (size_t lane = 1; lane < LANES; lane++)
        max = lanes[lane] > max ? lanes[lane] : max;
    return max;
}

FOR_EACH_ISA
static void exponentials(float *x, size_t count, float max)
{
    for (size_t i = 0; i < count; i++)
        x[i] = exp_float(x[i] - max);
}

FOR_EACH_ISA
static void divide(float *x, size_t count, float divisor)
{
    for (size_t i = 0; i < count; i++)
        x[i] /= divisor;
}

bool softmax_row(float *x, size_t count)
{
    float max = largest(x, count);
    if (!isfinite(max))
        return false;
    exponentials(x, count, max);
    float total = sum(x, count); /* NaN where an element was: comparisons pass it over */
    if (!(total >= 1.0f) || isinf(total))
        return false;
    divide(x, count, total);
    return true;
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

size_t first_bad(const float *x, size_t count, bool infinite_ok)
{
    if (!any_special(x, count))
        return count;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(x[i]) && !(infinite_ok && x[i] == -INFINITY))
            return i;
    return count;
}
