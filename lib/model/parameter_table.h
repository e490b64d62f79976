/* parameter_table.h: the parameters a model may have, in one table: a row for each kind of tensor,
 * with the axes of its shape and the properties of a config that it depends on.
 *
 * A slot is one parameter: a matrix, a norm's scale, or (id + 1) the bias or shift that goes with
 * it. Every family fills the same slots; only its names and layouts differ (family.h).
 *
 *     size_t shape[SLOT_RANK_MAX];
 *     struct slot q = slot_of(BRANCH_TEXT, SLOT_Q, layer);
 *     if (slot_shape(shape, q, config)) ... a matrix [out, in] = [H·dk, C]
 */
#pragma once

#include "model/config.h"
#include "model/site.h"

#define SLOT(name) SLOT_##name, SLOT_##name##_BIAS

enum slot_id {
    SLOT(NONE),
    SLOT(TOKENS), /* embeddings [V, C or n_word] */
    SLOT(POSITIONS),
    SLOT(SEGMENTS),
    SLOT(EMBED_NORM),
    SLOT(EMBED_PROJECT), /* from the channels of embeddings to the residual stream's */
    SLOT(PROJECT_OUT),   /* from the residual stream to channels of embeddings */
    SLOT(BIASES),        /* of scores by distance [buckets, H], or rows of distances, of a stack */
    SLOT(BIAS_NORM),     /* of rows of distances */
    SLOT(GIVEN_TOKENS),  /* inputs of single layers [rows, layers · channels] */
    SLOT(GIVEN_PROJECT), /* from embeddings to inputs of single layers; then their norm */
    SLOT(GIVEN_NORM),
    SLOT(COPY_IN), /* from embeddings to copies of the stream, from these to what is merged */
    SLOT(COPY_OUT),
    SLOT(FINAL_NORM),
    SLOT(POOLER),
    SLOT(TRANSFORM), /* the dense layer before the unembedding */
    SLOT(TRANSFORM_NORM),
    SLOT(DISCRIMINATOR), /* the dense layer before the discriminator's logit */
    SLOT(DISCRIMINATOR_LOGIT),
    SLOT(UNEMBED), /* the unembedding [V, C or n_word] */
    SLOT(NORM_1),  /* from here on: of each layer; first its attention */
    SLOT(Q_DOWN),  /* to a narrow vector; then its norm; then queries from the vector */
    SLOT(Q_DOWN_NORM),
    SLOT(Q_UP),
    SLOT(KV_DOWN),  /* to a narrow vector of keys and values */
    SLOT(K_ROTARY), /* the rotated channels of keys, for all heads */
    SLOT(KV_DOWN_NORM),
    SLOT(Q),
    SLOT(K),
    SLOT(V),
    SLOT(O),
    SLOT(LAYER_BIASES), /* of scores by distance, of a layer */
    SLOT(BIAS_Q),       /* from rows of distances to queries, to keys */
    SLOT(BIAS_K),
    SLOT(Q_NORM),
    SLOT(K_NORM),
    SLOT(SINKS),     /* the score of each head's sink */
    SLOT(LAMBDA_Q1), /* lambda of a layer: e^(Q1 · K1) - e^(Q2 · K2) + head_rule.differ */
    SLOT(LAMBDA_K1),
    SLOT(LAMBDA_Q2),
    SLOT(LAMBDA_K2),
    SLOT(CONTEXT_NORM), /* no parameter: the norm of contexts has no scales */
    SLOT(OUT_GATE),     /* of the context; with gate_rank of the narrow vector */
    SLOT(OUT_GATE_DOWN),
    SLOT(CONV_Q), /* from here to OUT_NORM: of a mixer. The convolution's taps [channels, taps] */
    SLOT(CONV_K),
    SLOT(CONV_V),
    SLOT(STEP_DOWN), /* to a narrow vector; then its norm; then steps from the vector */
    SLOT(STEP_NORM),
    SLOT(STEP),
    SLOT(STEP_SHIFT),
    SLOT(DECAY),
    SLOT(BETA), /* the strength of steps */
    SLOT(SKIP),
    SLOT(OUT_NORM),
    SLOT(NORM_1_POST), /* of the output of attention */
    SLOT(NORM_2),      /* from here on: of the MLP */
    SLOT(GATE),
    SLOT(UP),
    SLOT(DOWN),
    SLOT(XIELU_POSITIVE), /* of the activation */
    SLOT(XIELU_NEGATIVE),
    SLOT(XIELU_BETA),
    SLOT(XIELU_EPSILON),
    SLOT(ROUTER),       /* from here to SHARED_SWITCH: of a mixture, instead of GATE to DOWN */
    SLOT(ROUTER_NORM),  /* before the router, if its input is not the MLP's */
    SLOT(CORRECTION),   /* added where the router chooses experts */
    SLOT(EXPERT_SCALE), /* factor of each expert's weight */
    SLOT(EXPERT_NORM),  /* before experts, if their input is not the MLP's */
    SLOT(EXPERT_IN),    /* to a narrow vector, which experts read */
    SLOT(EXPERT_GATE),
    SLOT(EXPERT_UP),
    SLOT(EXPERT_DOWN),
    SLOT(EXPERT_OUT),   /* from the sum of experts, if they read a narrow vector */
    SLOT(EXPERTS_POST), /* of the sum of experts, of the shared output */
    SLOT(SHARED_POST),
    SLOT(SHARED_GATE),
    SLOT(SHARED_UP),
    SLOT(SHARED_DOWN),
    SLOT(SHARED_SWITCH), /* the factor of the shared expert */
    SLOT(NORM_2_POST),
    SLOT(LAYER_SCALE), /* from here on: of the text; a number that multiplies the stream */
    SLOT(COPY_NORM),   /* of copies of the stream: to numbers of a token, N to N² and N to N */
    SLOT(COPY_ROUTER),
    SLOT(COPY_PREDICT),
    SLOT(COPY_CORRECT),
    SLOT(COPY_SCALE), /* [C] */
    SLOTS,
    SLOTS_OF_ENDS = SLOT_NORM_1, /* ids below this are not of a layer */
    SLOTS_OF_ATTENTION = SLOT_NORM_2,
};

#undef SLOT

/* One parameter. `expert`: it belongs to this expert of a mixture, to this head, whose norm has
 * scales of its own, or to the copy of the stream after this one. `layer` counts in the decoder
 * (the text, its attention to the source: BRANCH_CROSS, its own inputs: BRANCH_PER_LAYER, its
 * mixer: BRANCH_MIXER, the branch beside its attention: BRANCH_LAUREL) or in the encoder
 * (BRANCH_SOURCE). */
struct slot {
    unsigned char branch, id;
    short layer, expert; /* -1: not of a layer; not of an expert, head or copy */
};

static inline struct slot slot_of(int branch, int id, size_t layer)
{
    return (struct slot){(unsigned char)branch, (unsigned char)id, (short)layer, -1};
}

static inline struct slot slot_of_end(int branch, int id)
{
    return (struct slot){(unsigned char)branch, (unsigned char)id, -1, -1};
}

static inline struct slot slot_of_text(int id)
{
    return slot_of_end(BRANCH_TEXT, id);
}

static inline struct slot slot_bias(struct slot slot)
{
    slot.id |= 1;
    return slot;
}

/* The shape of a slot's parameter, [out, in] or [out]; returns its rank, 0: the model has none. */
enum { SLOT_RANK_MAX = 2 };
size_t slot_shape(size_t shape[SLOT_RANK_MAX], struct slot slot, const struct config *config);
bool slot_exists(struct slot slot, const struct config *config);

/* How many experts or heads of a layer, or copies of the stream, have a parameter of this kind
 * each; 0: slot.expert is -1. */
size_t slot_count(int id, const struct config *config);

/* Whether slot_count is above 0 in some configs. */
bool slot_is_of_several(int id);

/* List all slots of a config, in the order of `info` and hashes; returns their number. The items of
 * a list are `step` bytes long and begin with the slot; `list` may be NULL. */
size_t slot_list(void *list, size_t step, const struct config *config);

/* The index of a slot in a list that slot_list made; SIZE_MAX: it is not in the list. */
size_t slot_find(const void *list, size_t count, size_t step, struct slot slot);

enum { PARAMETER_NAME_BYTES = 128, PARAMETER_SHAPE_BYTES = 256 };

/* "[48, 144]"; returns `text`. */
const char *parameter_shape_text(char text[PARAMETER_SHAPE_BYTES], size_t rank,
                                 const size_t *shape);
