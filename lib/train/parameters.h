/* parameters.h: one number for every number of a model: its weights, their gradients, what an
 * optimiser remembers of them.
 *
 * All of a new model's tensors lie one after another, so such a set is one long row, and a tensor's
 * place in it is the same in every set.
 *
 *     struct parameters weights = parameters_of(&new_model);
 *     struct parameters gradients;
 *     if (parameters_take(&gradients, &new_model, &arena, err)) ...
 *     float *bias = parameter_at(&gradients, PARAMETER_FC + 1, layer);
 */
#ifndef ATTN_TRAIN_PARAMETERS_H
#define ATTN_TRAIN_PARAMETERS_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "math/rows.h"
#include "math/gemm.h"
#include "model/new_model.h"

struct parameters {
    const struct new_model *new_model;
    float *values; /* [count] */
    size_t count;
};

/* The new model's own numbers; and a set of zeros of the same size. */
struct parameters parameters_of(const struct new_model *new_model);
int parameters_take(struct parameters *parameters, const struct new_model *new_model,
                    struct arena *arena, struct err *err);

/* Where a tensor begins; NULL where the model has none. `layer` is 0 outside layers. */
float *parameter_at(const struct parameters *parameters, enum parameter_id id, size_t layer);

/* Where a tensor of the new model begins in a set. */
float *parameter_of(const struct parameters *parameters, const struct new_model_tensor *tensor);

/* A matrix with its bias; a norm's scale with its shift. */
struct weight parameter_weight(const struct parameters *parameters, enum parameter_id id,
                               size_t layer);
struct norm parameter_norm(const struct parameters *parameters, enum parameter_id id, size_t layer);

#endif
