/* parameter_table.h: all parameters that a model may have, in one table. A row is a kind of
 * parameter, with the axes of its shape and the properties that a config must have for it.
 *
 * A slot is one parameter: a matrix, a norm's scale or, with id + 1, the bias or shift that goes
 * with it. All families have the same slots; only names and layouts of tensors differ (family.h).
 *
 *     size_t shape[SLOT_RANK_MAX];
 *     struct slot q = slot_of(BRANCH_TEXT, SLOT_Q, layer);
 *     if (slot_shape(shape, q, config)) ... a matrix [out, in] = [H·dk, C]
 * */
#pragma once

#include "model/config.h"
#include "model/site.h"

#define SLOT(name) SLOT_##name, SLOT_##name##_BIAS

enum slot_id {
    SLOT(NONE),
    SLOT(TOKENS), /* token embeddings [V, C] or, if config.n_word is not 0, [V, n_word] */
    SLOT(POSITIONS),
    SLOT(SEGMENTS),
    SLOT(EMBED_NORM),
    SLOT(EMBED_PROJECT), /* projects token embeddings to the channels of the residual stream */
    SLOT(PROJECT_OUT),   /* projects the residual stream to the channels of token embeddings */
    /* BIASES, shared by all layers of a stack: biases of scores by distance [buckets, H] or, in
     * DeBERTa, a vector for each distance. */
    SLOT(BIASES),
    SLOT(BIAS_NORM),     /* norm of the distance vectors */
    SLOT(GIVEN_TOKENS),  /* extra inputs of all layers for each token [rows of the table, layers ·
                          * channels] */
    SLOT(GIVEN_PROJECT), /* projection of embeddings to the layers' extra inputs; GIVEN_NORM is the
                          * norm of its result */
    SLOT(GIVEN_NORM),
    /* COPY_IN: projects embeddings to copies of the stream; COPY_OUT: projects copies to the
     * vectors that are merged after the last layer. */
    SLOT(COPY_IN),
    SLOT(COPY_OUT),
    SLOT(FINAL_NORM),
    SLOT(POOLER),
    SLOT(TRANSFORM), /* the dense layer before the unembedding */
    SLOT(TRANSFORM_NORM),
    SLOT(DISCRIMINATOR), /* the dense layer before the discriminator's logit */
    SLOT(DISCRIMINATOR_LOGIT),
    SLOT(UNEMBED), /* the unembedding [V, C] or, if config.n_word is not 0, [V, n_word] */
    SLOT(NORM_1),  /* slots from here on belong to a layer, the slots of its attention first */
    /* Q_DOWN: projection of the input to a narrow vector; Q_DOWN_NORM: norm of this vector; Q_UP:
     * projection of the vector to queries. */
    SLOT(Q_DOWN),
    SLOT(Q_DOWN_NORM),
    SLOT(Q_UP),
    SLOT(KV_DOWN),  /* projection of the input to the narrow vector of keys and values */
    SLOT(K_ROTARY), /* projection of the input to the rotated channels of keys, which all heads
                     * share */
    SLOT(KV_DOWN_NORM),
    SLOT(Q),
    SLOT(K),
    SLOT(V),
    SLOT(O),
    SLOT(LAYER_BIASES), /* the layer's own biases of scores by distance [buckets, H] */
    /* BIAS_Q, BIAS_K: projections of distance vectors to queries, and to keys. */
    SLOT(BIAS_Q),
    SLOT(BIAS_K),
    SLOT(Q_NORM),
    SLOT(K_NORM),
    SLOT(SINKS), /* the score of each head's sink */
    /* lambda of a layer is e^(Q1 · K1) - e^(Q2 · K2) + head_rule.differ. */
    SLOT(LAMBDA_Q1),
    SLOT(LAMBDA_K1),
    SLOT(LAMBDA_Q2),
    SLOT(LAMBDA_K2),
    SLOT(CONTEXT_NORM), /* not a parameter: the norm of contexts has no scales */
    /* OUT_GATE: projection to the gate of the context. If the gate has a narrow vector,
     * OUT_GATE_DOWN is the projection to this vector, from which OUT_GATE then computes the
     * gate. */
    SLOT(OUT_GATE),
    SLOT(OUT_GATE_DOWN),
    /* From here to OUT_NORM: slots of a mixer. CONV_…: the weights of its convolution [channels,
     * taps]. */
    SLOT(CONV_Q),
    SLOT(CONV_K),
    SLOT(CONV_V),
    /* STEP_DOWN: projection of the input to a narrow vector; STEP_NORM: norm of this vector; STEP:
     * projection of the vector to steps. */
    SLOT(STEP_DOWN),
    SLOT(STEP_NORM),
    SLOT(STEP),
    SLOT(STEP_SHIFT),
    SLOT(DECAY),
    SLOT(BETA), /* projection of the input to the strength b of each token (struct mixer) */
    SLOT(SKIP),
    SLOT(OUT_NORM),
    SLOT(NORM_1_POST), /* norm of attention's output */
    SLOT(NORM_2),      /* slots from here on belong to the MLP */
    SLOT(GATE),
    SLOT(UP),
    SLOT(DOWN),
    /* XIELU_…: learned parameters of the activation xIELU. */
    SLOT(XIELU_POSITIVE),
    SLOT(XIELU_NEGATIVE),
    SLOT(XIELU_BETA),
    SLOT(XIELU_EPSILON),
    /* From here to SHARED_SWITCH: slots of a mixture of experts, which it has in place of GATE, UP
     * and DOWN. */
    SLOT(ROUTER),
    SLOT(ROUTER_NORM),  /* norm of the router's input, where the router does not read the MLP's
                         * input */
    SLOT(CORRECTION),   /* a number for each expert, which is added to its score when experts are
                         * chosen */
    SLOT(EXPERT_SCALE), /* a number for each expert, by which its weight is multiplied */
    SLOT(EXPERT_NORM),  /* norm of the experts' input, where the experts do not read the MLP's
                         * input */
    SLOT(EXPERT_IN),    /* projection of the stream to the narrow vector that experts read */
    SLOT(EXPERT_GATE),
    SLOT(EXPERT_UP),
    SLOT(EXPERT_DOWN),
    SLOT(EXPERT_OUT),   /* projection of the experts' sum to the stream, where experts read a narrow
                         * vector */
    SLOT(EXPERTS_POST), /* EXPERTS_POST: norm of the sum of the experts' outputs; SHARED_POST: norm
                         * of the shared expert's output */
    SLOT(SHARED_POST),
    SLOT(SHARED_GATE),
    SLOT(SHARED_UP),
    SLOT(SHARED_DOWN),
    SLOT(SHARED_SWITCH), /* projection of the input to the gate of the shared expert's output */
    SLOT(NORM_2_POST),
    /* Slots from here on exist only in layers of the text. LAYER_SCALE: a number by which the
     * stream is multiplied. */
    SLOT(LAYER_SCALE),
    /* COPY_…: parameters of the N copies of the stream. COPY_NORM and COPY_ROUTER compute N numbers
     * for a token; from these, COPY_PREDICT computes N² numbers and COPY_CORRECT computes N. */
    SLOT(COPY_NORM),
    SLOT(COPY_ROUTER),
    SLOT(COPY_PREDICT),
    SLOT(COPY_CORRECT),
    SLOT(COPY_SCALE), /* [C] factors of the active copy of the stream after its correction */
    SLOTS,
    SLOTS_OF_ENDS = SLOT_NORM_1, /* slot ids below this belong to no layer */
    SLOTS_OF_ATTENTION = SLOT_NORM_2,
};

#undef SLOT

/* One parameter. `layer`: index of its layer in the decoder or, if branch is BRANCH_SOURCE, in the
 * encoder. `branch` in the decoder: BRANCH_TEXT, or BRANCH_CROSS for attention to the source,
 * BRANCH_PER_LAYER for the sublayer of the extra input, BRANCH_MIXER for the mixer, BRANCH_LAUREL
 * for the low-rank branch. `expert`: index of the expert that has the parameter; or of the head, if
 * the norms of heads have their own scales; or of the copy of the stream, minus 1. */
struct slot {
    unsigned char branch, id;
    /* layer: -1 outside of layers; expert: -1 if the parameter belongs to no expert, head or
     * copy. */
    short layer, expert;
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

/* Set the shape of a slot's parameter, [out, in] or [out], and return its rank; 0: the model lacks
 * the parameter. */
enum { SLOT_RANK_MAX = 2 };
size_t slot_shape(size_t shape[SLOT_RANK_MAX], struct slot slot, const struct config *config);
bool slot_exists(struct slot slot, const struct config *config);

/* How many parameters a layer has for this slot id: one for each expert, head or copy of the
 * stream. 0: it has at most one, with slot.expert = -1. */
size_t slot_count(int id, const struct config *config);

/* Whether slot_count returns more than 0 for some config. */
bool slot_is_of_several(int id);

/* List all slots of a config, in the order of `info` and of hashes; returns their number. Each item
 * of the list is `step` bytes long and begins with its slot. If `list` is NULL the slots are only
 * counted. */
size_t slot_list(void *list, size_t step, const struct config *config);

/* The index of a slot in a list that slot_list made; SIZE_MAX: the list lacks it. */
size_t slot_find(const void *list, size_t count, size_t step, struct slot slot);

enum { PARAMETER_NAME_BYTES = 128, PARAMETER_SHAPE_BYTES = 256 };

/* Write a shape, such as "[48, 144]"; returns `text`. */
const char *parameter_shape_text(char text[PARAMETER_SHAPE_BYTES], size_t rank,
                                 const size_t *shape);
