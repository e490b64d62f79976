/* train_step.h: forward and backward over a batch of texts of one length, so that their tokens are
 * the rows of one matrix. Forward is that of lib/model, with the same bits where nothing is
 * dropped; it keeps what backward asks for. Gradients of several batches may add up to one step.
 *
 *     struct train_step_plan plan = {&machine, &new_model, 16, 64, 0.1f};
 *     if (train_step_open(&step, &plan, err)) ...
 *     if (train_step_run(&step, &batch, &loss, err)) ...       (adds to step.gradients)
 *     if (train_step_evaluate(&step, &batch, &loss, err)) ...  (the loss alone, nothing dropped)
 *     train_step_release(&step);
 */
#ifndef ATTN_TRAIN_TRAIN_STEP_H
#define ATTN_TRAIN_TRAIN_STEP_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "math/machine.h"
#include "math/rows.h"
#include "math/tensor.h"
#include "math/gemm.h"
#include "model/new_model.h"

/* One number for every number of a model: its weights, their gradients, what an optimiser remembers
 * of them. All of a new model's tensors lie one after another, so such a set is one long row, and a
 * tensor's place in it is the same in every set. */
struct parameters {
    const struct new_model *new_model;
    float *values; /* [count] */
    size_t count;
};

/* Zeros, as many as the new model has numbers. */
int parameters_alloc(struct parameters *parameters, const struct new_model *new_model,
                     struct arena *arena, struct err *err);

/* Where a tensor begins, NULL where the model has none (`layer` is 0 outside layers); and where one
 * of the new model's does. */
float *parameter_at(const struct parameters *parameters, enum parameter_id id, size_t layer);
float *parameter_of(const struct parameters *parameters, const struct new_model_tensor *tensor);

/* A matrix as it lies, [in, out], or [out, in] as those of other families do, where it may be some
 * rows of its tensor; the numbers of its bias, NULL: it has none. A norm's scale with its shift. */
struct matrix parameter_matrix(const struct parameters *parameters, enum parameter_id id,
                               size_t layer);
float *parameter_bias(const struct parameters *parameters, enum parameter_id id, size_t layer);
struct norm parameter_norm(const struct parameters *parameters, enum parameter_id id, size_t layer);

/* --- a step ----------------------------------------------------------------------------------- */

struct train_step_plan {
    struct machine *machine;
    struct new_model *new_model; /* its numbers are read, and never written here */
    size_t texts;                /* at a time */
    size_t tokens;               /* of each */
    float dropout; /* of attention, of what is added to the stream, of embeddings; 0: none */
};

struct train_batch {
    const uint32_t *ids;     /* [texts, tokens] */
    const uint32_t *targets; /* [texts, tokens] the token after each */
    uint64_t key;            /* of what is dropped: rng.h */
    float share;             /* of this batch in a step's loss: 1 / batches */
};

/* Queries, keys and values; N rows are the tokens of all texts. */
struct projections {
    struct matrix joined;  /* [N, (H + 2 Hkv)·d] of one matrix, by thirds or groups; else absent */
    struct matrix q, k, v; /* [N, H·d], [N, Hkv·d], [N, Hkv·d]: parts of that, or their own */
    struct matrix q_plain, k_plain; /* … before heads are normed; where they are not, the same */
};

/* What a layer keeps. */
struct layer_tape {
    struct matrix norm_1; /* [N, C] */
    struct projections heads;
    float *weights;        /* [texts, H, T, weights_stride] softmax, before anything is dropped */
    struct matrix context; /* [N, H·d] */
    struct matrix mid;     /* [N, C] the stream between attention and MLP */
    struct matrix norm_2;  /* [N, C] */
    struct matrix hidden;  /* [N, I] before the activation … */
    struct matrix up;      /* [N, I] … what is multiplied with, where the MLP is gated … */
    struct matrix active;  /* [N, I] … and after both */
};

struct tape {
    struct matrix *streams;    /* [L + 1] of [N, C]: into each layer, and out of the last */
    struct layer_tape *layers; /* [L] */
    struct matrix norm_f;      /* [N, C] */
};

/* Gradients of the tensors of these names. */
struct gradient_tape {
    struct matrix stream;  /* [N, C] */
    struct matrix branch;  /* [N, C] of what is added to the stream */
    struct matrix context; /* [N, H·d] */
    struct matrix norm;    /* [N, C] */
    struct projections heads;
    struct matrix hidden, up; /* [N, I] */
};

/* Memory that every operation uses for itself. */
struct train_scratch {
    float *transposed; /* activations, a column a row */
    size_t transposed_stride;
    float *transposed_weight;
    float *parts;                  /* [blocks, 2 · widest] sums of blocks */
    struct matrix waves, reversed; /* [N, components] that queries and keys turn by, and back */
    struct matrix out;             /* [N, C] */
    struct matrix logits;
    double *losses; /* [N] */
    float **heads;  /* [thread] attention's own */
};

struct train_step {
    struct train_step_plan plan;
    const struct config *config;
    struct parameters weights, gradients;
    enum parameter_id joined;         /* holds queries, keys and values, where one matrix does */
    enum parameter_id out;            /* ends the attention */
    enum parameter_id norm_2, hidden; /* the MLP begins with */
    size_t rows;                      /* N */
    size_t weights_stride;            /* of a query's row in layer_tape.weights */
    struct tape tape;
    struct gradient_tape d;
    struct train_scratch scratch;
    const struct train_batch *batch;
    bool dropping; /* this pass drops */
    struct arena arena;
};

/* Can a model of this config be trained? What it does that has no way back is refused by name. */
int train_step_check(const struct config *config, struct err *err);

/* Take all memory; gradients are 0. Refused: such a model, texts that are longer than it has
 * positions, or than a window. */
int train_step_open(struct train_step *step, const struct train_step_plan *plan, struct err *err);
void train_step_release(struct train_step *step);

/* The mean loss of all tokens in nats; its gradients are added to step->gradients. Fails where a
 * number is none. */
int train_step_run(struct train_step *step, const struct train_batch *batch, double *loss,
                   struct err *err);
int train_step_evaluate(struct train_step *step, const struct train_batch *batch, double *loss,
                        struct err *err);

#endif
