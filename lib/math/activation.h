/* activation.h: activation functions, which a model applies between the two matrix products of an
 * MLP. */
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

/* Find the activation that a config names ("gelu_new", "gelu_fast", …); false if no activation has
 * the name. */
bool activation_find(const char *name, enum activation *activation);

/* The names of all activations, separated by commas, for an error message. */
extern const char activation_names[];

/* The main name of an activation, and its formula, like "max(0, x)". */
const char *activation_name(enum activation activation);
const char *activation_formula(enum activation activation);

/* y = activation(x + bias), element by element; y may be x. bias [columns]; NULL: there is no
 * bias. */
void activate(struct matrix y, struct matrix x, const float *bias, enum activation activation);

/* x = 1 / (1 + e^-x), element by element. */
void logistic_row(float *x, size_t count);

/* The parameters of xIELU. activate_xielu: x = xIELU(x), element by element, with a =
 * softplus(positive) and b = beta + softplus(negative): a x² + beta x where x > 0, else (e^min(x,
 * epsilon) - 1 - x) b + beta x. */
struct xielu {
    float positive, negative, beta, epsilon;
};
void activate_xielu(struct matrix x, const struct xielu *parameters);

/* dy *= the slope at x, element by element: dy was the gradient of the result, and becomes the
 * gradient of x. */
void activate_backward(struct matrix dy, struct matrix x, enum activation activation);
