/* train_step.h: forward and backward over a batch of texts of one length, so that their tokens are
 * the rows of one matrix. Forward is that of lib/model, with the same bits where nothing is
 * dropped; it keeps the activations that backward needs. Gradients of several batches may add up
 * to one step.
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
#include "model/new_model.h"
#include "model/weights.h"

/* One number for each number of a model: its weights, their gradients, or an optimiser's state. The
 * tensors of a new model follow each other, so a set is one long row, in which a tensor has the
 * same offset in every set. */
struct parameters {
    const struct new_model *new_model;
    float *values; /* [count] */
    size_t count;
};

/* Zeros, one for each number of the new model. */
int parameters_alloc(struct parameters *parameters, const struct new_model *new_model,
                     struct arena *arena, struct err *err);

/* The first number of a tensor. */
float *parameter_of(const struct parameters *parameters, const struct new_model_tensor *tensor);

/* --- a step ----------------------------------------------------------------------------------- */

struct train_step_plan {
    struct machine *machine;
    struct new_model *new_model; /* only read */
    size_t texts;                /* of a batch */
    size_t tokens;               /* of each */
    float dropout;               /* of weights, of branches and of embeddings; 0: none */
};

struct train_batch {
    const uint32_t *ids;     /* [texts, tokens] */
    const uint32_t *targets; /* [texts, tokens] the next tokens */
    uint64_t key;            /* of dropout: rng.h */
    float share;             /* of this batch in a step's loss: 1 / batches */
};

/* Queries, keys and values; N rows are the tokens of all texts. */
struct projections {
    struct matrix joined;  /* [N, (H + 2 Hkv)·d] of one matrix, by thirds or groups; else absent */
    struct matrix q, k, v; /* [N, H·d], [N, Hkv·d], [N, Hkv·d]: parts of `joined`, or their own */
    struct matrix q_plain, k_plain; /* before the norm of heads; without one, the same */
};

/* A layer's weights, and its activations for the backward pass. */
struct layer_tape {
    struct block_weights w; /* where they lie in the new model */
    struct matrix x;        /* [N, C] the residual stream into the layer */
    struct matrix norm_1;   /* [N, C] */
    struct projections heads;
    float *weights;        /* [texts, H, T, weights_stride] softmax, before dropout */
    struct matrix context; /* [N, H·d] */
    struct matrix mid;     /* [N, C] the stream between attention and MLP */
    struct matrix norm_2;  /* [N, C] */
    struct matrix hidden;  /* [N, I] before the activation */
    struct matrix up;      /* [N, I] the factor of a gated MLP */
    struct matrix active;  /* [N, I] after the activation and the gate */
};

/* Gradients of the tensors of these names. */
struct gradient_tape {
    struct matrix stream;  /* [N, C] */
    struct matrix branch;  /* [N, C] of the output of a sublayer */
    struct matrix context; /* [N, H·d] */
    struct matrix norm;    /* [N, C] */
    struct projections heads;
    struct matrix hidden, up; /* [N, I] */
};

/* Scratch memory, which every operation may overwrite. */
struct train_scratch {
    float *transposed; /* activations */
    float *transposed_weight;
    float *sums;                          /* [blocks, 2 · widest] of blocks of rows */
    struct matrix cos_sin, cos_minus_sin; /* [N, components] of the rotary embedding, and back */
    struct matrix out;                    /* [N, C] */
    struct matrix logits;
    double *losses; /* [N] */
    float **heads;  /* [thread] of the attention */
};

struct train_step {
    struct train_step_plan plan;
    const struct config *config;
    struct parameters weights, gradients;
    struct weights model; /* the weights, read as the pass reads them, and those outside layers: */
    const float *wte, *wpe, *logit_bias; /* the latter two or NULL */
    struct weight words;                 /* of the unembedding */
    struct norm final_norm;
    size_t rows;               /* N */
    size_t weights_stride;     /* of a query's row in layer_tape.weights */
    struct layer_tape *layers; /* [L + 1]; after the last layer only x */
    struct matrix norm_f;      /* [N, C] */
    struct gradient_tape d;
    struct train_scratch scratch;
    const struct train_batch *batch;
    size_t layer;  /* of the pass; 0 outside of layers */
    bool dropping; /* this pass has dropout */
    struct arena arena;
};

/* Refused: a model with a part that has no backward pass. */
int train_step_check(const struct config *config, struct err *err);

/* Allocate all memory; gradients are 0. Refused: also texts longer than the model's positions or a
 * window. */
int train_step_open(struct train_step *step, const struct train_step_plan *plan, struct err *err);
void train_step_release(struct train_step *step);

/* The mean loss of all tokens in nats; its gradients are added to step->gradients. An error if a
 * loss is NaN or infinite. */
int train_step_run(struct train_step *step, const struct train_batch *batch, double *loss,
                   struct err *err);
int train_step_evaluate(struct train_step *step, const struct train_batch *batch, double *loss,
                        struct err *err);

/* --- between the files of a step -------------------------------------------------------------- */

enum {
    TRAIN_BLOCK_ROWS = 64,
    TRAIN_CHUNK_ROWS = 512, /* of logits at a time, so that they stay in cache */
};

static inline size_t train_blocks(size_t rows)
{
    return (rows + TRAIN_BLOCK_ROWS - 1) / TRAIN_BLOCK_ROWS;
}

/* Each place of a layer has its own key; the rate is 0 in a pass without dropout. */
enum drop_place { DROP_EMBEDDING, DROP_WEIGHTS, DROP_ATTENTION, DROP_MLP, DROP_PLACES };

uint64_t dropout_key(const struct train_step *step, enum drop_place place);
float dropout_rate(const struct train_step *step);

/* Causal attention of the step's layer: the context of q, k and v, and its weights; or backward
 * d.heads of d.context. */
void train_attention(struct train_step *step, bool backward);
int train_attention_init(struct train_step *step, struct err *err);

#endif
