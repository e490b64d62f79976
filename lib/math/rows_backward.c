#include "math/rows.h"

#include <math.h>
#include <string.h>

#include "math/isa.h"
#include "math/portable_math.h"

/* Σ (x - a) · (y - b) */
FOR_EACH_ISA
static float sum_of_products(const float *x, float a, const float *y, float b, size_t count)
{
    float lanes[LANES] = {0};
    FOR_LANES(count, lanes[lane] = fmaf(x[i] - a, y[i] - b, lanes[lane]));
    return add_lanes(lanes);
}

/* One row of a norm. */
struct norm_row {
    const float *x, *dy, *scale;
    size_t count;
    float mean, factor; /* 1 / deviation */
    float offset;       /* of the scale */
};

/* Σ dy · scale, and Σ dy · scale · (x - mean) / deviation. */
FOR_EACH_ISA
static void norm_sums(const struct norm_row *row, float *plain, float *weighted)
{
    float one[LANES] = {0};
    float other[LANES] = {0};
    FOR_LANES(row->count, {
        float g = row->dy[i] * (row->offset + row->scale[i]);
        one[lane] += g;
        other[lane] = fmaf(g, (row->x[i] - row->mean) * row->factor, other[lane]);
    });
    *plain = add_lanes(one);
    *weighted = add_lanes(other);
}

FOR_EACH_ISA
static void norm_gradients(float *restrict dx, const struct norm_row *row, float plain,
                           float weighted)
{
    for (size_t i = 0; i < row->count; i++) {
        float unit = (row->x[i] - row->mean) * row->factor;
        float scale = row->offset + row->scale[i];
        dx[i] += row->factor * (row->dy[i] * scale - plain - unit * weighted);
    }
}

FOR_EACH_ISA
static void norm_parameters(float *restrict scale_sum, float *restrict shift_sum,
                            const struct norm_row *row)
{
    for (size_t i = 0; i < row->count; i++) {
        float unit = (row->x[i] - row->mean) * row->factor;
        scale_sum[i] = fmaf(row->dy[i], unit, scale_sum[i]);
        shift_sum[i] += row->dy[i];
    }
}

void norm_rows_backward(struct matrix dx, struct matrix dy, struct matrix x,
                        const struct norm *norm, float *scale_sum, float *shift_sum)
{
    float columns = (float)x.columns;
    for (size_t i = 0; i < x.rows; i++) {
        struct norm_row row = {.x = x.data + i * x.stride,
                               .dy = dy.data + i * dy.stride,
                               .scale = norm->scale,
                               .count = x.columns,
                               .offset = norm->offset};
        float plain = 0;
        float weighted = 0;
        if (!norm->rms)
            row.mean = sum_row(row.x, row.count) / columns;
        float squares = sum_of_products(row.x, row.mean, row.x, row.mean, row.count);
        row.factor = 1.0f / sqrtf(squares / columns + norm->epsilon);
        norm_sums(&row, &plain, &weighted);
        if (norm->rms) /* no mean that dx would have to keep */
            plain = 0;
        norm_gradients(dx.data + i * dx.stride, &row, plain / columns, weighted / columns);
        norm_parameters(scale_sum, shift_sum, &row);
    }
}

FOR_EACH_ISA
static void softmax_gradients(float *restrict dy, const float *restrict y, size_t count, float mean,
                              float factor)
{
    for (size_t i = 0; i < count; i++)
        dy[i] = factor * (y[i] * (dy[i] - mean));
}

void softmax_row_backward(float *dy, const float *y, size_t count, float factor)
{
    softmax_gradients(dy, y, count, sum_of_products(dy, 0.0f, y, 0.0f, count), factor);
}

bool cross_entropy_row(float *x, size_t count, uint32_t target, float factor, double *loss)
{
    double logit = (double)x[target];
    double log_sum = 0;
    if (!softmax_row_logsumexp(x, count, &log_sum))
        return false;
    *loss = log_sum - logit;
    scale_row(x, x, count, factor);
    x[target] -= factor;
    return true;
}
