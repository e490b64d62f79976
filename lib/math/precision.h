/* precision.h: what the numbers of products are: float32, or bf16 (gemm_bf16.h).
 *
 *     enum precision precision;
 *     if (precision_find("bf16", &precision) && precision_check(precision, kernels, err)) ...
 */
#ifndef ATTN_MATH_PRECISION_H
#define ATTN_MATH_PRECISION_H

#include <stdbool.h>

#include "base/err.h"
#include "math/kernel.h"

enum precision { PRECISION_FP32, PRECISION_BF16, PRECISIONS };

/* "fp32", "bf16". */
const char *precision_name(enum precision precision);

/* The precision of that name; false: there is none. */
bool precision_find(const char *name, enum precision *precision);

/* Refuse, as not supported, what the kernels have no instructions for. */
int precision_check(enum precision precision, struct kernels *kernels, struct err *err);

#endif
