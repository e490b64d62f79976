/* epilogue.h: what follows the sums of a product while they are in cache: bias, curve, and a total
 * that all of it is added to, in one way through memory.
 *
 *     struct epilogue epilogue = {.y = y, .bias = w->bias, .activation = ACTIVATION_RELU};
 *     ...                                          // the sums of y's tile from [64, 32] on
 *     epilogue_apply(&epilogue, sums, (struct corner){64, 32});
 */
#ifndef ATTN_MATH_EPILOGUE_H
#define ATTN_MATH_EPILOGUE_H

#include <stddef.h>

#include "math/activation.h"
#include "math/tensor.h"

/* y or total may have no data: it is not wanted. A total is of plain sums, without a curve. */
struct epilogue {
    struct matrix y;     /* = activation(sums + bias) */
    struct matrix total; /* += sums + bias */
    const float *bias;   /* [columns], or NULL: none */
    enum activation activation;
};

/* Where a tile begins in y. */
struct corner {
    size_t row, column;
};

void epilogue_apply(const struct epilogue *epilogue, struct matrix sums, struct corner at);

#endif
