#include "math/activation.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "math/exp_avx512.h"
#include "math/isa.h"
#include "math/portable_math.h"

static inline float gelu_new(float x)
{
    /* (1 + tanh u) / 2 = 1 / (1 + e^-2u), which loses nothing where tanh is near -1 */
    const float twice_root = 1.5957691216f; /* 2 √(2/π) */
    float u = twice_root * x * fmaf(0.044715f * x, x, 1.0f);
    return x / (1.0f + exp_float(-u));
}

static inline float gelu(float x)
{
    return x * normal_share(x);
}

/* Where a curve is flat an infinity would end as a finite number. 0 · ∞ is NaN, which is found. */
static inline float relu(float x)
{
    return x < 0 ? 0.0f * x + 0.0f : x; /* + 0: not -0 */
}

static inline float silu(float x)
{
    return x / (1.0f + exp_float(-x));
}

static inline float tanh_or_nan(float x)
{
    return tanhf(x) + 0.0f * x;
}

static inline float quick_gelu(float x)
{
    return x / (1.0f + exp_float(-1.702f * x));
}

static inline float itself(float x)
{
    return x;
}

/* --- slopes ----------------------------------------------------------------------------------- */

/* 1 / (1 + e^-x) */
static inline float logistic(float x)
{
    return 1.0f / (1.0f + exp_float(-x));
}

/* x · s(u) with s = logistic and u = 2√(2/π) (x + 0.044715 x³): s + x · s (1 - s) · u' */
static inline float gelu_new_slope(float x)
{
    const float twice_root = 1.5957691216f; /* 2 √(2/π) */
    float square = 0.044715f * x * x;
    float s = logistic(twice_root * x * (1.0f + square));
    return fmaf(x * (s * (1.0f - s)), twice_root * fmaf(3.0f, square, 1.0f), s);
}

static inline float gelu_slope(float x)
{
    const float root = 0.3989422804f; /* 1 / √(2π) */
    return fmaf(x * root, exp_float(-0.5f * x * x), normal_share(x));
}

static inline float relu_slope(float x)
{
    return x > 0 ? 1.0f : 0.0f;
}

static inline float silu_slope(float x)
{
    float s = logistic(x);
    return fmaf(x * s, 1.0f - s, s);
}

static inline float tanh_or_nan_slope(float x)
{
    float t = tanhf(x);
    return fmaf(-t, t, 1.0f);
}

static inline float quick_gelu_slope(float x)
{
    float s = logistic(1.702f * x);
    return fmaf(1.702f * x * s, 1.0f - s, s);
}

/* --- rows ------------------------------------------------------------------------------------- */

enum { BLOCK = 32 }; /* columns: with a number that is known, loops have no rest */

#define EIGHT -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f

/* Added to any number it leaves that number, the sign of 0 included. */
static const float nothing[2 * BLOCK] = {EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT};

#define SIMD _Pragma("omp simd")

/* Each curve as a function of its own that the compiler can turn into vector code: `simd` is SIMD,
 * or nothing for a curve that calls the C library. y may be x. */
#define DEFINE_ROWS(curve, simd)                                                              \
    static inline void curve##_row(float *y, const float *x, const float *bias, size_t count) \
    {                                                                                         \
        simd for (size_t i = 0; i < count; i++) y[i] = curve(x[i] + bias[i]);                 \
    }                                                                                         \
                                                                                              \
    FOR_EACH_ISA                                                                              \
    static void curve##_rows(struct matrix y, struct matrix x, const float *bias)             \
    {                                                                                         \
        size_t step = bias ? BLOCK : 0;                                                       \
        size_t whole = x.columns / BLOCK * BLOCK;                                             \
        bias = bias ? bias : nothing;                                                         \
        for (size_t row = 0; row < x.rows; row++, x.data += x.stride, y.data += y.stride) {   \
            const float *added = bias;                                                        \
            for (size_t i = 0; i < whole; i += BLOCK, added += step)                          \
                curve##_row(y.data + i, x.data + i, added, BLOCK);                            \
            curve##_row(y.data + whole, x.data + whole, added, x.columns - whole);            \
        }                                                                                     \
    }

#define DEFINE_CURVE(curve, simd)                                         \
    DEFINE_ROWS(curve, simd)                                              \
    FOR_EACH_ISA                                                          \
    static void curve##_backward(float *dy, const float *x, size_t count) \
    {                                                                     \
        for (size_t i = 0; i < count; i++)                                \
            dy[i] *= curve##_slope(x[i]);                                 \
    }

DEFINE_ROWS(itself, SIMD)
DEFINE_CURVE(gelu_new, SIMD)
DEFINE_CURVE(gelu, SIMD)
DEFINE_CURVE(relu, SIMD)
DEFINE_CURVE(silu, SIMD)
DEFINE_CURVE(tanh_or_nan, )
DEFINE_CURVE(quick_gelu, SIMD)

/* --- swish: x / (1 + e^exponent(x)), in AVX-512 ----------------------------------------------- */

#ifdef AVX512

/* What the curves above take e to the power of, step for step, and so the same bits. */
typedef __m512 exponent_of(__m512 x);

STEP_IN_AVX512 __m512 gelu_new_exponent(__m512 x)
{
    const __m512 minus_twice_root = _mm512_set1_ps(-1.5957691216f);
    __m512 cube = _mm512_mul_ps(_mm512_set1_ps(0.044715f), x);
    cube = _mm512_fmadd_ps(cube, x, _mm512_set1_ps(1.0f));
    return _mm512_mul_ps(_mm512_mul_ps(minus_twice_root, x), cube);
}

STEP_IN_AVX512 __m512 silu_exponent(__m512 x)
{
    return _mm512_mul_ps(_mm512_set1_ps(-1.0f), x);
}

STEP_IN_AVX512 __m512 quick_gelu_exponent(__m512 x)
{
    return _mm512_mul_ps(_mm512_set1_ps(-1.702f), x);
}

/* Some vectors, as many as `width` of a row; both are constants wherever this is called. */
STEP_IN_AVX512 void swish(struct matrix y, struct matrix x, const float *bias,
                          exponent_of *exponent, int count, int width)
{
    __m512 from[EXP_VECTORS];
    __m512 power[EXP_VECTORS];
    for (int i = 0; i < count; i++) {
        size_t lane = (size_t)(i % width) * LANES;
        const float *place = x.data + (size_t)(i / width) * x.stride + lane;
        from[i] = _mm512_add_ps(_mm512_loadu_ps(place), _mm512_loadu_ps(bias + lane));
        power[i] = exponent(from[i]);
    }
    exp_float_avx512(power, count);
    for (int i = 0; i < count; i++) {
        size_t lane = (size_t)(i % width) * LANES;
        float *place = y.data + (size_t)(i / width) * y.stride + lane;
        __m512 divisor = _mm512_add_ps(_mm512_set1_ps(1.0f), power[i]);
        _mm512_storeu_ps(place, _mm512_div_ps(from[i], divisor));
    }
}

/* Columns in whole blocks: one of two rows each time, or two of the last row. */
STEP_IN_AVX512 void swish_all(struct matrix y, struct matrix x, const float *bias,
                              exponent_of *exponent)
{
    enum { ROWS = 2, VECTORS = BLOCK / LANES };
    size_t columns = x.columns;
    size_t row = 0;
    size_t column = 0;
    for (; row + ROWS <= x.rows; row += ROWS)
        for (column = 0; column < columns; column += BLOCK)
            swish(matrix_columns(matrix_rows(y, row, ROWS), column, BLOCK),
                  matrix_columns(matrix_rows(x, row, ROWS), column, BLOCK),
                  bias ? bias + column : nothing, exponent, ROWS * VECTORS, VECTORS);
    if (row == x.rows)
        return;
    struct matrix to = matrix_rows(y, row, 1);
    struct matrix from = matrix_rows(x, row, 1);
    for (column = 0; column + 2 * BLOCK <= columns; column += 2 * BLOCK)
        swish(matrix_columns(to, column, 2 * BLOCK), matrix_columns(from, column, 2 * BLOCK),
              bias ? bias + column : nothing, exponent, 2 * VECTORS, 2 * VECTORS);
    if (column < columns)
        swish(matrix_columns(to, column, BLOCK), matrix_columns(from, column, BLOCK),
              bias ? bias + column : nothing, exponent, VECTORS, VECTORS);
}

#define DEFINE_WIDE(curve)                                                                  \
    IN_AVX512 static void curve##_wide(struct matrix y, struct matrix x, const float *bias) \
    {                                                                                       \
        swish_all(y, x, bias, curve##_exponent);                                            \
    }

DEFINE_WIDE(gelu_new)
DEFINE_WIDE(silu)
DEFINE_WIDE(quick_gelu)

#else
#define gelu_new_wide NULL
#define silu_wide NULL
#define quick_gelu_wide NULL
#endif

/* --- the table -------------------------------------------------------------------------------- */

typedef void curve_rows(struct matrix y, struct matrix x, const float *bias);

static const struct activation_row {
    const char *name;
    enum activation activation;
    curve_rows *rows;
    void (*backward)(float *dy, const float *x, size_t count); /* NULL: the slope is 1 */
    curve_rows *wide; /* whole blocks, where there is AVX-512; NULL: as all others */
} activation_rows[] = {
    {"gelu_new", ACTIVATION_GELU_NEW, gelu_new_rows, gelu_new_backward, gelu_new_wide},
    {"gelu", ACTIVATION_GELU, gelu_rows, gelu_backward, NULL},
    {"relu", ACTIVATION_RELU, relu_rows, relu_backward, NULL},
    {"silu", ACTIVATION_SILU, silu_rows, silu_backward, silu_wide},
    {"tanh", ACTIVATION_TANH, tanh_or_nan_rows, tanh_or_nan_backward, NULL},
    {"quick_gelu", ACTIVATION_QUICK_GELU, quick_gelu_rows, quick_gelu_backward, quick_gelu_wide},
};

enum { ROW_COUNT = sizeof activation_rows / sizeof *activation_rows };

/* Other names that transformers has for these curves. They differ in the order of operations, and
 * gelu_fast in √(2/π) at its eleventh digit: in less than a float tells apart. */
static const struct other_name {
    const char *name;
    enum activation activation;
} other_names[] = {
    {"gelu_pytorch_tanh", ACTIVATION_GELU_NEW}, {"gelu_python_tanh", ACTIVATION_GELU_NEW},
    {"gelu_accurate", ACTIVATION_GELU_NEW},     {"gelu_fast", ACTIVATION_GELU_NEW},
    {"gelu_python", ACTIVATION_GELU},           {"swish", ACTIVATION_SILU},
};

enum { OTHER_COUNT = sizeof other_names / sizeof *other_names };

const char activation_names[] =
    "gelu_new, gelu_pytorch_tanh, gelu_python_tanh, gelu_accurate, gelu_fast, gelu, gelu_python, "
    "relu, silu, swish, tanh or quick_gelu";

bool activation_find(const char *name, enum activation *activation)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (strcmp(activation_rows[i].name, name) == 0) {
            *activation = activation_rows[i].activation;
            return true;
        }
    }
    for (size_t i = 0; i < OTHER_COUNT; i++) {
        if (strcmp(other_names[i].name, name) == 0) {
            *activation = other_names[i].activation;
            return true;
        }
    }
    return false;
}

static const struct activation_row none = {"none", ACTIVATION_NONE, itself_rows, NULL, NULL};

static const struct activation_row *row_of(enum activation activation)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (activation_rows[i].activation == activation)
            return &activation_rows[i];
    return &none;
}

const char *activation_name(enum activation activation)
{
    return row_of(activation)->name;
}

void activate(struct matrix y, struct matrix x, const float *bias, enum activation activation)
{
    const struct activation_row *curve = row_of(activation);
    size_t whole = curve->wide && has_avx512() ? x.columns / BLOCK * BLOCK : 0;
    size_t rest = x.columns - whole;
    if (whole)
        curve->wide(y, matrix_columns(x, 0, whole), bias);
    if (rest)
        curve->rows(matrix_columns(y, whole, rest), matrix_columns(x, whole, rest),
                    bias ? bias + whole : NULL);
}

void activate_backward(struct matrix dy, struct matrix x, enum activation activation)
{
    const struct activation_row *curve = row_of(activation);
    for (size_t row = 0; curve->backward && row < dy.rows; row++)
        curve->backward(dy.data + row * dy.stride, x.data + row * x.stride, dy.columns);
}
