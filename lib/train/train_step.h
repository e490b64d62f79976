/* train_step.h: forward and backward passes over a batch of texts of one length, whose tokens are
 * the rows of one matrix. Without dropout, the forward pass has the same bits as lib/model with the
 * same machine. It keeps the activations for the backward pass. Gradients of batches are summed.
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
#include "model/layer.h"
#include "model/new_model.h"
#include "model/weights.h"

/* A number for each parameter of a model: weights, their gradients, or the state of an optimiser.
 * The tensors of a new model are contiguous, so that a set is one long row, and a tensor has the
 * same offset in every set. */
struct parameters {
    const struct new_model *new_model;
    float *values; /* [count] */
    size_t count;
};

/* Allocate zeros, one for each parameter of the new model. */
int parameters_alloc(struct parameters *parameters, const struct new_model *new_model,
                     struct arena *arena, struct err *err);

/* The first number of a tensor. */
float *parameter_of(const struct parameters *parameters, const struct new_model_tensor *tensor);

/* --- steps ------------------------------------------------------------------------------------ */

struct train_step_plan {
    struct machine *machine;
    struct new_model *new_model; /* the passes do not modify it */
    size_t texts;                /* per batch */
    size_t tokens;               /* per text */
    float dropout; /* of attention weights, outputs of sublayers, embeddings; 0: none */
};

struct train_batch {
    const uint32_t *ids;     /* [texts, tokens] */
    const uint32_t *targets; /* [texts, tokens] the token after each */
    uint64_t key;            /* for dropout, see rng.h */
    float share; /* factor of the gradients: 1 / batches of a step; 0: no gradients, no dropout */
};

/* Queries, keys and values; N is the number of tokens in all texts. */
struct projections {
    struct matrix joined;  /* [N, (H + 2 Hkv)·d] if one weight projects to all three; else empty */
    struct matrix q, k, v; /* [N, H·d], [N, Hkv·d], [N, Hkv·d]; GPT-2: views of `joined` */
    struct matrix q_plain, k_plain; /* before the norm of heads; without one, q and k */
};

/* The weights of a layer, and its activations for the backward pass. */
struct layer_tape {
    const struct sublayer *list; /* attention, MLP */
    size_t count;
    struct block_weights w;              /* views into the new model */
    struct matrix stream[SUBLAYERS_MAX]; /* [N, C] residual stream before each sublayer */
    struct matrix norm[SUBLAYERS_MAX];   /* [N, C] input of each sublayer */
    struct projections heads;
    float *weights;        /* [texts, H, T, weights_stride] softmax, before dropout */
    struct matrix context; /* [N, H·d] */
    struct matrix hidden;  /* [N, I] before the activation */
    struct matrix up;      /* [N, I] of a gated MLP: what the gate is multiplied by */
    struct matrix active;  /* [N, I] after the activation and the gate */
};

/* Scratch memory, which any operation may overwrite, except for the rotary tables. */
struct train_scratch {
    float *transposed; /* the input of a projection, or the gradient of its output */
    float *transposed_weight;
    float *sums;                          /* [blocks, 2 · widest] sums per block */
    struct matrix cos_sin, cos_minus_sin; /* [N, components] rotary embedding; its inverse */
    struct matrix branch;                 /* [N, C] output of a sublayer, or its gradient */
    struct matrix logits;
    double *losses; /* [N] */
    float *heads;   /* [threads, train_attention_floats] for attention */
};

struct train_step {
    struct train_step_plan plan;
    const struct config *config;
    struct parameters weights, gradients;
    struct weights model;                /* the weights, as the pass uses them */
    const float *wte, *wpe, *logit_bias; /* wpe, logit_bias: NULL if absent */
    struct weight words;                 /* unembedding */
    struct norm final_norm;
    size_t rows;               /* N */
    size_t weights_stride;     /* row length of layer_tape.weights */
    struct layer_tape *layers; /* [L + 1]; the last one only has a stream */
    struct matrix norm_f;      /* [N, C] */
    struct layer_tape d;       /* gradients of one layer's activations, in the same fields */
    struct train_scratch scratch;
    const struct train_batch *batch;
    size_t layer; /* current layer; 0 outside of layers */
    struct arena arena;
};

/* Refuse, as not supported, models without a backward pass. */
int train_step_check(const struct config *config, struct err *err);

/* Allocate all memory, with gradients 0. Refuses texts beyond the model's positions or a window. */
int train_step_open(struct train_step *step, const struct train_step_plan *plan, struct err *err);
void train_step_release(struct train_step *step);

/* Compute the mean loss over all tokens, in nats, and, if the batch has a share, add the gradients
 * to step->gradients. A loss that is NaN or infinite is an error. */
int train_step_run(struct train_step *step, const struct train_batch *batch, double *loss,
                   struct err *err);

/* --- shared by the files of a step ------------------------------------------------------------ */

/* The key of the random numbers of a dropout; the rate of all dropouts, 0 if only the loss is
 * computed. */
#include "model/forward.h"

uint64_t dropout_key(const struct train_step *step, enum dropout_place place);
float dropout_rate(const struct train_step *step);

/* Causal attention of the step's layer: weights and context from q, k and v; `backward`: d.heads
 * from d.context. */
void train_attention(struct train_step *step, bool backward);
size_t train_attention_floats(const struct train_step *step); /* of scratch memory, per thread */
