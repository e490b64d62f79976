/* parameter_table.h: all parameters that a model may have, in one table. A row is a kind of tensor,
 * with the axes of its shape and the properties of a config that it depends on.
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
    SLOT(TOKENS), /* embeddings [V, C or n_word] */
    SLOT(POSITIONS),
    SLOT(SEGMENTS),
    SLOT(EMBED_NORM),
    SLOT(EMBED_PROJECT), /* projects token embeddings to the channels of the residual stream */
    SLOT(PROJECT_OUT),   /* projects the residual stream to the channels of token embeddings */
    /* Shared by all layers of a stack: biases of scores by distance [buckets, H], or a vector for
     * each distance. */
    SLOT(BIASES),
    SLOT(BIAS_NORM),     /* norm of the vectors for distances */
    SLOT(GIVEN_TOKENS),  /* extra inputs of the layers for each token [rows of the table, layers ·
                          * channels] */
    SLOT(GIVEN_PROJECT), /* from embeddings to the layers' extra inputs; GIVEN_NORM is their norm */
    SLOT(GIVEN_NORM),
    /* COPY_IN: from embeddings to copies of the stream; COPY_OUT: from copies to the vectors that
     * are merged. */
    SLOT(COPY_IN),
    SLOT(COPY_OUT),
    SLOT(FINAL_NORM),
    SLOT(POOLER),
    SLOT(TRANSFORM), /* the dense layer before the unembedding */
    SLOT(TRANSFORM_NORM),
    SLOT(DISCRIMINATOR), /* the dense layer before the discriminator's logit */
    SLOT(DISCRIMINATOR_LOGIT),
    SLOT(UNEMBED), /* the unembedding [V, C or n_word] */
    SLOT(NORM_1),  /* slots from here on belong to a layer; its attention comes first */
    /* Q_DOWN: from the input to a narrow vector; Q_DOWN_NORM: the norm of this vector; Q_UP: from
     * the vector to queries. */
    SLOT(Q_DOWN),
    SLOT(Q_DOWN_NORM),
    SLOT(Q_UP),
    SLOT(KV_DOWN),  /* from the input to the narrow vector of keys and values */
    SLOT(K_ROTARY), /* the rotated channels of keys, which all heads share */
    SLOT(KV_DOWN_NORM),
    SLOT(Q),
    SLOT(K),
    SLOT(V),
    SLOT(O),
    SLOT(LAYER_BIASES), /* biases of scores by distance, in a layer */
    /* BIAS_Q, BIAS_K: from vectors of distances to queries, and to keys. */
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
    /* The gate of the context. If the gate has a narrow vector, OUT_GATE_DOWN makes the vector. */
    SLOT(OUT_GATE),
    SLOT(OUT_GATE_DOWN),
    /* From here to OUT_NORM: slots of a mixer. CONV_…: numbers of its convolution [channels,
     * taps]. */
    SLOT(CONV_Q),
    SLOT(CONV_K),
    SLOT(CONV_V),
    /* STEP_DOWN: from the input to a narrow vector; STEP_NORM: the norm of this vector; STEP: from
     * the vector to steps. */
    SLOT(STEP_DOWN),
    SLOT(STEP_NORM),
    SLOT(STEP),
    SLOT(STEP_SHIFT),
    SLOT(DECAY),
    SLOT(BETA), /* makes the strength b of a token (struct mixer) */
    SLOT(SKIP),
    SLOT(OUT_NORM),
    SLOT(NORM_1_POST), /* norm of attention's output */
    SLOT(NORM_2),      /* slots from here on belong to the MLP */
    SLOT(GATE),
    SLOT(UP),
    SLOT(DOWN),
    /* XIELU_…: parameters of the activation xIELU. */
    SLOT(XIELU_POSITIVE),
    SLOT(XIELU_NEGATIVE),
    SLOT(XIELU_BETA),
    SLOT(XIELU_EPSILON),
    /* From here to SHARED_SWITCH: slots of a mixture, which has them in place of GATE to DOWN. */
    SLOT(ROUTER),
    SLOT(ROUTER_NORM),  /* norm of the router's input, if this is not the MLP's input */
    SLOT(CORRECTION),   /* a number for each expert, added to scores where experts are chosen */
    SLOT(EXPERT_SCALE), /* a number for each expert that multiplies its weight */
    SLOT(EXPERT_NORM),  /* norm of the experts' input, if this is not the MLP's input */
    SLOT(EXPERT_IN),    /* from the stream to the narrow vector that experts read */
    SLOT(EXPERT_GATE),
    SLOT(EXPERT_UP),
    SLOT(EXPERT_DOWN),
    SLOT(EXPERT_OUT),   /* from the sum of experts to the stream, if experts read a narrow vector */
    SLOT(EXPERTS_POST), /* norms of the sum of experts, and of the shared expert's output */
    SLOT(SHARED_POST),
    SLOT(SHARED_GATE),
    SLOT(SHARED_UP),
    SLOT(SHARED_DOWN),
    SLOT(SHARED_SWITCH), /* a matrix that makes the factor of the shared expert's output */
    SLOT(NORM_2_POST),
    /* Slots from here on: only in layers of the text. LAYER_SCALE: a number that multiplies the
     * stream. */
    SLOT(LAYER_SCALE),
    /* COPY_…: of the N copies of the stream. A norm and a router make N numbers for a token; from
     * these, COPY_PREDICT makes N² and COPY_CORRECT makes N. */
    SLOT(COPY_NORM),
    SLOT(COPY_ROUTER),
    SLOT(COPY_PREDICT),
    SLOT(COPY_CORRECT),
    SLOT(COPY_SCALE), /* numbers [C] that multiply the corrected copy */
    SLOTS,
    SLOTS_OF_ENDS = SLOT_NORM_1, /* slots below this belong to no layer */
    SLOTS_OF_ATTENTION = SLOT_NORM_2,
};

#undef SLOT

/* One parameter. `layer`: its layer in the decoder or, if branch is BRANCH_SOURCE, in the encoder.
 * In the decoder the branch is BRANCH_TEXT, or BRANCH_CROSS for attention to the source,
 * BRANCH_PER_LAYER for the layer's own input, BRANCH_MIXER for its mixer, BRANCH_LAUREL for its
 * low-rank branch. `expert`: the expert that has it; or the head, if norms of heads have scales of
 * their own; or the copy of the stream less 1. */
struct slot {
    unsigned char branch, id;
    /* layer is -1 outside of layers; expert is -1 if neither an expert nor a head or copy has
     * it. */
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

/* The shape of a slot's parameter, [out, in] or [out]. Returns its rank; 0: the model lacks it. */
enum { SLOT_RANK_MAX = 2 };
size_t slot_shape(size_t shape[SLOT_RANK_MAX], struct slot slot, const struct config *config);
bool slot_exists(struct slot slot, const struct config *config);

/* How many parameters of this kind a layer has: one for each expert, head or copy of the stream. 0:
 * it has at most one, with slot.expert = -1. */
size_t slot_count(int id, const struct config *config);

/* Whether slot_count is above 0 for some configs. */
bool slot_is_of_several(int id);

/* List all slots of a config, in the order of `info` and of hashes; returns their number. An item
 * of the list is `step` bytes long and begins with its slot. `list` may be NULL. */
size_t slot_list(void *list, size_t step, const struct config *config);

/* The index of a slot in a list that slot_list made; SIZE_MAX: it is not in the list. */
size_t slot_find(const void *list, size_t count, size_t step, struct slot slot);

enum { PARAMETER_NAME_BYTES = 128, PARAMETER_SHAPE_BYTES = 256 };

/* Write a shape, such as "[48, 144]"; returns `text`. */
const char *parameter_shape_text(char text[PARAMETER_SHAPE_BYTES], size_t rank,
                                 const size_t *shape);
