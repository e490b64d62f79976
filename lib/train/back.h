/* back.h: the way back through a study: from the gradient of the final norm to those of every
 * parameter; every verb of forth.h in reverse. */
#ifndef ATTN_TRAIN_BACK_H
#define ATTN_TRAIN_BACK_H

#include "train/study.h"

/* From study->back.norm, the gradient of tape.norm_f, on: adds to study->gradients. */
void back(struct study *study);

/* y [C, T] = x [T, C], turned, by all threads. */
void back_turn(struct machine *machine, struct matrix y, struct matrix x);

/* gradient [in, out] += xᵀ · dy, summed over rows in their order; xᵀ is given, turned. */
void back_multiply(struct study *study, float *gradient, struct matrix turned, struct matrix dy);

#endif
