#include "math/activation.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "math/exp.h"
#include "math/isa.h"

static inline float gelu_new(float x)
{
    /* (1 + tanh u) / 2 = 1 / (1 + e^-2u), which loses nothing where tanh is near -1 */
    const float twice_root = 1.5957691216f; /* 2 √(2/π) */
    float u = twice_root * x * fmaf(0.044715f * x, x, 1.0f);
    return x / (1.0f + exp_float(-u));
}

static inline float gelu(float x)
{
    return 0.5f * x * erfcf(-x * 0.70710678f);
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

enum { BLOCK = 32 }; /* columns: with a number that is known, loops have no rest */

/* Each curve as a function of its own that the compiler can turn into vector code. y may be x. */
#define DEFINE_ROWS(curve)                                                                    \
    static inline void curve##_row(float *y, const float *x, const float *bias, size_t count) \
    {                                                                                         \
        _Pragma("omp simd") for (size_t i = 0; i < count; i++) y[i] = curve(x[i] + bias[i]);  \
    }                                                                                         \
                                                                                              \
    FOR_EACH_ISA                                                                              \
    static void curve##_rows(struct matrix y, struct matrix x, const float *bias)             \
    {                                                                                         \
        bool usual = x.columns == BLOCK;                                                      \
        for (size_t row = 0; row < x.rows; row++, x.data += x.stride, y.data += y.stride) {   \
            if (usual)                                                                        \
                curve##_row(y.data, x.data, bias, BLOCK);                                     \
            else                                                                              \
                curve##_row(y.data, x.data, bias, x.columns);                                 \
        }                                                                                     \
    }

DEFINE_ROWS(itself)
DEFINE_ROWS(gelu_new)
DEFINE_ROWS(gelu)
DEFINE_ROWS(relu)
DEFINE_ROWS(silu)
DEFINE_ROWS(tanh_or_nan)
DEFINE_ROWS(quick_gelu)

static const struct activation_row {
    const char *name;
    enum activation activation;
    void (*rows)(struct matrix y, struct matrix x, const float *bias);
} activation_rows[] = {
    {"gelu_new", ACTIVATION_GELU_NEW, gelu_new_rows},
    {"gelu_pytorch_tanh", ACTIVATION_GELU_NEW, gelu_new_rows},
    {"gelu", ACTIVATION_GELU, gelu_rows},
    {"relu", ACTIVATION_RELU, relu_rows},
    {"silu", ACTIVATION_SILU, silu_rows},
    {"tanh", ACTIVATION_TANH, tanh_or_nan_rows},
    {"quick_gelu", ACTIVATION_QUICK_GELU, quick_gelu_rows},
};

enum { ROW_COUNT = sizeof activation_rows / sizeof *activation_rows };

bool activation_find(const char *name, enum activation *activation)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (strcmp(activation_rows[i].name, name) == 0) {
            *activation = activation_rows[i].activation;
            return true;
        }
    }
    return false;
}

static const struct activation_row none = {"none", ACTIVATION_NONE, itself_rows};

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

#define EIGHT -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f, -0.0f

/* Added to any number it leaves that number, the sign of 0 included. */
static const float nothing[BLOCK] = {EIGHT, EIGHT, EIGHT, EIGHT};

void activate(struct matrix y, struct matrix x, const float *bias, enum activation activation)
{
    const struct activation_row *row = row_of(activation);
    for (size_t column = 0; column < x.columns; column += BLOCK) {
        size_t rest = x.columns - column;
        size_t count = rest < BLOCK ? rest : BLOCK;
        row->rows(matrix_columns(y, column, count), matrix_columns(x, column, count),
                  bias ? bias + column : nothing);
    }
}
