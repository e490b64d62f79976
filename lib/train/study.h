/* study.h: a batch of texts that a model learns from: what the way forward keeps for the way back.
 *
 * All texts of a batch are equally long, so that their tokens are the rows of one matrix. The way
 * forward is that of lib/model, with the same bits where nothing is dropped; it keeps what the way
 * back asks for, and the way back adds to the gradients: several studys may add up to one step.
 *
 *     struct study study = {0};
 *     if (study_open(&study, &(struct study_plan){&machine, &new_model, 16, 64, 0.1f}, err)) ...
 *     struct batch_of_texts batch = {.ids = ids, .targets = targets, .key = key, .share = 1};
 *     if (study_learn(&study, &batch, &loss, err)) ...        (study.gradients are richer now)
 *     if (study_test(&study, &batch, &loss, err)) ...         (the loss alone, nothing dropped)
 *     study_release(&study);
 */
#ifndef ATTN_TRAIN_STUDY_H
#define ATTN_TRAIN_STUDY_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "math/machine.h"
#include "math/tensor.h"
#include "train/parameters.h"

struct study_plan {
    struct machine *machine;
    struct new_model *new_model; /* of a GPT-2; its numbers are read, and never written here */
    size_t texts;                /* at a time */
    size_t tokens;               /* of each */
    float dropout; /* of attention, of what is added to the stream, of embeddings; 0: none */
};

struct batch_of_texts {
    const uint32_t *ids;     /* [texts, tokens] */
    const uint32_t *targets; /* [texts, tokens] the token behind each */
    uint64_t key;            /* of what is dropped: rng.h */
    float share;             /* of this batch in a step's loss: 1 / batches */
};

/* What a layer keeps; N rows are the tokens of all texts. */
struct layer_tape {
    struct matrix norm_1;  /* [N, C] */
    struct matrix qkv;     /* [N, 3C] */
    float *weights;        /* [texts, H, T, weights_stride] softmax, before anything is dropped */
    struct matrix context; /* [N, C] */
    struct matrix mid;     /* [N, C] the stream between attention and MLP */
    struct matrix norm_2;  /* [N, C] */
    struct matrix hidden;  /* [N, I] before the curve … */
    struct matrix active;  /* [N, I] … and behind it */
};

struct tape {
    struct matrix *streams;    /* [L + 1] of [N, C]: into each layer, and out of the last */
    struct layer_tape *layers; /* [L] */
    struct matrix norm_f;      /* [N, C] */
};

/* Gradients on their way back: of the tensor of that name. */
struct back_tape {
    struct matrix stream;  /* [N, C] */
    struct matrix branch;  /* [N, C] of what is added to the stream */
    struct matrix context; /* [N, C] */
    struct matrix norm;    /* [N, C] */
    struct matrix qkv;     /* [N, 3C] */
    struct matrix hidden;  /* [N, I] */
};

/* Memory that every verb uses for itself. */
struct study_room {
    float *turned; /* activations, a column a row */
    size_t turned_stride;
    float *turned_weight;
    float *parts;      /* [blocks, 2 · widest] sums of blocks */
    struct matrix out; /* [N, C] */
    struct matrix logits;
    double *losses; /* [N] */
    float **heads;  /* [thread] attention's own */
};

struct study {
    struct study_plan plan;
    const struct config *config;
    struct parameters weights, gradients;
    size_t rows;           /* N */
    size_t weights_stride; /* of a query's row in layer_tape.weights */
    struct tape tape;
    struct back_tape back;
    struct study_room room;
    const struct batch_of_texts *batch;
    bool dropping; /* this pass drops */
    struct arena arena;
};

/* Take all memory; gradients are 0. Refused: a model that is no GPT-2, texts that are longer than
 * it has positions. */
int study_open(struct study *study, const struct study_plan *plan, struct err *err);
void study_release(struct study *study);

/* The mean loss of all tokens in nats; its gradients are added to study->gradients. Fails where a
 * number is none. */
int study_learn(struct study *study, const struct batch_of_texts *batch, double *loss,
                struct err *err);
int study_test(struct study *study, const struct batch_of_texts *batch, double *loss,
               struct err *err);

#endif
