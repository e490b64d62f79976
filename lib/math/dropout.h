/* dropout.h: let a share of a row's weights go, and make the others heavier.
 *
 *     struct dropout dropout = {.share = 0.1f, .row = chance(chance(seed) + query)};
 *     dropout_apply(&dropout, weights, first_key, count);
 */
#ifndef ATTN_MATH_DROPOUT_H
#define ATTN_MATH_DROPOUT_H

#include <stddef.h>
#include <stdint.h>

struct dropout {
    float share;  /* of what goes: from 0 to below 1 */
    uint64_t row; /* a number for the row, as chance.h makes them */
};

/* The weights of the keys from `first` on: each is 0, or itself / (1 - share). Which ones depends
 * on the row and the key alone. */
void dropout_apply(const struct dropout *dropout, float *weights, size_t first, size_t count);

#endif
