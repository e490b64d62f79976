/* loss.h: how surprising each next token was, in nats, and the first step of the way back. */
#ifndef ATTN_TRAIN_LOSS_H
#define ATTN_TRAIN_LOSS_H

#include "train/train_step.h"

/* Logits are made of so many rows at a time, so that they stay in cache. */
size_t loss_rows(size_t rows);

/* The mean loss over the study's rows, from tape.norm_f; and with it back.norm, the gradient of
 * tape.norm_f, and that of the unembedding. Fails at a logit that is no number. */
int loss_learn(struct train_step *step, double *loss, struct err *err);
int loss_test(struct train_step *step, double *loss, struct err *err);

#endif
