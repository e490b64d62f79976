/* slope.h: how steep the curves of activation.h are. */
#ifndef ATTN_MATH_SLOPE_H
#define ATTN_MATH_SLOPE_H

#include "math/activation.h"

/* dy *= the slope at x, element by element: from the gradient of a curve's result to that of what
 * it was applied to. */
void activate_backward(struct matrix dy, struct matrix x, enum activation activation);

#endif
