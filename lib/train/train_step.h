/* train_step.h: a forward pass over a batch of texts of one length, and the backward pass from its
 * loss (pass/back.h). The gradients of several batches are summed.
 *
 *     struct train_step_plan plan = {&machine, &new_model, 16, 64, 0.1f};
 *     if (train_step_open(&step, &plan, err)) ...
 *     if (train_step_run(&step, &batch, &loss, err)) ...       (adds to step.gradients)
 *     train_step_release(&step);
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/memory.h"
#include "math/machine.h"
#include "math/rows.h"
#include "math/tensor.h"
#include "pass/back.h"
#include "model/new_model.h"
#include "model/weights.h"

/* A number for each parameter of a model: the weights, their gradients, or the state of an
 * optimiser. The tensors of a new model are contiguous: all values are one long row, in which a
 * tensor has the same offset for every use. */
struct parameters {
    const struct new_model *new_model;
    float *values; /* [count] the numbers of all tensors */
    size_t count;
};

/* Allocate zeros, one for each parameter of the new model. */
int parameters_alloc(struct parameters *parameters, const struct new_model *new_model,
                     struct arena *arena, struct err *err);

/* Return the address of a tensor's first number in the parameters. */
float *parameter_of(const struct parameters *parameters, const struct new_model_tensor *tensor);

/* --- steps ------------------------------------------------------------------------------------ */

struct train_step_plan {
    struct machine *machine;
    struct new_model *new_model; /* the model that is trained; passes do not modify it */
    size_t texts;                /* number of texts in a batch */
    size_t tokens;               /* number of tokens in a text */
    float dropout; /* rate of dropout of attention weights, outputs of sublayers and embeddings; 0:
                    * no dropout */
};

struct train_batch {
    const uint32_t *ids;           /* [texts, tokens] ids of the tokens */
    const uint32_t *targets;       /* [texts, tokens] the id to predict at each position, or
                                    * BACK_NO_TARGET */
    const unsigned char *segments; /* [texts, tokens] segment of each token; NULL: all segments are
                                    * 0 */
    const uint32_t *sources;       /* [texts, source_tokens] ids of the sources, for a model with an
                                    * encoder */
    size_t source_tokens;
    size_t tokens; /* tokens of each text, at most as many as in the plan; 0: the number in the
                    * plan */
    uint64_t key;  /* key of the random numbers for dropout (rng.h) */
    float share;   /* factor of the gradients: 1 / the number of batches in a step; 0: gradients are
                    * not computed, and nothing is dropped */
};

struct train_step {
    struct train_step_plan plan;
    const struct config *config;
    struct parameters weights, gradients;
    float **tensors;      /* the gradient of each tensor of `model`, by the index that
                           * weights_tensor returns; NULL: the tensor is not trained */
    struct weights model; /* the weights in the form that a pass uses */
    size_t rows;          /* maximum number of rows in a batch: texts · tokens of the plan */
    struct text *texts;
    double *losses;             /* [rows] the loss of each row with a target */
    struct arena kept, scratch; /* memory of one step: `kept` for the tape, `scratch` for the
                                 * forward and the backward pass */
    struct arena arena;
};

/* Set an error if a parameter of the model would have no gradient: training such models is not
 * supported. */
int train_step_check(const struct config *config, struct err *err);

/* The task of training: TRAIN_NEXT predicts the next token; TRAIN_MASKED the tokens that a mask
 * hides; TRAIN_PAIRS the text that belongs to a source; TRAIN_CLASSES the class of a text or, if
 * the model has one class, a number. */
enum train_objective { TRAIN_NEXT, TRAIN_MASKED, TRAIN_PAIRS, TRAIN_CLASSES };

enum train_objective train_objective_of(const struct config *config);

/* Open the model's weights for the steps, and allocate memory, with gradients of 0. It is an error
 * if texts have more tokens than the model has positions, or if train_step_check fails. */
int train_step_open(struct train_step *step, const struct train_step_plan *plan, struct err *err);
void train_step_release(struct train_step *step);

/* Compute the mean loss over all targets (in nats, or the squared error of numbers) and, if the
 * batch has a share, add the gradients to step->gradients. A loss that is NaN or infinite is an
 * error. */
int train_step_run(struct train_step *step, const struct train_batch *batch, double *loss,
                   struct err *err);
