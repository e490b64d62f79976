/* transpose.h: rows become columns. */
#ifndef ATTN_MATH_TRANSPOSE_H
#define ATTN_MATH_TRANSPOSE_H

#include "math/tensor.h"

/* y [C, T] = x [T, C], turned. They must not overlap. */
void transpose(struct matrix y, struct matrix x);

#endif
