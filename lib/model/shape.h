/* shape.h: models of a well-known shape (--shape): their sizes by name, and one with random weights
 * made in memory, to measure with. Same shape, same weights, on every machine; no tokenizer.
 * (Weights to begin a training with are drawn otherwise: weight_init.h.)
 *
 *     struct new_model made = {0};
 *     if (shape_make(&made, "gpt2", err) || model_open_folder(&model, &made.folder, err)) ...
 *     new_model_release(&made);
 */
#ifndef ATTN_MODEL_SHAPE_H
#define ATTN_MODEL_SHAPE_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/new_model.h"

struct shape_row {
    const char *name;
    size_t n_layer, n_head, n_embd, n_positions, vocab_size;
};

extern const struct shape_row shape_rows[];
extern const size_t shape_count;

/* The row of that name; an unknown one is a usage error of --shape that lists the known ones. */
const struct shape_row *shape_find(const char *name, struct err *err);

/* Append the config.json of such a model. */
void shape_config(struct buf *text, const struct shape_row *row);

/* Make the model of a named shape. On failure nothing is held. */
int shape_make(struct new_model *new_model, const char *name, struct err *err);

/* One causal head of 64 dimensions, for a text of any length: bare attention, to see what it costs
 * by itself. */
int shape_make_head(struct new_model *new_model, struct err *err);

#endif
