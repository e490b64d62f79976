/* parameter_table.h: every tensor a model may have: its name, its shape, and when it is needed.
 *
 * A matrix and its bias are two rows, and a norm's scale and shift: `id + 1` is the other. Layers
 * are counted through, those of the encoder after those of the decoder.
 */
#ifndef ATTN_MODEL_PARAMETER_TABLE_H
#define ATTN_MODEL_PARAMETER_TABLE_H

#include "model/config.h"

enum parameter_id {
    PARAMETER_WTE,
    PARAMETER_WPE,
    PARAMETER_EMBEDDING_NORM,
    PARAMETER_PROJECT_IN = PARAMETER_EMBEDDING_NORM + 2,
    PARAMETER_PROJECT_OUT = PARAMETER_PROJECT_IN + 2,
    PARAMETER_ENCODER_LN_F = PARAMETER_PROJECT_OUT + 2,
    PARAMETER_LN_F = PARAMETER_ENCODER_LN_F + 2,
    PARAMETER_LM_HEAD = PARAMETER_LN_F + 2,
    PARAMETERS_OF_MODEL = PARAMETER_LM_HEAD + 2, /* from here on: once in every layer */
    PARAMETER_LN_1 = PARAMETERS_OF_MODEL,
    PARAMETER_Q = PARAMETER_LN_1 + 2,
    PARAMETER_K = PARAMETER_Q + 2,
    PARAMETER_V = PARAMETER_K + 2,
    PARAMETER_OUT = PARAMETER_V + 2,
    PARAMETER_C_ATTN = PARAMETER_OUT + 2,
    PARAMETER_ATTN_PROJ = PARAMETER_C_ATTN + 2,
    PARAMETER_Q_NORM = PARAMETER_ATTN_PROJ + 2,
    PARAMETER_K_NORM = PARAMETER_Q_NORM + 2,
    PARAMETER_LN_1_POST = PARAMETER_K_NORM + 2,
    PARAMETER_CROSS = PARAMETER_LN_1_POST + 2, /* in decoders: LN_1 to OUT again, so much further */
    PARAMETERS_TO_CROSS = PARAMETER_CROSS - PARAMETER_LN_1,
    PARAMETER_LN_2 = PARAMETER_OUT + PARAMETERS_TO_CROSS + 2,
    PARAMETER_GATE = PARAMETER_LN_2 + 2,
    PARAMETER_FC = PARAMETER_GATE + 2,
    PARAMETER_MLP_PROJ = PARAMETER_FC + 2,
    PARAMETER_LN_2_POST = PARAMETER_MLP_PROJ + 2,
    PARAMETERS = PARAMETER_LN_2_POST + 2,
    PARAMETERS_OF_LAYER = PARAMETERS - PARAMETERS_OF_MODEL,
};

/* A dimension, as a product of a config's numbers. */
enum dimension {
    DIM_NONE,
    DIM_V,      /* vocab_size */
    DIM_P,      /* n_positions, and those before the first */
    DIM_C,      /* n_embd */
    DIM_WORD,   /* of a token's embedding */
    DIM_Q_NORM, /* what the norm of queries has scales for */
    DIM_K_NORM,
    DIM_3C,      /* q, k and v side by side */
    DIM_I,       /* n_inner */
    DIM_QUERIES, /* n_head · d_k */
    DIM_KEYS,    /* n_kv_head · d_k */
    DIM_VALUES,  /* n_kv_head · d_v */
    DIM_CONTEXT, /* n_head · d_v */
    DIM_OUT,     /* of the output of attention */
};

struct parameter_row {
    const char *name; /* in a layer: what follows "h.3.", or "enc.3." in the encoder */
    enum dimension shape[2];
    int needs; /* what a model must have for it: see parameter_table.c */
    bool optional;
};

extern const struct parameter_row parameter_rows[PARAMETERS];

struct parameter_key {
    enum parameter_id id;
    size_t layer; /* 0 outside the layers */
};

/* Where a parameter stands among all, those in layers once a layer; which one stands there; how
 * many there are. */
size_t parameter_index(enum parameter_id id, size_t layer);
struct parameter_key parameter_key(size_t index);
size_t parameter_count(const struct config *config);

/* Has a model of this config the parameter, in this layer if it is one of a layer? */
bool parameter_is_used(enum parameter_id id, size_t layer, const struct config *config);

/* The sizes the config asks for; returns the rank, 1 or 2. */
size_t parameter_shape(size_t shape[2], enum parameter_id id, const struct config *config);

enum { PARAMETER_NAME_BYTES = 128, PARAMETER_SHAPE_BYTES = 256 };

/* "wte.weight", "h.3.attn.c_attn.weight", "enc.0.ln_1.bias"; "[48, 144]"; both return the text. */
const char *parameter_name(char name[PARAMETER_NAME_BYTES], enum parameter_id id, size_t layer,
                           const struct config *config);
const char *parameter_shape_text(char text[PARAMETER_SHAPE_BYTES], size_t rank,
                                 const size_t *shape);

#endif
