/* config.h: a model's architecture: the numbers of config.json, validated.
 *
 * Three values of model_type are kinds of their own: "gpt2", with Hugging Face's keys and defaults;
 * "attention", attention layers alone, for worked examples; "transformer", the encoder-decoder of
 * "Attention is all you need". All others are MODEL_DECODER, encoders too: family.h. */
#pragma once

#include "math/activation.h"
#include "math/rotary.h"
#include "math/rows.h"
#include "model/mechanism.h"

struct description;
struct folder;
struct family;
struct classifier;

enum model_kind { MODEL_GPT2, MODEL_ATTENTION, MODEL_TRANSFORMER, MODEL_DECODER };

enum {
    CONFIG_FLAGS_MAX = 512,    /* most layers of a model in which layers differ */
    CONFIG_UNREAD_BYTES = 256, /* of `unread`, a list of keys */
    CONFIG_ENDS_MAX = 8,       /* most end-of-text tokens; most banned tokens */
    EXPERTS_MAX = 1024,        /* most experts of a layer */
    COPIES_MAX = 16,           /* most copies of the residual stream */
    PRODUCT_FACTORS_MAX = 10,  /* kinds of products with a factor, and one without, the last */
};

/* Sublayers (layer.h); SUBLAYER_ATTEND_SOURCE: attention to another text. */
enum sublayer_kind {
    SUBLAYER_ATTEND,
    SUBLAYER_ATTEND_SOURCE,
    SUBLAYER_MLP,
    SUBLAYER_MIX,
    SUBLAYER_KINDS
};

/* Which linear layers have a bias. */
enum config_bias {
    BIASED_QKV = 1,
    BIASED_OUT = 2,
    BIASED_MLP = 4,
    BIASED_LOGITS = 8,
    BIASED_TRANSFORM = 16, /* the dense layer before the logits */
    BIASED_EXPERTS = 32,   /* biases of experts, but for the shared one */
    BIASED_DOWN = 64,      /* the last layer of the MLP alone */
    BIASED_MIXER_IN = 128, /* of layers that keep a state: of their input, of their output */
    BIASED_MIXER_OUT = 256,
    BIASED_CONVOLUTION = 512,
    BIASED_ALL = 7
};

/* What follows the last layer. In all models but encoder-decoders, weights_open learns it from the
 * file. */
enum model_end {
    END_LOGITS,        /* logits of the next token */
    END_MASKED,        /* logits of the token itself, after a dense layer (BERT) */
    END_CLASSES,       /* logits of classes, with or without a dense layer before them */
    END_DISCRIMINATOR, /* one logit of each token: whether it was replaced (ELECTRA) */
    END_POOLED,        /* a dense layer of the first token */
    END_STREAM,        /* nothing */
};

/* Whose logits are the model's answer: the first token's logits, the mean over all tokens (which
 * then replaces each), the last token's, or each token's own. */
enum class_answer { ANSWER_OF_FIRST, ANSWER_OF_MEAN, ANSWER_OF_LAST, ANSWER_OF_EACH };

/* Properties of single layers, as bits. */
enum layer_flag {
    LAYER_WINDOW = 1,       /* queries attend only to keys within the window: config_window */
    LAYER_UNROTATED = 2,    /* no rotary embedding */
    LAYER_ROTARY_LOCAL = 4, /* rotary embedding of `rotary_local` */
    LAYER_FIRST_PLAIN = 8,  /* no norm before attention */
    LAYER_WIDE = 16,        /* heads of the sizes of `wide` */
    LAYER_MIXER = 32,       /* a mixer in place of attention */
    LAYER_NO_MLP = 64,      /* attention, or a mixer, alone */
    LAYER_MLP_ALONE = 128,  /* neither attention nor a mixer */
};

/* Norms of queries and keys: each head by itself, with the same scales [dk], before the rotary
 * embedding, unless a field says otherwise. */
struct head_norm {
    bool q, k;  /* of queries, of keys */
    bool whole; /* all heads together, as one row */
    bool own;   /* each head has scales of its own */
    bool shift;
    bool after_rotary;
    bool v; /* also of values, without scales */
};

/* Heads of layers with LAYER_WIDE: the size of queries, keys and values, the number of heads of
 * keys, and whether values are the keys before their norm and rotation. */
struct wide_heads {
    size_t d, kv_heads;
    bool v_is_k;
};

/* Copies of the residual stream, of which a layer works on one: it predicts all from all, and then
 * corrects them by its result for that one (AltUp). */
struct stream_copies {
    size_t count, active; /* 0: one stream, as usual */
    bool scaled;          /* what is read of the corrected one is multiplied by a vector */
};

/* The least mean square by which a copy is divided when it is scaled. */
#define COPY_LEAST_SQUARE 1e-5

/* The bias of the scores, by the key's position or its distance from the query. */
enum score_bias {
    NO_BIAS,
    BIAS_ALIBI,          /* slope · position of the key, after the scale (Press et al., 2021) */
    BIAS_ALIBI_ROUNDED,  /* ALiBi in bf16, added before the scale (Falcon) */
    BIAS_ALIBI_FROM_END, /* slope · (position - position of the last key) (MPT) */
    BIAS_ALIBI_APART,    /* - slope · distance, in both directions (JinaBERT) */
    BIAS_BUCKETS,        /* a number of a table for each distance (T5) */
    BIAS_DISENTANGLED,   /* products of queries and keys with rows of distances (DeBERTa) */
};

/* BIAS_DISENTANGLED: its products, and how the rows of distances are made. */
enum bias_terms {
    TERM_KEYS = 1,    /* queries with keys of distances */
    TERM_QUERIES = 2, /* keys with queries of distances */
    TERM_LOG = 4,     /* far distances share rows, in logarithmic ranges */
    TERM_SHARED = 8,  /* distances have the matrices of tokens, else their own */
    TERM_NORMED = 16, /* a norm of the table of distances */
};

/* The norms of a block, and what its sublayers read. */
enum block_style {
    STYLE_BARE,        /* no norms and no residual stream: attention alone */
    STYLE_PRE,         /* x + f(norm(x)) */
    STYLE_POST,        /* norm(x + f(x)) */
    STYLE_POST_STREAM, /* norms of sums, where resid_post is the normed sum (OPT-350m) */
    STYLE_AFTER,       /* x + norm(f(x)) (OLMo 2) */
    STYLE_SANDWICH,    /* x + norm(f(norm(x))) (Gemma 2) */
    STYLE_PARALLEL,    /* attention and MLP read the same stream, each through its norm */
    STYLE_ONE_NORM,    /* attention and MLP side by side, through one norm */
    STYLE_TO_NORMED,   /* norm(x) + f(norm(x)) (an option of BLOOM) */
};

/* From the logits z of a router to the weights of experts. */
enum router {
    ROUTER_OF_ALL,    /* softmax of z; the best are chosen */
    ROUTER_OF_CHOSEN, /* the best of z are chosen; softmax of these */
    ROUTER_SIGMOID,
    ROUTER_ONE_BY_ONE, /* each the best of those left; weight: its softmax among those near it */
};

/* A mixture of experts, in layers that choose some of them. */
struct mixture {
    size_t experts;                          /* E; 0: no mixture */
    unsigned short chosen[CONFIG_FLAGS_MAX]; /* in each layer; 0: it has a plain MLP */
    size_t inner, shared_inner; /* hidden channels of an expert; of one for all tokens, 0: none */
    size_t latent; /* channels of a narrow vector in which experts work; 0: the stream's */
    size_t groups, chosen_groups; /* groups of neighbouring experts; how many a token may use */
    enum router router;
    float factor;      /* factor of the weights; 0: none */
    float near;        /* ROUTER_ONE_BY_ONE: experts up to this relative distance are near */
    bool renormalised; /* weights are divided by their sum, or by `least` if that is more */
    float least;
    float more;       /* added to that sum */
    bool corrected;   /* a vector is added before experts are chosen, but not to their weights */
    bool two_best;    /* the score of a group is the sum of its two best, else its best */
    bool shared_gate; /* a number for each token multiplies the output of the shared expert */
    bool router_bias;
    /* Router and experts read the stream, each through its norm, and the shared one the input of
     * the MLP; the sum of experts and the shared output are normed; router_factor multiplies
     * logits, and a number of each expert its weight (Gemma 4). */
    bool beside;
    float router_factor;
};

/* How a mixer changes its state S [dk, dv], of each head, at a token with the key k, the value v,
 * the decay a and the strength b; then context = Sᵀ q. */
enum mixer_update {
    MIXER_CONVOLVE, /* there is no state: context = q · convolution(k · v), channel by channel */
    MIXER_ADD,      /* S = a S + b k vᵀ (Mamba) */
    MIXER_DELTA,    /* S = a S + b k (v - (a S)ᵀ k)ᵀ (gated delta rule) */
};

/* b: the step, or the logistic function of a product, or twice that. */
enum mixer_strength { STRENGTH_STEP, STRENGTH_LOGISTIC, STRENGTH_TWICE };

/* Functions of a gate's product. */
enum gate { GATE_NONE, GATE_SILU, GATE_LOGISTIC };

/* What layers have that keep a state in place of keys and values. The step of a token is r =
 * softplus(product + shift), at least step_least and at most step_most; a = e^(-e^DECAY r). */
struct mixer {
    size_t heads;     /* heads of values; MIXER_CONVOLVE: channels; 0: the model has no mixers */
    size_t key_heads; /* heads of queries and keys, a divisor of `heads` */
    size_t d_k, d_v;
    enum mixer_update update;
    size_t taps;                /* inputs that the convolution of a channel sees; 0: none */
    enum activation activation; /* after the convolution */
    bool only_v;      /* values alone are convolved; queries, keys and steps are made of them */
    bool unit;        /* queries and keys become unit vectors; queries are divided by √dk */
    bool inner_norms; /* norms of queries, keys and narrow steps */
    bool plain_norms; /* these have no scales */
    size_t step_rank; /* channels of the narrow vector of which steps are made; 0: none */
    bool step_each;   /* a step for each channel of a key, else for each head */
    bool decay_each;  /* a parameter DECAY for each channel of a key, else for each head */
    float step_least, step_most;
    enum mixer_strength strength;
    bool skip;         /* a number of each head times v is added to the context */
    enum gate gate;    /* of the context */
    size_t gate_rank;  /* channels of the narrow vector of which the gate is made; 0: none */
    bool gate_first;   /* the gate comes before the norm */
    bool out_norm;     /* of the context: of each head, all with the same scales; with out_groups */
    size_t out_groups; /* of so many groups of the whole */
    float epsilon;     /* epsilon of these norms; 0: as in other norms */
    bool beside;       /* in all layers, beside attention, through one norm */
    enum block_style style; /* of layers with a mixer in place of attention */
};

/* The numbers of a token's decays, in each head. */
static inline size_t mixer_decays(const struct mixer *mixer)
{
    return mixer->step_each || mixer->decay_each ? mixer->d_k : 1;
}

/* The channels of q, k and v, side by side; the channels that the convolution reads. */
static inline size_t mixer_channels(const struct mixer *m)
{
    return 2 * m->key_heads * m->d_k + m->heads * m->d_v;
}

static inline size_t mixer_convolved(const struct mixer *m)
{
    bool only_v = m->only_v || m->update == MIXER_CONVOLVE;
    return only_v ? m->heads * m->d_v : mixer_channels(m);
}

/* Whether each channel is a head. */
static inline bool mixer_of_channels(const struct mixer *m)
{
    return m->heads && m->d_v == 1;
}

/* Floats of a state, of all heads. */
static inline size_t mixer_state(const struct mixer *m)
{
    return m->update == MIXER_CONVOLVE ? 0 : m->heads * m->d_k * m->d_v;
}

/* Floats that a mixer keeps of a text. */
static inline size_t mixer_kept(const struct mixer *m)
{
    return mixer_state(m) + (m->taps ? m->taps - 1 : 0) * mixer_convolved(m);
}

/* Of kinds of products, factors before their biases are added, and of these. */
struct product_factors {
    struct product_factor {
        unsigned char branch, slot; /* parameter_table.h */
        float factor, bias;
    } list[PRODUCT_FACTORS_MAX]; /* the last has a factor of 0 */
};

/* How tokens are chosen after a source, as in transformers; all tokens of the decoder count for
 * max_length and min_length. */
struct generation_rules {
    size_t max_length, max_new, min_length, min_new; /* 0: none */
    size_t beams;                                    /* 0 and 1: no search */
    double length_penalty; /* a text's score is its log-probability / (new tokens)^penalty */
    enum { EARLY_NO, EARLY_YES, EARLY_NEVER } early; /* when a search ends */
    size_t no_repeat;      /* n-grams of this length occur once; 0: no limit */
    long long first, last; /* forced: after the start token; at the limit of length; -1: none */
    long long banned[CONFIG_ENDS_MAX];
    size_t banned_count;
    bool renormalised; /* probabilities sum to 1 again after these rules */
};

/* features.c lists each field. */
struct config {
    enum model_kind kind;
    size_t vocab_size;      /* V */
    size_t n_positions;     /* P; 0: any number of tokens */
    size_t n_embd;          /* C */
    size_t n_layer;         /* L; with an encoder: layers of the decoder */
    size_t n_encoder_layer; /* 0: no encoder */
    size_t n_head;          /* H */
    size_t n_kv_head;       /* Hkv, a divisor of H */
    size_t d_k, d_v;        /* channels of one head */
    size_t d_out;           /* in attention alone: columns of W_O */
    size_t n_inner;         /* hidden channels of the MLP */
    enum activation activation;
    struct wide_heads wide;            /* heads of layers with LAYER_WIDE */
    unsigned inners[CONFIG_FLAGS_MAX]; /* hidden channels of a layer's MLP; 0: n_inner */
    size_t given, given_rows; /* channels of each layer's own input; rows of its table of tokens */
    bool given_lenient;       /* ids beyond that table have its row 0; else they are refused */
    bool layer_scale;         /* the stream after each layer is multiplied by a number of it */
    struct stream_copies copies;
    size_t laurel;                    /* channels of a low-rank branch beside attention; 0: none */
    float sparsity[CONFIG_FLAGS_MAX]; /* share of a layer's gates that become 0; 0: as they are */
    size_t n_borrowing;     /* last layers, which read the keys and values of an earlier one */
    size_t n_encoder_inner; /* hidden channels of the encoder's MLPs; 0: n_inner */
    size_t n_encoder_head;  /* 0: as many as the decoder has */
    size_t n_encoder_vocab; /* rows of the encoder's table of tokens; 0: it uses the decoder's */
    bool xielu;             /* instead of `activation`: xIELU, with parameters in each layer */
    float embedding_scale;  /* factor of token embeddings */
    bool drops_masks;       /* as embed_rule.drops_masks (layer.h) */
    long long mask_id;      /* the id of a mask, if `drops_masks` */
    bool sinusoids;         /* sinusoidal positions; else learned ones, if any */
    enum sines sines;       /* order of sinusoidal positions */
    float epsilon;          /* epsilon of the norms */
    enum block_style style;
    bool final_norm;              /* after the last layer */
    float scale;                  /* scale of the scores */
    bool scale_by_layer;          /* scores are also divided by the layer's number, from 1 */
    bool tied;                    /* the unembedding is tied to the embedding */
    bool lacks_unembed;           /* not tied, but the weights lack an unembedding: as if tied */
    bool causal;                  /* a query attends to itself and earlier tokens */
    bool cross;                   /* queries attend to a second text, the source */
    bool projections;             /* else q = k = v = the input */
    bool out_proj;                /* false: the output is the concatenated heads */
    unsigned biases;              /* BIASED_… */
    const struct family *family;  /* names and layouts of tensors */
    size_t n_word;                /* channels of token embeddings that are projected to C; 0: C */
    bool projects_last;           /* the sum of embeddings is projected, not the token's alone */
    size_t position_offset;       /* row of the first token in the table of positions */
    bool counted;                 /* positions number the tokens that are not padding */
    long long padding_id;         /* id of the padding token, if `counted` */
    size_t n_segments;            /* rows of the table of segments; 0: none */
    size_t n_group, group_layers; /* groups, each run several times; layers of one; 0: none */
    bool embedding_norm;          /* a norm of the embedding */
    bool adds_twice;              /* the output of attention is norm(x + attention(x)) */
    bool own_tables;  /* an encoder has tables of positions and norms of embeddings of its own */
    bool rms;         /* RMS norms, else layer norms */
    bool norm_offset; /* scales of norms are 1 + w */
    bool norm_shift;  /* norms have a shift */
    bool norm_plain;  /* norms have neither scales nor a shift */
    bool gated;       /* hidden channels of the MLP are act(gate(x)) · up(x) */
    float clamp, up_offset; /* limit of gate and up; added to up (mlp_rule, layer.h); 0: none */
    float gate_slope; /* s of quick_gelu, x · logistic(s · x), in MLPs with `clamp`; 0: 1.702 */
    struct mixture mixture;
    struct mixer mixer;
    struct head_norm head_norm;
    enum gate head_gate;        /* of the context of attention, channel by channel */
    size_t latent_q, latent_kv; /* channels of a narrow vector from which queries, or keys and
                                 * values, are made; 0: they are made from the layer's input */
    float clip;                 /* limit of queries, keys and values: [-clip, clip]; 0: none */
    bool differs;               /* two heads make one context: head_rule.differ (layer.h) */
    enum score_bias score_bias;
    unsigned short bias_buckets; /* rows of the table; BIAS_DISENTANGLED: half of them */
    unsigned short bias_reach;   /* the distance from which on biases are equal */
    unsigned char bias_terms;    /* BIAS_DISENTANGLED: TERM_… */
    bool bias_by_layer;          /* each layer has a table; else one is for all */
    struct rotary rotary, rotary_local;
    size_t window;
    bool sinks;                 /* the softmax of each head has one score more, of no key */
    float score_cap, logit_cap; /* c · tanh(x / c); 0: none */
    float residual_scale[SUBLAYER_KINDS]; /* factors of sublayers' outputs; 0: none */
    struct product_factors factors;
    float logit_divisor;                          /* 0: none */
    unsigned short layer_flags[CONFIG_FLAGS_MAX]; /* LAYER_… */
    size_t extra_layers;      /* after n_layer, for multi-token prediction; not read */
    long long bos_id, eos_id; /* -1: none */
    long long more_ends[CONFIG_ENDS_MAX - 1]; /* further end-of-text tokens */
    size_t more_end_count;
    struct generation_rules generation; /* for a model with an encoder */
    enum model_end end;
    enum activation end_activation;      /* activation of the dense layer before the logits */
    size_t n_class;                      /* END_CLASSES: number of classes */
    const struct classifier *classifier; /* END_CLASSES: family.h */
    enum class_answer answers;           /* END_CLASSES */
    enum activation class_activation; /* of a dense layer before classes, if config.json names it */
    double initializer_range;         /* standard deviation of initial weights */
    char unread[CONFIG_UNREAD_BYTES]; /* keys of config.json that were not read (family.h) */
    struct mechanism mechanism;       /* from options, not config.json; all zero: none */
    struct description *description;  /* layer.h: of all this; NULL before config_describe */
};

/* Read `config.json` of a folder, or its text. Errors name the field, if they are about one. */
int config_open(struct config *config, const struct folder *folder, struct err *err);
int config_parse(struct config *config, const char *text, size_t size, struct err *err);

/* The most heads of a layer; the number of all layers, of the decoder and its encoder. Where one
 * index counts all, the decoder's come first. */
size_t config_most_heads(const struct config *config);
size_t config_layers(const struct config *config);

/* Whether a text attends only to its source. With an encoder it also attends to itself. */
static inline bool config_is_cross(const struct config *config)
{
    return config->cross && !config->n_encoder_layer;
}

/* Whether the model answers with a class, or a number, instead of tokens; whether a text comes with
 * a source; whether some layers keep a state, instead of attention; how many copies of the stream
 * there are, 0: one stream. */
static inline bool config_classifies(const struct config *config)
{
    return config->n_class > 0;
}

static inline bool config_reads_source(const struct config *config)
{
    return config->cross;
}

static inline bool config_keeps_state(const struct config *config)
{
    return config->mixer.heads > 0;
}

static inline size_t config_copies(const struct config *config)
{
    return config->copies.count;
}

/* Whether any layer has a rotary embedding; the one of a layer, or NULL. */
bool config_rotates(const struct config *config);
const struct rotary *config_rotary(const struct config *config, size_t layer);

/* Whether positions are added to embeddings, in a model that is more than attention. */
static inline bool config_adds_positions(const struct config *config)
{
    bool biased = config->score_bias != NO_BIAS &&
                  (config->score_bias < BIAS_BUCKETS || !config->n_positions);
    return !config_rotates(config) && !biased && !config->mixer.heads;
}

/* Channels of token embeddings and of the input of the unembedding. */
static inline size_t config_word_width(const struct config *config)
{
    return config->n_word ? config->n_word : config->n_embd;
}

/* Channels of the output of an attention layer. */
static inline size_t config_out_width(const struct config *config)
{
    size_t alone = config->out_proj ? config->d_out : config->n_head * config->d_v;
    return config->kind == MODEL_ATTENTION ? alone : config->n_embd;
}

/* The union of the flags of all layers. */
unsigned config_flags(const struct config *config);

/* The number of experts that a token has in a layer; 0: it has a plain MLP, as some layers do. */
size_t config_chosen(const struct config *config, size_t layer);

unsigned config_layer_flags(const struct config *config, size_t layer);

/* Hidden channels of the MLP of a layer without experts. */
size_t config_inner(const struct config *config, size_t layer);

/* The layer whose keys and values a layer reads: its own or, in one of the last `n_borrowing`, the
 * last layer with the same flags that has its own; SIZE_MAX: there is none. */
size_t config_kv_layer(const struct config *config, size_t layer);

/* Whether a pass can start at any layer, with the stream that enters it: no layer has an input of
 * its own or reads keys of others, and there is one stream. */
static inline bool config_starts_anywhere(const struct config *config)
{
    return !config->given && !config->n_borrowing && !config->copies.count;
}

/* How many layers have parameters of their own, of a stack of `layers`. */
size_t config_own_layers(const struct config *config, size_t layers);

/* The most keys that a query of the layer attends to, its own included and, if it attends to later
 * ones, without these; 0: no limit. */
size_t config_window(const struct config *config, size_t layer);

/* The position of a token, to which position_offset is not added: its index or, if `counted`, the
 * number of tokens before it that are not padding; then SIZE_MAX for padding. */
size_t config_position(const struct config *config, const uint32_t *ids, size_t token);

/* Whether the unembedding is the token embedding: `tied` or `lacks_unembed`. */
bool config_ties(const struct config *config);

/* Read the end-of-text tokens from the folder's generation_config.json, if it has one (chat models
 * have the end of a message there). For a model with an encoder also read how it chooses tokens,
 * which older models have in config.json. */
int config_read_generation(struct config *config, const struct folder *folder, struct err *err);

/* True if texts begin with the start token of a decoder that has an encoder. */
bool config_has_start(const struct config *config);

/* The model_type of the config's family, such as "gpt2". */
const char *config_kind_name(const struct config *config);

/* --- other values ----------------------------------------------------------------------------- */

/* A key that can be set. */
struct config_key {
    const char *name;
    int kinds; /* of models that read it: bits 1 << MODEL_… */
    const char *about;
    const char *aliases[2]; /* its names in other checkpoints; NULL: none */
};

extern const struct config_key config_keys[];
extern const size_t config_key_count;

struct config_change {
    const struct config_key *key;
    const char *value; /* as JSON */
};

struct config_edit {
    struct config_change *changes;
    size_t count;
};

/* Changes of the text of a config.json: what this program does not read stays as it was. Read
 * `KEY=VALUE,KEY=VALUE` and add it to the changes, kept in `arena`. A value that is not JSON is a
 * text. Of two values for a key the later one counts. Errors are usage errors of --set. */
int config_edit_read(struct config_edit *edit, const char *list, struct arena *arena,
                     struct err *err);

/* Append the changed text: a key or alias that is there gets the new value, others are added. */
int config_edit_apply(struct buf *out, const struct config_edit *edit, const char *text,
                      size_t size, struct err *err);

/* Refuse changes that a model of this kind does not read. Errors are usage errors of --set. */
int config_edit_check(const struct config_edit *edit, const struct config *config, struct err *err);
