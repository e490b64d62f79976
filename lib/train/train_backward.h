/* back.h: the way back through a study: from the gradient of the final norm to those of every
 * parameter; every verb of forth.h in reverse. */
#ifndef ATTN_TRAIN_TRAIN_BACKWARD_H
#define ATTN_TRAIN_TRAIN_BACKWARD_H

#include "train/train_step.h"

/* From step->d.norm, the gradient of tape.norm_f, on: adds to step->gradients. */
void train_backward(struct train_step *step);

/* y [C, T] = x [T, C], transposed, by all threads. */
void transpose_rows(struct machine *machine, struct matrix y, struct matrix x);

/* gradient [in, out] += xᵀ · dy, summed over rows in their order; xᵀ is given, transposed. */
void add_weight_gradient(struct train_step *step, float *gradient, struct matrix transposed,
                         struct matrix dy);

#endif
