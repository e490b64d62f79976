/* plain_kernel.h: the products of kernel.h in C: where no code is generated, or none pays.
 *
 * The bits are those of generated code with fused multiply-adds: the same chain an element.
 *
 *     plain_kernel_product(&shape, a, b, c);
 */
#ifndef ATTN_MATH_PLAIN_KERNEL_H
#define ATTN_MATH_PLAIN_KERNEL_H

#include <stdint.h>

#include "math/kernel.h"

/* C (+)= B · A, of floats; the same where the processor has no fused multiply-add (soft_fma.h); of
 * pairs of bf16 numbers. */
void plain_kernel_product(const struct kernel_shape *shape, const float *a, const float *b,
                          float *c);
void plain_kernel_product_softly(const struct kernel_shape *shape, const float *a, const float *b,
                                 float *c);
void plain_kernel_product_of_pairs(const struct kernel_shape *shape, const uint32_t *a,
                                   const uint32_t *b, float *c);

#endif
