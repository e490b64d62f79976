#include "math/activation.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/names.h"
#include "math/isa.h"
#include "math/portable_math.h"

static inline float gelu_new(float x)
{
    /* (1 + tanh(u / 2)) / 2 is computed as 1 / (1 + e^-u), which loses no digits if tanh is near
     * -1 */
    const float twice_root = 1.5957691216f; /* 2 √(2/π) */
    float u = twice_root * x * fmaf(0.044715f * x, x, 1.0f);
    return x / (1.0f + exp_float(-u));
}

static inline float gelu(float x)
{
    return x * normal_share(x);
}

/* max(0, x), but -infinity becomes NaN (0 · -infinity): NaN is reported as an error later, while 0
 * would hide the infinity. */
static inline float relu(float x)
{
    return x < 0 ? 0.0f * x + 0.0f : x; /* adding 0 changes -0 to 0 */
}

static inline float relu2(float x)
{
    return relu(x) * relu(x);
}

static inline float silu(float x)
{
    return x / (1.0f + exp_float(-x));
}

static inline float tanh_or_nan(float x)
{
    return tanh_float(x) + 0.0f * x;
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

/* The slope of x · s(u), s = logistic, u = 2√(2/π) (x + 0.044715 x³): s + x · s (1 - s) · u' */
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

static inline float relu2_slope(float x)
{
    return x > 0 ? 2.0f * x : 0.0f;
}

static inline float silu_slope(float x)
{
    float s = logistic(x);
    return fmaf(x * s, 1.0f - s, s);
}

static inline float tanh_or_nan_slope(float x)
{
    float t = tanh_float(x);
    return fmaf(-t, t, 1.0f);
}

static inline float quick_gelu_slope(float x)
{
    float s = logistic(1.702f * x);
    return fmaf(1.702f * x * s, 1.0f - s, s);
}

/* --- rows ------------------------------------------------------------------------------------- */

enum {
    BLOCK = 32
}; /* number of columns computed at a time: loops of a constant length need no
                      * remainder */

#define EIGHT -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f

/* For rows without a bias: adding -0 changes no number, not even the sign of 0. */
static const float nothing[2 * BLOCK] = {EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT};

#define SIMD _Pragma("omp simd")

/* Define the function that applies a curve to rows. `simd` is SIMD, which lets compilers vectorise
 * the loop, or nothing for a curve that calls the C library. y may be x. */
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
DEFINE_CURVE(relu2, SIMD)
DEFINE_CURVE(silu, SIMD)
DEFINE_CURVE(tanh_or_nan, )
DEFINE_CURVE(quick_gelu, SIMD)

/* --- the table -------------------------------------------------------------------------------- */

static const struct activation_row {
    const char *name, *formula;
    void (*rows)(struct matrix y, struct matrix x, const float *bias);
    void (*backward)(float *dy, const float *x, size_t count); /* dy *= the slope at x; NULL: the
                                                                * slope is 1 */
} activation_rows[] = {
    /* rows in the order of enum activation */
    {"none", "x", itself_rows, NULL},
    {"gelu_new", "x / 2 × (1 + tanh(√(2 / π) × (x + 0.044715 × x^3)))", gelu_new_rows,
     gelu_new_backward},
    {"gelu", "x / 2 × (1 + erf(x / √2))", gelu_rows, gelu_backward},
    {"relu", "max(0, x)", relu_rows, relu_backward},
    {"relu2", "max(0, x)^2", relu2_rows, relu2_backward},
    {"silu", "x / (1 + e^(-x))", silu_rows, silu_backward},
    {"tanh", "tanh(x)", tanh_or_nan_rows, tanh_or_nan_backward},
    {"quick_gelu", "x / (1 + e^(-1.702 × x))", quick_gelu_rows, quick_gelu_backward},
};

_Static_assert(sizeof activation_rows / sizeof *activation_rows == ACTIVATION_COUNT,
               "activation_rows: expected a row for each activation");

/* Other names of the activations in the library transformers. Some of its functions differ in the
 * order of operations, and its gelu_fast has ten digits of √(2/π), more than float32 holds. */
static const struct other_name {
    const char *name;
    enum activation activation;
} other_names[] = {
    {"gelu_pytorch_tanh", ACTIVATION_GELU_NEW}, {"gelu_python_tanh", ACTIVATION_GELU_NEW},
    {"gelu_accurate", ACTIVATION_GELU_NEW},     {"gelu_fast", ACTIVATION_GELU_NEW},
    {"gelu_python", ACTIVATION_GELU},           {"swish", ACTIVATION_SILU},
};

const char activation_names[] =
    "gelu_new, gelu_pytorch_tanh, gelu_python_tanh, gelu_accurate, gelu_fast, gelu, gelu_python, "
    "relu, relu2, silu, swish, tanh or quick_gelu";

bool activation_find(const char *name, enum activation *activation)
{
    const size_t other_count = sizeof other_names / sizeof *other_names;
    size_t row = 0;
    if (names_find(&row, NAMES(activation_rows + 1, ACTIVATION_COUNT - 1), name, strlen(name)))
        *activation = (enum activation)(row + 1); /* the names begin after "none" */
    else if (names_find(&row, NAMES(other_names, other_count), name, strlen(name)))
        *activation = other_names[row].activation;
    else
        return false;
    return true;
}

const char *activation_name(enum activation activation)
{
    return activation_rows[activation].name;
}

const char *activation_formula(enum activation activation)
{
    return activation_rows[activation].formula;
}

void activate(struct matrix y, struct matrix x, const float *bias, enum activation activation)
{
    activation_rows[activation].rows(y, x, bias);
}

FOR_EACH_ISA
void logistic_row(float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = logistic(x[i]);
}

void activate_xielu(struct matrix x, const struct xielu *p)
{
    double beta = (double)p->beta, epsilon = (double)p->epsilon;
    double a = log_double(1 + exp_double((double)p->positive));
    double b = beta + log_double(1 + exp_double((double)p->negative));
    for (size_t row = 0; row < x.rows; row++, x.data += x.stride)
        for (size_t i = 0; i < x.columns; i++) {
            double at = (double)x.data[i];
            double low = at < epsilon ? at : epsilon;
            double bent = at > 0 ? a * at * at : (exp_double(low) - 1 - at) * b;
            x.data[i] = (float)(bent + beta * at);
        }
}

void activate_backward(struct matrix dy, struct matrix x, enum activation activation)
{
    const struct activation_row *curve = &activation_rows[activation];
    for (size_t row = 0; curve->backward && row < dy.rows; row++)
        curve->backward(matrix_row(dy, row), matrix_row(x, row), dy.columns);
}
