/* rounding.h: what is rounded to bf16 where it is written, since none but products of bf16 will
 * look at it: numbers of many rows that are neither watched nor edited.
 *
 *     s->context.rounded = rounds_context(pass, layer, w);
 */
#ifndef ATTN_MODEL_ROUNDING_H
#define ATTN_MODEL_ROUNDING_H

#include "model/pass.h"

/* What is normed before queries, keys and values are made of it, or before the MLP. */
bool rounds_attended(const struct pass *pass, size_t layer, const struct attention_weights *w);
bool rounds_mlp_input(const struct pass *pass, size_t layer, const struct mlp_weights *w);

/* What heads give; the MLP's hidden numbers. */
bool rounds_context(const struct pass *pass, size_t layer, const struct attention_weights *w);
bool rounds_hidden(const struct pass *pass, size_t layer, const struct mlp_weights *w);

#endif
