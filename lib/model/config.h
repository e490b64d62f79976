/* config.h: what a model is: config.json as numbers that are in range and fit each other.
 *
 * Three types: "gpt2", Hugging Face's keys with their defaults; "attention", a bare stack of
 * attention for worked examples; "transformer", the encoder and decoder of "Attention is all you
 * need".
 */
#ifndef ATTN_MODEL_CONFIG_H
#define ATTN_MODEL_CONFIG_H

#include "math/activation.h"
#include "model/mechanism.h"

struct folder;

enum model_kind { MODEL_GPT2, MODEL_ATTENTION, MODEL_TRANSFORMER };

struct config {
    enum model_kind kind;
    size_t vocab_size;      /* V */
    size_t n_positions;     /* P; 0: any number of tokens */
    size_t n_embd;          /* C */
    size_t n_layer;         /* L: of the decoder, where there is an encoder */
    size_t n_encoder_layer; /* 0: there is none */
    size_t n_head;          /* H */
    size_t n_kv_head;       /* query head h looks at key/value head h / (H / Hkv) */
    size_t d_k, d_v;        /* of one head */
    size_t n_inner;         /* hidden channels of the MLP */
    enum activation activation;
    float embedding_scale;      /* of the tokens' embeddings; 1: as they are */
    bool sinusoids;             /* positions are waves; else learned, where there are any */
    float epsilon;              /* of the layer norms */
    bool norm_first;            /* x + f(norm(x)); else norm(x + f(x)) */
    bool final_norm;            /* after the last layer */
    float scale;                /* of the scores */
    bool scale_by_layer;        /* … and divided by the layer's number, counted from 1 */
    bool tied;                  /* the logits use the token embedding */
    bool causal;                /* a query sees itself and what came before */
    bool cross;                 /* there is a second text, the source, to look at */
    bool projections;           /* else q = k = v = the input */
    bool out_proj;              /* else the heads stand side by side */
    bool bias;                  /* of the projections */
    long long bos_id, eos_id;   /* -1: none */
    double initializer_range;   /* the spread of weights that are not trained yet */
    struct mechanism mechanism; /* all zero: the model as it is; no field of config.json */
};

/* Read `config.json` of a folder, or the text of one. Errors name the field, and the file. */
int config_open(struct config *config, const struct folder *folder, struct err *err);
int config_parse(struct config *config, const char *text, size_t size, struct err *err);

/* Layers are counted through: those of the decoder, then those of the encoder. */
size_t config_layers(const struct config *config);

/* Does a text look at its source alone? With an encoder it looks at itself, too. */
static inline bool config_is_cross(const struct config *config)
{
    return config->cross && !config->n_encoder_layer;
}

/* The scale of a layer's scores, as the model has it; see mechanism_scale. */
float config_scale(const struct config *config, size_t layer);

/* "gpt2", "attention" or "transformer". */
const char *config_kind_name(const struct config *config);

#endif
