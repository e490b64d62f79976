/* forth.h: the way forward through a study: ids in, the final norm out; study.h says what is
 * kept. */
#ifndef ATTN_TRAIN_FORTH_H
#define ATTN_TRAIN_FORTH_H

#include <stdbool.h>

#include "train/study.h"

/* From the batch's ids to study->tape.norm_f. */
void forth(struct study *study);

/* Where something is dropped: the key of each place differs. */
enum drop_place { DROP_EMBEDDING, DROP_WEIGHTS, DROP_ATTENTION, DROP_MLP, DROP_PLACES };

/* The key of a place in this pass; and the rate there, 0 where this pass drops nothing. */
uint64_t forth_key(const struct study *study, enum drop_place place, size_t layer);
float forth_rate(const struct study *study);

#endif
