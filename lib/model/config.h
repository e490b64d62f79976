/* config.h: what a model is: config.json as numbers that are in range and fit each other.
 *
 * Three types: "gpt2", Hugging Face's keys with their defaults; "attention", a bare stack of
 * attention for worked examples; "transformer", the encoder and decoder of "Attention is all you
 * need". Besides, families of others: family.h.
 */
#ifndef ATTN_MODEL_CONFIG_H
#define ATTN_MODEL_CONFIG_H

#include "math/activation.h"
#include "math/rotary.h"
#include "model/mechanism.h"

struct buf;
struct folder;
struct family;

enum model_kind { MODEL_GPT2, MODEL_ATTENTION, MODEL_TRANSFORMER, MODEL_DECODER };

enum {
    CONFIG_FLAGS_MAX = 512,    /* layers of models in which layers differ */
    CONFIG_UNREAD_BYTES = 256, /* of a list of keys */
    CONFIG_ENDS_MAX = 8,       /* tokens that each end a text */
};

/* Which linear layers have a bias. */
enum config_bias { BIAS_QKV = 1, BIAS_OUT = 2, BIAS_MLP = 4, BIAS_LOGITS = 8, BIAS_ALL = 7 };

/* What a layer does otherwise than most; a bit each. */
enum layer_flag {
    LAYER_WINDOW = 1,     /* it sees the last `window` keys alone */
    LAYER_UNROTATED = 2,  /* its queries and keys do not turn */
    LAYER_LOCAL_TURN = 4, /* they turn as `rotary_local` says */
};

/* How queries and keys are normed, before they turn. */
enum head_norm {
    HEAD_NORM_NONE,
    HEAD_NORM_SHARED, /* each head by itself, all with the same scales [dk] */
    HEAD_NORM_WHOLE,  /* all heads side by side as one row */
};

/* What is added to scores by the distance to a key (Press et al., 2021). */
enum alibi { ALIBI_NONE, ALIBI_BLOOM, ALIBI_FALCON };

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
    float embedding_scale;       /* of the tokens' embeddings; 1: as they are */
    bool sinusoids;              /* positions are waves; else learned, where there are any */
    float epsilon;               /* of the layer norms */
    bool norm_first;             /* x + f(norm(x)); else norm(x + f(x)) */
    bool final_norm;             /* after the last layer */
    float scale;                 /* of the scores */
    bool scale_by_layer;         /* … and divided by the layer's number, counted from 1 */
    bool tied;                   /* the logits use the token embedding, by config.json, … */
    bool lacks_head;             /* … or as the weights have no matrix for them */
    bool causal;                 /* a query sees itself and what came before */
    bool cross;                  /* there is a second text, the source, to look at */
    bool projections;            /* else q = k = v = the input */
    bool out_proj;               /* false: the heads are concatenated */
    unsigned biases;             /* BIAS_…, of the projections */
    const struct family *family; /* the names of its tensors; NULL: this house's own */
    size_t n_word;          /* channels of a token's embedding, if not n_embd: it is projected */
    size_t position_offset; /* of the first token in the table of positions */
    bool embedding_norm;    /* the first stream is normed */
    bool rms;               /* norms divide by the root of the mean square alone … */
    bool norm_offset;       /* … and their scales are 1 + w */
    bool norm_shift;        /* norms have a shift */
    bool norm_in;           /* there are norms in front of sublayers, or after their sums */
    bool norm_out;          /* there are norms of what a sublayer adds */
    bool parallel;          /* attention and MLP read the same stream */
    bool shared_norm;       /* … and the same norm */
    bool residual_normed;   /* what is added to is the normed stream */
    bool stream_normed;     /* where norms come last, what leaves a block is the normed sum */
    bool gated;             /* the MLP is act(gate(x)) · up(x) */
    enum head_norm head_norm;
    enum alibi alibi;
    struct rotary rotary, rotary_local;
    size_t window;
    float score_cap, logit_cap;                  /* c · tanh(x / c); 0: none */
    float residual_scale;                        /* of what is added; 0: as it is */
    float logit_divisor;                         /* 0: as they are */
    unsigned char layer_flags[CONFIG_FLAGS_MAX]; /* LAYER_… */
    long long bos_id, eos_id;                    /* -1: none */
    long long more_ends[CONFIG_ENDS_MAX - 1];    /* each ends a text, too */
    size_t more_end_count;
    double initializer_range;         /* the spread of weights that are not trained yet */
    char unread[CONFIG_UNREAD_BYTES]; /* keys of config.json that say something that no one read */
    struct mechanism mechanism;       /* all zero: the model as it is; no field of config.json */
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

/* Do queries and keys turn in any layer? How they do in one; NULL: they do not. */
bool config_rotates(const struct config *config);
const struct rotary *config_rotary(const struct config *config, size_t layer);

/* The channels of a token's embedding, and of what makes logits. */
static inline size_t config_word_width(const struct config *config)
{
    return config->n_word ? config->n_word : config->n_embd;
}

/* How many keys a query of the layer sees at most, its own included; 0: all. */
size_t config_window(const struct config *config, size_t layer);

/* The scale of a layer's scores, as the model has it; see mechanism_scale. */
float config_scale(const struct config *config, size_t layer);

/* Does the token embedding make the logits, whether it is meant to or has to? */
bool config_ties(const struct config *config);

/* What ends a text that goes on: where the folder has a generation_config.json, its eos_token_id
 * counts. Chat models name the end of their turn there. */
int config_read_ends(struct config *config, const struct folder *folder, struct err *err);

/* Does a text end before this token? */
bool config_ends(const struct config *config, long long id);

/* "gpt2", "attention" or "transformer". */
const char *config_kind_name(const struct config *config);

/* What a config describes, in words, a row a line of `info`: architecture.c. */
struct architecture_row {
    const char *name;                                            /* "norms" */
    void (*write)(struct buf *out, const struct config *config); /* nothing: it has none */
};

extern const struct architecture_row architecture_rows[];
extern const size_t architecture_row_count;

#endif
