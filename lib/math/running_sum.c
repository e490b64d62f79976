#include "math/running_sum.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "math/avx512.h"
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

/* --- Σ φ(k) vᵀ, some of its columns ----------------------------------------------------------- */

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

enum { TOKENS = 4, TILE = 2 * LANES }; /* of a step: the sums are read and written once for all */

/* For TILE columns of sums, y and v, tokens in turn, of which there are a multiple of TOKENS. */
struct tile {
    struct matrix sums, y, q, k, v;
};

/* TOKENS of them, from the first on. */
FOR_EACH_ISA
static void scan_plain(const struct tile *tile, size_t first)
{
    float asked[TOKENS][TILE] = {{0}};
    struct matrix k = matrix_rows(tile->k, first, TOKENS);
    struct matrix q = matrix_rows(tile->q, first, TOKENS);
    struct matrix v = matrix_rows(tile->v, first, TOKENS);
    for (size_t i = 0; i < tile->sums.rows; i++) {
        float *row = tile->sums.data + i * tile->sums.stride;
        for (size_t t = 0; t < TOKENS; t++)
            for (size_t j = 0; j < TILE; j++) {
                row[j] = fmaf(k.data[t * k.stride + i], v.data[t * v.stride + j], row[j]);
                asked[t][j] = fmaf(q.data[t * q.stride + i], row[j], asked[t][j]);
            }
    }
    for (size_t t = 0; t < TOKENS; t++)
        memcpy(tile->y.data + (first + t) * tile->y.stride, asked[t], sizeof *asked);
}

#ifdef AVX512

/* The same; compilers leave in memory what fits into registers. */
IN_AVX512 static void scan_avx512(const struct tile *tile, size_t first)
{
    enum { PARTS = TILE / LANES };
    __m512 values[TOKENS][PARTS];
    __m512 asked[TOKENS][PARTS];
    const float *k = tile->k.data + first * tile->k.stride;
    const float *q = tile->q.data + first * tile->q.stride;
    for (size_t t = 0; t < TOKENS; t++)
        for (size_t part = 0; part < PARTS; part++) {
            const float *v = tile->v.data + (first + t) * tile->v.stride;
            values[t][part] = _mm512_loadu_ps(v + part * LANES);
            asked[t][part] = _mm512_setzero_ps();
        }
    for (size_t i = 0; i < tile->sums.rows; i++) {
        float *to = tile->sums.data + i * tile->sums.stride;
        __m512 row[PARTS] = {_mm512_loadu_ps(to), _mm512_loadu_ps(to + LANES)};
#pragma GCC unroll 4
        for (size_t t = 0; t < TOKENS; t++) {
            __m512 add = _mm512_set1_ps(k[t * tile->k.stride + i]);
            __m512 ask = _mm512_set1_ps(q[t * tile->q.stride + i]);
#pragma GCC unroll 2
            for (size_t part = 0; part < PARTS; part++) {
                row[part] = _mm512_fmadd_ps(add, values[t][part], row[part]);
                asked[t][part] = _mm512_fmadd_ps(ask, row[part], asked[t][part]);
            }
        }
        _mm512_storeu_ps(to, row[0]);
        _mm512_storeu_ps(to + LANES, row[1]);
    }
    for (size_t t = 0; t < TOKENS; t++)
        for (size_t part = 0; part < PARTS; part++)
            _mm512_storeu_ps(tile->y.data + (first + t) * tile->y.stride + part * LANES,
                             asked[t][part]);
}
#else
static void scan_avx512(const struct tile *tile, size_t first)
{
    scan_plain(tile, first);
}
#endif

static struct matrix sums_of(const struct running_sum *sum)
{
    return (struct matrix){sum->values, sum->dk, sum->dv, sum->dv};
}

static const float *row_of(struct matrix matrix, size_t row)
{
    return matrix.data + row * matrix.stride;
}

/* Tokens one after the other. */
static void scan_rows(struct matrix sums, struct matrix y, struct matrix q, struct matrix k,
                      struct matrix v)
{
    for (size_t t = 0; t < k.rows; t++) {
        add_token(sums, row_of(k, t), row_of(v, t));
        row_times_matrix(y.data + t * y.stride, row_of(q, t), sums);
    }
}

/* A multiple of TOKENS: whole tiles of columns, and what is left of them. */
static void scan_steps(struct matrix sums, struct matrix y, struct matrix q, struct matrix k,
                       struct matrix v)
{
    size_t whole = sums.columns / TILE * TILE;
    size_t rest = sums.columns - whole;
    bool wide = has_avx512();
    for (size_t column = 0; column < whole; column += TILE) {
        const struct tile tile = {matrix_columns(sums, column, TILE),
                                  matrix_columns(y, column, TILE), q, k,
                                  matrix_columns(v, column, TILE)};
        for (size_t first = 0; first < k.rows; first += TOKENS)
            (wide ? scan_avx512 : scan_plain)(&tile, first);
    }
    if (rest)
        scan_rows(matrix_columns(sums, whole, rest), matrix_columns(y, whole, rest), q, k,
                  matrix_columns(v, whole, rest));
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
static void scan_total_plain(float *total, float *totals, struct matrix q, struct matrix k)
{
    size_t rows = k.rows > q.rows ? k.rows : q.rows;
    for (size_t t = 0; t < rows; t++) {
        if (k.rows)
            add_to_total(total, k.data + t * k.stride, k.columns);
        if (q.rows)
            totals[t] = dot(q.data + t * q.stride, total, q.columns);
    }
}

enum { USUAL = 4 * LANES }; /* columns of most heads: as many stay in registers */

#ifdef AVX512

/* The same, of USUAL columns, with as many queries as keys. */
IN_AVX512 static void scan_usual(float *total, float *totals, struct matrix q, struct matrix k)
{
    enum { PARTS = USUAL / LANES };
    __m512 sum[PARTS];
    for (size_t part = 0; part < PARTS; part++)
        sum[part] = _mm512_loadu_ps(total + part * LANES);
    for (size_t t = 0; t < k.rows; t++) {
        const float *key = k.data + t * k.stride;
        const float *query = q.data + t * q.stride;
        __m512 lanes = _mm512_setzero_ps();
#pragma GCC unroll 4
        for (size_t part = 0; part < PARTS; part++) {
            sum[part] = _mm512_add_ps(sum[part], _mm512_loadu_ps(key + part * LANES));
            lanes = _mm512_fmadd_ps(_mm512_loadu_ps(query + part * LANES), sum[part], lanes);
        }
        totals[t] = add_lanes_avx512(lanes);
    }
    for (size_t part = 0; part < PARTS; part++)
        _mm512_storeu_ps(total + part * LANES, sum[part]);
}
#else
static void scan_usual(float *total, float *totals, struct matrix q, struct matrix k)
{
    scan_total_plain(total, totals, q, k);
}
#endif

static void scan_total(float *total, float *totals, struct matrix q, struct matrix k)
{
    bool usual = k.columns == USUAL && k.rows == q.rows && has_avx512();
    (usual ? scan_usual : scan_total_plain)(total, totals, q, k);
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
    struct matrix sums = sums_of(sum);
    size_t whole = phi_k.rows / TOKENS * TOKENS;
    size_t rest = phi_k.rows - whole;
    scan_steps(sums, y, phi_q, matrix_rows(phi_k, 0, whole), v);
    scan_rows(sums, matrix_rows(y, whole, rest), matrix_rows(phi_q, whole, rest),
              matrix_rows(phi_k, whole, rest), matrix_rows(v, whole, rest));
    scan_total(total_of(sum), totals, phi_q, phi_k);
}
