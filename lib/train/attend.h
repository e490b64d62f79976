/* attend.h: causal attention and its way back, head by head of each text, by blocks of 64 queries
 * and 64 keys; what lies in the masked future is never computed. */
#ifndef ATTN_TRAIN_ATTEND_H
#define ATTN_TRAIN_ATTEND_H

#include "train/study.h"

/* The floats of a query's row in layer_tape.weights, for texts of so many tokens. */
size_t attend_stride(size_t tokens);

/* Each thread's memory. */
int attend_take(struct study *study, struct err *err);

/* context from qkv; keeps the weights. */
void attend_forth(struct study *study, size_t layer);

/* The gradient of qkv, back.qkv, from that of context, back.context. */
void attend_back(struct study *study, size_t layer);

#endif
