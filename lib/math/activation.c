#include "math/activation.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "math/exp.h"
#include "math/isa.h"

FOR_EACH_ISA
static void gelu_new_row(float *x, size_t count)
{
    /* (1 + tanh u) / 2 = 1 / (1 + e^-2u), which loses nothing where tanh is near -1 */
    const float twice_root = 1.5957691216f; /* 2 √(2/π) */
    for (size_t i = 0; i < count; i++) {
        float u = twice_root * (x[i] + 0.044715f * x[i] * x[i] * x[i]);
        x[i] = x[i] / (1.0f + exp_float(-u));
    }
}

FOR_EACH_ISA
static void silu_row(float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = x[i] / (1.0f + exp_float(-x[i]));
}

FOR_EACH_ISA
static void quick_gelu_row(float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = x[i] / (1.0f + exp_float(-1.702f * x[i]));
}

static void gelu_row(float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = 0.5f * x[i] * erfcf(-x[i] * 0.70710678f);
}

/* Where a curve is flat an infinity would end as a finite number. 0 · ∞ is NaN, which is found. */
static void relu_row(float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = x[i] < 0 ? 0.0f * x[i] + 0.0f : x[i]; /* + 0: not -0 */
}

static void tanh_row(float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        x[i] = tanhf(x[i]) + 0.0f * x[i];
}

static const struct activation_row {
    const char *name;
    enum activation activation;
    void (*row)(float *x, size_t count);
} activation_rows[] = {
    {"gelu_new", ACTIVATION_GELU_NEW, gelu_new_row},
    {"gelu_pytorch_tanh", ACTIVATION_GELU_NEW, gelu_new_row},
    {"gelu", ACTIVATION_GELU, gelu_row},
    {"relu", ACTIVATION_RELU, relu_row},
    {"silu", ACTIVATION_SILU, silu_row},
    {"tanh", ACTIVATION_TANH, tanh_row},
    {"quick_gelu", ACTIVATION_QUICK_GELU, quick_gelu_row},
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

static const struct activation_row *row_of(enum activation activation)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (activation_rows[i].activation == activation)
            return &activation_rows[i];
    return NULL;
}

const char *activation_name(enum activation activation)
{
    const struct activation_row *row = row_of(activation);
    return row ? row->name : "none";
}

void activate(struct matrix x, enum activation activation)
{
    const struct activation_row *row = row_of(activation);
    for (size_t i = 0; row && i < x.rows; i++)
        row->row(x.data + i * x.stride, x.columns);
}
