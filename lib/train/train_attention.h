/* attend.h: causal attention and its way back, head by head of each text, by blocks of 64 queries
 * and 64 keys; what lies in the masked future is never computed. */
#ifndef ATTN_TRAIN_TRAIN_ATTENTION_H
#define ATTN_TRAIN_TRAIN_ATTENTION_H

#include "train/train_step.h"

/* The floats of a query's row in layer_tape.weights, for texts of so many tokens. */
size_t train_attention_stride(size_t tokens);

/* Each thread's memory. */
int train_attention_init(struct train_step *step, struct err *err);

/* context from qkv; keeps the weights. */
void train_attention_forward(struct train_step *step, size_t layer);

/* The gradient of qkv, back.qkv, from that of context, back.context. */
void train_attention_backward(struct train_step *step, size_t layer);

#endif
