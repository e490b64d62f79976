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

/* --- Σ φ(k) vᵀ -------------------------------------------------------------------------------- */

FOR_EACH_ISA
static void add_token(struct matrix sums, const float *restrict k, const float *restrict v)
{
    float *restrict to = sums.data;
    for (size_t i = 0; i < sums.rows; i++, to += sums.stride)
        for (size_t j = 0; j < sums.columns; j++)
            to[j] = fmaf(k[i], v[j], to[j]);
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

static struct matrix sums_of(const struct running_sum *sum)
{
    return (struct matrix){sum->values, sum->dk, sum->dv, sum->dv};
}

static const float *row_of(struct matrix matrix, size_t row)
{
    return matrix.data + row * matrix.stride;
}

/* --- Σ φ(k) ----------------------------------------------------------------------------------- */

static inline void add_to_total(float *restrict total, const float *restrict k, size_t count)
{
    for (size_t i = 0; i < count; i++)
        total[i] += k[i];
}

static inline float dot(const float *x, const float *y, size_t count)
{
    float lanes[LANES] = {0};
    FOR_LANES(count, lanes[lane] = fmaf(x[i], y[i], lanes[lane]));
    return add_lanes(lanes);
}

/* Keys are added to the total, queries multiply it, each after its own key; no rows: there are
 * none. */
FOR_EACH_ISA
static void scan_total(float *total, float *totals, struct matrix q, struct matrix k)
{
    size_t rows = k.rows > q.rows ? k.rows : q.rows;
    for (size_t t = 0; t < rows; t++) {
        if (k.rows)
            add_to_total(total, k.data + t * k.stride, k.columns);
        if (q.rows)
            totals[t] = dot(q.data + t * q.stride, total, q.columns);
    }
}

static float *total_of(const struct running_sum *sum)
{
    return sum->values + sum->dk * sum->dv;
}

/* --- both ------------------------------------------------------------------------------------- */

void running_sum_add(const struct running_sum *sum, struct matrix phi_k, struct matrix v)
{
    for (size_t t = 0; t < phi_k.rows; t++)
        add_token(sums_of(sum), row_of(phi_k, t), row_of(v, t));
    scan_total(total_of(sum), NULL, (struct matrix){0}, phi_k);
}

void running_sum_query(const struct running_sum *sum, struct matrix y, float *totals,
                       struct matrix phi_q)
{
    for (size_t t = 0; t < phi_q.rows; t++)
        row_times_matrix(y.data + t * y.stride, row_of(phi_q, t), sums_of(sum));
    scan_total(total_of(sum), totals, phi_q, (struct matrix){0});
}

void running_sum_scan(const struct running_sum *sum, struct matrix y, float *totals,
                      struct matrix phi_q, struct matrix phi_k, struct matrix v)
{
    for (size_t t = 0; t < phi_k.rows; t++) {
        add_token(sums_of(sum), row_of(phi_k, t), row_of(v, t));
        row_times_matrix(y.data + t * y.stride, row_of(phi_q, t), sums_of(sum));
    }
    scan_total(total_of(sum), totals, phi_q, phi_k);
}
