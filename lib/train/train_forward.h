/* forth.h: the way forward through a study: ids in, the final norm out; study.h says what is
 * kept. */
#ifndef ATTN_TRAIN_TRAIN_FORWARD_H
#define ATTN_TRAIN_TRAIN_FORWARD_H

#include <stdbool.h>

#include "train/train_step.h"

/* From the batch's ids to step->tape.norm_f. */
void train_forward(struct train_step *step);

/* Where something is dropped: the key of each place differs. */
enum drop_place { DROP_EMBEDDING, DROP_WEIGHTS, DROP_ATTENTION, DROP_MLP, DROP_PLACES };

/* The key of a place in this pass; and the rate there, 0 where this pass drops nothing. */
uint64_t dropout_key(const struct train_step *step, enum drop_place place, size_t layer);
float dropout_rate(const struct train_step *step);

#endif
