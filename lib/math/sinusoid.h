/* sinusoid.h: the positions of "Attention is all you need", with sine and cosine made of sums and
 * products in double precision: those of the C library differ from machine to machine.
 *
 *     x[row][2i]     += sin((first + row) / 10000^(2i / C))
 *     x[row][2i + 1] += cos((first + row) / 10000^(2i / C))
 */
#ifndef ATTN_MATH_SINUSOID_H
#define ATTN_MATH_SINUSOID_H

#include <stddef.h>

#include "math/tensor.h"

/* Add positions to the rows of a text, whose first one stands at place `first`. */
void sinusoid_add(struct matrix x, size_t first);

#endif
