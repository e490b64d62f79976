/* weights_load.h: a parameter in the form that the pass reads, made when it is first used and kept
 * as long as the weights: where it lies in the file, wherever that will do.
 */
#ifndef ATTN_MODEL_WEIGHTS_LOAD_H
#define ATTN_MODEL_WEIGHTS_LOAD_H

#include "model/parameter_table.h"
#include "model/weights.h"

struct parameter {
    struct found_tensor found;
    const float *data;     /* NULL until it is used as float32 */
    const float *panels;   /* NULL until it is packed */
    const uint32_t *pairs; /* NULL until it is rounded to bf16, in pairs, */
    const char *halves;    /* or in the order of the file */
};

static inline struct parameter *parameter_at(const struct weights *weights, enum parameter_id id,
                                             size_t layer)
{
    return &weights->parameters[parameter_index(id, layer)];
}

/* The tensor as float32: where it lies, or converted. NULL, with no error, when the model has no
 * such tensor. */
int weights_load(struct weights *weights, enum parameter_id id, size_t layer, const float **data,
                 struct err *err);

/* A norm: its scale, and its shift, which comes after it in the table. */
int weights_load_norm(struct weights *weights, enum parameter_id scale, size_t layer,
                      struct norm *norm, struct err *err);

/* A matrix and its bias, which comes after it in the table. A matrix [in, out] may be `parts` side
 * by side. */
int weights_load_matrix(struct weights *weights, enum parameter_id matrix, size_t layer,
                        struct weight *weight, size_t parts, struct err *err);

/* Some rows of a tensor, which are the columns of a matrix: in place; `packing`: packed. BF16 and
 * quantised numbers, which take twice their size or more as floats, are packed only where
 * weights.packing_widened says so. */
int weights_load_rows(struct weights *weights, enum parameter_id id, size_t layer,
                      struct weight *weight, const struct row_view *view, bool packing,
                      struct err *err);

#endif
