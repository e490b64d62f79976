#include "math/rows.h"

#include <math.h>

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

void add_rows(struct matrix y, struct matrix x)
{
    for (size_t row = 0; row < y.rows; row++) {
        float *to = y.data + row * y.stride;
        const float *from = x.data + row * x.stride;
        for (size_t i = 0; i < y.columns; i++)
            to[i] += from[i];
    }
}

void add_to_rows(struct matrix y, const float *vector)
{
    for (size_t row = 0; row < y.rows; row++) {
        float *to = y.data + row * y.stride;
        for (size_t i = 0; i < y.columns; i++)
            to[i] += vector[i];
    }
}

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

bool softmax_row(float *x, size_t count)
{
    float max = largest(x, count);
    if (!isfinite(max))
        return false;
    exponentials(x, count, max);
    float total = sum(x, count); /* NaN where an element was: comparisons pass it over */
    if (!(total >= 1.0f) || isinf(total))
        return false;
    for (size_t i = 0; i < count; i++)
        x[i] /= total;
    return true;
}

size_t first_bad(const float *x, size_t count, bool infinite_ok)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(x[i]) && !(infinite_ok && x[i] == -INFINITY))
            return i;
    return count;
}
