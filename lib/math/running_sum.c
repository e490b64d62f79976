#include "math/running_sum.h"

#include <math.h>
#include <string.h>

#include "math/isa.h"
#include "math/portable_math.h"

size_t running_sum_size(size_t dk, size_t dv)
{
    return dk * dv + dk;
}

FOR_EACH_ISA
void phi_rows(struct matrix y, struct matrix x)
{
    for (size_t row = 0; row < x.rows; row++, y.data += y.stride, x.data += x.stride) {
        for (size_t i = 0; i < x.columns; i++) {
            float low = exp_negative(x.data[i]);
            y.data[i] = x.data[i] > 0.0f ? x.data[i] + 1.0f : low;
        }
    }
}

FOR_EACH_ISA
void row_times_matrix(float *restrict y, const float *restrict x, struct matrix matrix)
{
    enum { TILE = 4 * LANES }; /* columns whose results stay in registers */
    const float *restrict from = matrix.data;
    size_t whole = matrix.columns / TILE * TILE;
    for (size_t column = 0; column < whole; column += TILE) {
        float tile[TILE] = {0};
        for (size_t i = 0; i < matrix.rows; i++)
            for (size_t j = 0; j < TILE; j++)
                tile[j] = fmaf(x[i], from[i * matrix.stride + column + j], tile[j]);
        memcpy(y + column, tile, sizeof tile);
    }
    memset(y + whole, 0, (matrix.columns - whole) * sizeof *y);
    for (size_t i = 0; i < matrix.rows; i++)
        for (size_t j = whole; j < matrix.columns; j++)
            y[j] = fmaf(x[i], from[i * matrix.stride + j], y[j]);
}

FOR_EACH_ISA
void running_sum_add(const struct running_sum *sum, const float *restrict phi_k,
                     const float *restrict v)
{
    size_t dv = sum->dv;
    float *restrict to = sum->values;
    for (size_t i = 0; i < sum->dk; i++, to += dv)
        for (size_t j = 0; j < dv; j++)
            to[j] = fmaf(phi_k[i], v[j], to[j]);
    for (size_t i = 0; i < sum->dk; i++)
        to[i] += phi_k[i];
}

FOR_EACH_ISA
float running_sum_query(const struct running_sum *sum, float *y, const float *phi_q)
{
    const float *total = sum->values + sum->dk * sum->dv;
    float lanes[LANES] = {0};
    row_times_matrix(y, phi_q, (struct matrix){sum->values, sum->dk, sum->dv, sum->dv});
    FOR_LANES(sum->dk, lanes[lane] = fmaf(phi_q[i], total[i], lanes[lane]));
    return add_lanes(lanes);
}
