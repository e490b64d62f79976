/* gemv.h: one row of activations against the rows of a large matrix: the logits of one token.
 *
 * The matrix [V, C] stays as it is in the file and is read once, in order. Each dot product is one
 * chain of fused multiply-adds, so the bits are those of `linear`.
 *
 *     gemv(machine, logits, (struct matrix){words, vocab_size, n_embd, n_embd}, hidden);
 */
#ifndef ATTN_MATH_GEMV_H
#define ATTN_MATH_GEMV_H

#include "math/machine.h"
#include "math/tensor.h"

/* y[i] = row i of `rows` · x. */
void gemv(struct machine *machine, float *y, struct matrix rows, const float *x);

#endif
