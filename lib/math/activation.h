/* activation.h: activation functions, which are between the two matrix products of an MLP. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "math/tensor.h"

enum activation {
    ACTIVATION_NONE,
    ACTIVATION_GELU_NEW,
    ACTIVATION_GELU,
    ACTIVATION_RELU,
    ACTIVATION_RELU2,
    ACTIVATION_SILU,
    ACTIVATION_TANH,
    ACTIVATION_QUICK_GELU,
    ACTIVATION_COUNT,
};

/* Find the activation with a name in a config ("gelu_new", "gelu_fast", …); false if there
 * is none. */
bool activation_find(const char *name, enum activation *activation);

/* All names, for a message. */
extern const char activation_names[];

/* The main name of an activation, and its formula, like "max(0, x)". */
const char *activation_name(enum activation activation);
const char *activation_formula(enum activation activation);

/* y = activation(x + bias), element by element; y may be x. bias [columns], or NULL: none. */
void activate(struct matrix y, struct matrix x, const float *bias, enum activation activation);

/* x = 1 / (1 + e^-x) */
void logistic_row(float *x, size_t count);

/* x = xIELU(x), with a = softplus(positive) and b = beta + softplus(negative): a x² + beta x where
 * x > 0, else (e^min(x, epsilon) - 1 - x) b + beta x. */
struct xielu {
    float positive, negative, beta, epsilon;
};
void activate_xielu(struct matrix x, const struct xielu *parameters);

/* dy *= the slope at x, element by element: dy was the gradient of the result, and becomes the
 * gradient of x. */
void activate_backward(struct matrix dy, struct matrix x, enum activation activation);
