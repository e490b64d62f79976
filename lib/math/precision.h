/* precision.h: what the numbers of products are: float32, or bf16 (gemm.h). */
#ifndef ATTN_MATH_PRECISION_H
#define ATTN_MATH_PRECISION_H

#include "base/err.h"

enum precision { PRECISION_FP32, PRECISION_BF16, PRECISIONS };

/* "f32", "bf16"; the precision of such a name, any other is refused as the option's. */
const char *precision_name(enum precision precision);
int precision_choose(enum precision *precision, const char *option, const char *name,
                     struct err *err);

#endif
