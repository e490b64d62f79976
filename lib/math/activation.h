/* activation.h: between the two products of an MLP: one row of the table each. */
#ifndef ATTN_MATH_ACTIVATION_H
#define ATTN_MATH_ACTIVATION_H

#include <stdbool.h>

#include "math/tensor.h"

enum activation {
    ACTIVATION_NONE,
    ACTIVATION_GELU_NEW,
    ACTIVATION_GELU,
    ACTIVATION_RELU,
    ACTIVATION_SILU,
    ACTIVATION_TANH,
    ACTIVATION_QUICK_GELU,
    ACTIVATION_COUNT,
};

/* The activation that a config's name means ("gelu_new", "gelu_fast", …); false: none. */
bool activation_find(const char *name, enum activation *activation);

/* All names that are found, for a message. */
extern const char activation_names[];

/* The first of an activation's names, and its formula: "max(0, x)". */
const char *activation_name(enum activation activation);
const char *activation_formula(enum activation activation);

/* y = activation(x + bias), element by element; y may be x. bias [columns], or NULL: none. */
void activate(struct matrix y, struct matrix x, const float *bias, enum activation activation);

/* dy *= the slope at x, element by element: from the gradient of a curve's result to that of what
 * it was applied to. */
void activate_backward(struct matrix dy, struct matrix x, enum activation activation);

#endif
