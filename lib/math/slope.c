#include "math/slope.h"

#include <math.h>
#include <stddef.h>

#include "math/exp.h"
#include "math/isa.h"

/* 1 / (1 + e^-x) */
static inline float logistic(float x)
{
    return 1.0f / (1.0f + exp_float(-x));
}

/* x · s(u) with s = logistic and u = 2√(2/π) (x + 0.044715 x³): s + x · s (1 - s) · u' */
static inline float gelu_new(float x)
{
    const float twice_root = 1.5957691216f; /* 2 √(2/π) */
    float square = 0.044715f * x * x;
    float s = logistic(twice_root * x * (1.0f + square));
    return fmaf(x * (s * (1.0f - s)), twice_root * fmaf(3.0f, square, 1.0f), s);
}

static inline float gelu(float x)
{
    const float root = 0.3989422804f; /* 1 / √(2π) */
    return fmaf(x * root, exp_float(-0.5f * x * x), 0.5f * erfcf(-x * 0.70710678f));
}

static inline float relu(float x)
{
    return x > 0 ? 1.0f : 0.0f;
}

static inline float silu(float x)
{
    float s = logistic(x);
    return fmaf(x * s, 1.0f - s, s);
}

static inline float tanh_slope(float x)
{
    float t = tanhf(x);
    return fmaf(-t, t, 1.0f);
}

static inline float quick_gelu(float x)
{
    float s = logistic(1.702f * x);
    return fmaf(1.702f * x * s, 1.0f - s, s);
}

/* Each as a function of its own that the compiler can turn into vector code. */
#define DEFINE_ROWS(curve)                                            \
    FOR_EACH_ISA                                                      \
    static void curve##_rows(float *dy, const float *x, size_t count) \
    {                                                                 \
        for (size_t i = 0; i < count; i++)                            \
            dy[i] *= curve(x[i]);                                     \
    }

DEFINE_ROWS(gelu_new)
DEFINE_ROWS(gelu)
DEFINE_ROWS(relu)
DEFINE_ROWS(silu)
DEFINE_ROWS(tanh_slope)
DEFINE_ROWS(quick_gelu)

static void (*const slopes[ACTIVATION_COUNT])(float *dy, const float *x, size_t count) = {
    [ACTIVATION_GELU_NEW] = gelu_new_rows, [ACTIVATION_GELU] = gelu_rows,
    [ACTIVATION_RELU] = relu_rows,         [ACTIVATION_SILU] = silu_rows,
    [ACTIVATION_TANH] = tanh_slope_rows,   [ACTIVATION_QUICK_GELU] = quick_gelu_rows,
};

void activate_backward(struct matrix dy, struct matrix x, enum activation activation)
{
    if (!slopes[activation])
        return;
    for (size_t row = 0; row < dy.rows; row++)
        slopes[activation](dy.data + row * dy.stride, x.data + row * x.stride, dy.columns);
}
