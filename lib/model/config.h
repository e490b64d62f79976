/* config.h: the architecture of a model, which is the checked contents of config.json.
 *
 * Three values of model_type have a model_kind of their own: "gpt2", with Hugging Face's keys and
 * defaults; "attention", attention layers alone, for worked examples; "transformer", the
 * encoder-decoder of "Attention is all you need". All other models are MODEL_DECODER, even
 * encoders: see family.h. */
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
    CONFIG_FLAGS_MAX = 512,    /* size of arrays with one element for each layer */
    CONFIG_UNREAD_BYTES = 256, /* size in bytes of config.unread, a text that lists keys */
    CONFIG_ENDS_MAX = 8,       /* maximum number of end-of-text tokens, and of banned tokens */
    EXPERTS_MAX = 1024,        /* maximum number of experts in a layer */
    COPIES_MAX = 16,           /* maximum number of copies of the residual stream (AltUp) */
    PRODUCT_FACTORS_MAX = 10,  /* size of product_factors.list, including the element that ends
                                * it */
};

/* Kinds of sublayers (layer.h). SUBLAYER_ATTEND_SOURCE is cross-attention to the source text;
 * SUBLAYER_MIX is a mixer, which keeps a state in place of keys and values. */
enum sublayer_kind {
    SUBLAYER_ATTEND,
    SUBLAYER_ATTEND_SOURCE,
    SUBLAYER_MLP,
    SUBLAYER_MIX,
    SUBLAYER_KINDS
};

/* The linear layers that have a bias, as bits. */
enum config_bias {
    BIASED_QKV = 1,
    BIASED_OUT = 2,
    BIASED_MLP = 4,
    BIASED_LOGITS = 8,
    BIASED_TRANSFORM = 16, /* the dense layer before the logits */
    BIASED_EXPERTS = 32,   /* experts, except the shared expert */
    BIASED_DOWN = 64,      /* only the second linear layer of the MLP */
    BIASED_MIXER_IN = 128, /* the input projection of mixers */
    BIASED_MIXER_OUT = 256,
    BIASED_CONVOLUTION = 512,
    BIASED_ALL = 7
};

/* What a model computes after its last layer. The reader of config.json sets it. Then weights_open
 * corrects it if the file has the tensors of a classifier or, for an encoder, of another head. */
enum model_end {
    END_LOGITS,        /* logits of the next token */
    END_MASKED,        /* logits of the token at the same position, after a dense layer (BERT) */
    END_CLASSES,       /* logits of classes, after a dense layer if `classifier` has one */
    END_DISCRIMINATOR, /* one logit for each token: whether the token was replaced (ELECTRA) */
    END_POOLED,        /* the output of a dense layer for the first token */
    END_STREAM,        /* nothing: the residual stream is the output */
};

/* Which logits are a classifier's answer: the logits of the first token, the mean of the logits of
 * all tokens (it replaces the logits of each token), the logits of the last token, or the logits of
 * each token. */
enum class_answer { ANSWER_OF_FIRST, ANSWER_OF_MEAN, ANSWER_OF_LAST, ANSWER_OF_EACH };

/* Properties of single layers, as bits. */
enum layer_flag {
    LAYER_WINDOW = 1,       /* queries attend only to keys within config.window */
    LAYER_UNROTATED = 2,    /* queries and keys have no rotary embedding */
    LAYER_ROTARY_LOCAL = 4, /* the rotary embedding is `rotary_local`, not `rotary` */
    LAYER_FIRST_PLAIN = 8,  /* there is no norm before attention */
    LAYER_WIDE = 16,        /* heads have the sizes in config.wide */
    LAYER_MIXER = 32,       /* the layer has a mixer in place of attention */
    LAYER_NO_MLP = 64,      /* the layer has only attention or a mixer, no MLP */
    LAYER_MLP_ALONE = 128,  /* the layer has only an MLP, neither attention nor a mixer */
};

/* Norms of queries and keys. By default each head is normed by itself, before the rotary embedding,
 * and all heads have the same scales [dk]. */
struct head_norm {
    bool q, k;  /* whether queries (q) and keys (k) have a norm */
    bool whole; /* all heads together are normed as one row */
    bool own;   /* each head has its own scales */
    bool shift;
    bool after_rotary;
    bool v; /* there is also a norm of values, without scales */
};

/* Heads of layers with LAYER_WIDE. d: channels of queries, keys and values; kv_heads: number of
 * key/value heads; v_is_k: values are the keys before their norm and rotation. */
struct wide_heads {
    size_t d, kv_heads;
    bool v_is_k;
};

/* Copies of the residual stream (AltUp). A layer works on one of them, the active copy: it predicts
 * all copies from all copies, and then corrects the predictions by its result for the active
 * copy. */
struct stream_copies {
    size_t count, active; /* count: number of copies, 0 for a model without copies; active: index of
                           * the active copy */
    bool scaled;          /* the corrected active copy is multiplied by a vector before sublayers
                           * read it */
};

/* A copy that is scaled to the mean square of another copy is taken to have at least this mean
 * square. */
#define COPY_LEAST_SQUARE 1e-5

/* The bias that is added to scores. It depends on the key's position or its distance from the
 * query. */
enum score_bias {
    NO_BIAS,
    BIAS_ALIBI,          /* slope · position of the key, added to the scaled score (Press et al.,
                          * 2021) */
    BIAS_ALIBI_ROUNDED,  /* ALiBi rounded to bf16, added to the score before it is scaled
                          * (Falcon) */
    BIAS_ALIBI_FROM_END, /* slope · (position of the key - position of the last key) (MPT) */
    BIAS_ALIBI_APART,    /* - slope · distance, in both directions (JinaBERT) */
    BIAS_BUCKETS,        /* a learned number for each range of distances, from a table (T5) */
    BIAS_DISENTANGLED,   /* products of queries and keys with a vector for each distance
                          * (DeBERTa) */
};

/* BIAS_DISENTANGLED: which products are added, and how the vectors of distances are made. */
enum bias_terms {
    TERM_KEYS = 1,    /* products of queries with keys that are computed from the distance
                       * vectors */
    TERM_QUERIES = 2, /* products of keys with queries that are computed from the distance
                       * vectors */
    TERM_LOG = 4,     /* large distances share vectors, in ranges that grow logarithmically */
    TERM_SHARED = 8,  /* distance vectors are multiplied by the query and key matrices of tokens;
                       * without this bit, by matrices of their own */
    TERM_NORMED = 16, /* the table of distance vectors is normed */
};

/* Where a block has norms, and what its sublayers read. */
enum block_style {
    STYLE_BARE,        /* no norms and no residual stream: attention alone */
    STYLE_PRE,         /* x + f(norm(x)) */
    STYLE_POST,        /* norm(x + f(x)) */
    STYLE_POST_STREAM, /* norm(x + f(x)), and the site resid_post is the result of this norm
                        * (OPT-350m) */
    STYLE_AFTER,       /* x + norm(f(x)) (OLMo 2) */
    STYLE_SANDWICH,    /* x + norm(f(norm(x))) (Gemma 2) */
    STYLE_PARALLEL,    /* attention and MLP read the same stream, each through its norm */
    STYLE_ONE_NORM,    /* attention and MLP read the same stream through one norm */
    STYLE_TO_NORMED,   /* norm(x) + f(norm(x)) (an option of BLOOM) */
};

/* How the weights of experts are computed from the logits z of a router. */
enum router {
    ROUTER_OF_ALL,    /* weights are the softmax of z over all experts; the experts with the largest
                       * weights are chosen */
    ROUTER_OF_CHOSEN, /* the experts with the largest z are chosen; weights are the softmax of z
                       * over these experts */
    ROUTER_SIGMOID,
    ROUTER_ONE_BY_ONE, /* experts are chosen one after another, each the best expert that is not yet
                        * chosen; its weight is its softmax among the experts whose logits are near
                        * its logit */
};

/* A mixture of experts: some layers apply a few experts to each token in place of one MLP. */
struct mixture {
    size_t experts;                          /* E: number of experts; 0: the model has no mixture */
    unsigned short chosen[CONFIG_FLAGS_MAX]; /* for each layer, how many experts each token uses; 0:
                                              * the layer has a plain MLP */
    /* inner: hidden channels of an expert; shared_inner: hidden channels of the shared expert,
     * which all tokens use (0: there is no shared expert). */
    size_t inner, shared_inner;
    size_t latent; /* channels of a narrow vector that experts read and write; 0: experts read and
                    * write vectors with the channels of the stream */
    /* groups: number of groups of neighbouring experts; chosen_groups: number of groups that are
     * chosen for a token, from which its experts are chosen. */
    size_t groups, chosen_groups;
    enum router router;
    float factor;      /* weights are multiplied by it; 0: weights are not multiplied */
    float near;        /* ROUTER_ONE_BY_ONE: a logit is near the largest one if their relative
                        * difference is at most this */
    bool renormalised; /* weights are divided by their sum plus `more`, but at least by `least` */
    float least;
    float more;       /* number that is added to the sum by which the weights are divided */
    bool corrected;   /* a learned vector [experts] is added to scores when experts are chosen, but
                       * not to their weights */
    bool two_best;    /* a group's score is the sum of the scores of its two best experts; else it
                       * is the score of its best expert */
    bool shared_gate; /* the shared expert's output is multiplied by a number that is computed for
                       * each token */
    bool router_bias;
    /* `beside`, for Gemma 4: the router and the experts read the stream, each through a norm; the
     * shared expert reads the input of the MLP. The sum of the experts' outputs is normed, and so
     * is the shared expert's output. router_factor multiplies the router's logits; each expert has
     * a learned number that multiplies its weight. */
    bool beside;
    float router_factor;
};

/* How a mixer changes the state S [dk, dv] of each head at a token with key k, value v, decay a and
 * strength b. Then the context is Sᵀ q. */
enum mixer_update {
    MIXER_CONVOLVE, /* there is no state: context = q · convolution(k · v), channel by channel */
    MIXER_ADD,      /* S = a S + b k vᵀ (Mamba) */
    MIXER_DELTA,    /* S = a S + b k (v - (a S)ᵀ k)ᵀ (gated delta rule) */
};

/* How a mixer computes the strength b of a token: b is the step, the logistic function of a
 * product, or twice this function. */
enum mixer_strength { STRENGTH_STEP, STRENGTH_LOGISTIC, STRENGTH_TWICE };

/* The function that is applied to a gate before the gate is multiplied by the context. */
enum gate { GATE_NONE, GATE_SILU, GATE_LOGISTIC };

/* Mixers: layers that keep a state in place of keys and values. The step of a token is r =
 * softplus(product + shift), limited to [step_least, step_most]; its decay is a = e^(-e^DECAY
 * r). */
struct mixer {
    size_t heads;     /* number of heads of values, or of channels if MIXER_CONVOLVE; 0: the model
                       * has no mixers */
    size_t key_heads; /* number of heads of queries and keys, a divisor of `heads` */
    size_t d_k, d_v;
    enum mixer_update update;
    size_t taps;                /* number of tokens that the convolution reads; 0: there is no
                                 * convolution */
    enum activation activation; /* applied to the output of the convolution */
    bool only_v; /* only values are convolved, and queries, keys and steps are computed from the
                  * convolved values */
    bool unit;   /* queries and keys are scaled to length 1; queries are then divided by √dk */
    bool inner_norms; /* queries, keys and the narrow vectors of steps are normed */
    bool plain_norms; /* the inner norms have no scales */
    size_t step_rank; /* channels of the narrow vector from which steps are computed; 0: steps have
                       * no narrow vector */
    bool step_each;   /* each channel of a key has its own step; else each head has one step */
    bool decay_each;  /* each channel of a key has its own parameter DECAY; else each head has
                       * one */
    float step_least, step_most;
    enum mixer_strength strength;
    bool skip;        /* v times a learned number of its head is added to the context */
    enum gate gate;   /* function that is applied to the gate by which the context is multiplied */
    size_t gate_rank; /* channels of the narrow vector from which the gate is computed; 0: the gate
                       * has no narrow vector */
    bool gate_first;  /* the context is multiplied by the gate before its norm, not after it */
    /* The context is normed: each head by itself, all with the same scales, or each of `out_groups`
     * groups of channels by itself. */
    bool out_norm;
    size_t out_groups; /* number of groups of channels that are normed by themselves; 0: each head
                        * is a group */
    float epsilon;     /* epsilon of the mixer's norms; 0: config.epsilon */
    bool beside;       /* every layer has attention and a mixer in parallel, which read the same
                        * normed input */
    enum block_style style; /* block style of layers with a mixer in place of attention */
};

/* The number of decays of a token in each head. */
static inline size_t mixer_decays(const struct mixer *mixer)
{
    return mixer->step_each || mixer->decay_each ? mixer->d_k : 1;
}

/* mixer_channels: the number of channels of q, k and v together. mixer_convolved: the number of
 * channels that the convolution reads. */
static inline size_t mixer_channels(const struct mixer *m)
{
    return 2 * m->key_heads * m->d_k + m->heads * m->d_v;
}

static inline size_t mixer_convolved(const struct mixer *m)
{
    bool only_v = m->only_v || m->update == MIXER_CONVOLVE;
    return only_v ? m->heads * m->d_v : mixer_channels(m);
}

/* Whether each channel of a value is a head by itself. */
static inline bool mixer_of_channels(const struct mixer *m)
{
    return m->heads && m->d_v == 1;
}

/* The number of floats in the states of all heads. */
static inline size_t mixer_state(const struct mixer *m)
{
    return m->update == MIXER_CONVOLVE ? 0 : m->heads * m->d_k * m->d_v;
}

/* The number of floats that a mixer keeps for a text: its states and the last inputs of the
 * convolution. */
static inline size_t mixer_kept(const struct mixer *m)
{
    return mixer_state(m) + (m->taps ? m->taps - 1 : 0) * mixer_convolved(m);
}

/* Factors of the products with some matrices: `factor` multiplies a product before its bias is
 * added, `bias` multiplies this bias. */
struct product_factors {
    struct product_factor {
        unsigned char branch, slot; /* the factors apply to products with the matrix of this slot in
                                     * this branch (parameter_table.h) */
        float factor, bias;
    } list[PRODUCT_FACTORS_MAX]; /* ends with an element whose factor is 0 */
};

/* How an encoder-decoder generates a text, by the rules of Hugging Face's transformers. max_length
 * and min_length limit the number of all tokens of the decoder, max_new and min_new the number of
 * tokens after the start token. */
struct generation_rules {
    size_t max_length, max_new, min_length, min_new; /* numbers of tokens; 0: not set */
    size_t beams;                                    /* number of beams; 0 or 1: no beam search */
    double length_penalty; /* the score of a text is its log-probability / (number of new
                            * tokens)^length_penalty */
    enum {
        EARLY_NO,
        EARLY_YES,
        EARLY_NEVER
    } early;          /* early_stopping of a beam search: false, true
                                                      * or "never" */
    size_t no_repeat; /* an n-gram of this length may occur only once; 0: no limit */
    /* Forced tokens, or -1: `first` is the id of the token after the start token, `last` the id of
     * the token at the maximum length. */
    long long first, last;
    long long banned[CONFIG_ENDS_MAX];
    size_t banned_count;
    bool renormalised; /* probabilities are renormalised after all other rules were applied */
};

/* A model's architecture. features.c must list each of these fields. */
struct config {
    enum model_kind kind;
    size_t vocab_size;      /* V: number of tokens in the vocabulary */
    size_t n_positions;     /* P: maximum number of tokens in a text; 0: no limit */
    size_t n_embd;          /* C: channels of the residual stream */
    size_t n_layer;         /* L: number of layers; in a model with an encoder, only the decoder's
                             * layers count */
    size_t n_encoder_layer; /* number of layers in the encoder; 0: no encoder */
    size_t n_head;          /* H: query heads of a layer */
    size_t n_kv_head;       /* Hkv: key/value heads, a divisor of H */
    size_t d_k, d_v;        /* channels of one head: of queries and keys (d_k), of values (d_v) */
    size_t d_out;           /* MODEL_ATTENTION: columns of W_O */
    size_t n_inner;         /* hidden channels of the MLP */
    enum activation activation;
    struct wide_heads wide;            /* the sizes of the heads in layers with LAYER_WIDE */
    unsigned inners[CONFIG_FLAGS_MAX]; /* hidden channels of each layer's MLP; 0: n_inner */
    /* given: channels of an extra input that each layer reads for each token (0: layers have no
     * extra input); given_rows: rows of the table with these inputs. */
    size_t given, given_rows;
    bool given_lenient; /* a token id beyond the table of extra inputs gets row 0; else such an id
                         * is refused */
    bool layer_scale;   /* the stream is multiplied by a learned number after each layer */
    struct stream_copies copies;
    size_t laurel;                    /* channels of the low-rank branch (LAuReL) parallel to
                                       * attention; 0: there is none */
    float sparsity[CONFIG_FLAGS_MAX]; /* share of the gates of each layer's MLP that become 0; 0: no
                                       * gate is changed */
    size_t n_borrowing;     /* the last n_borrowing layers read the keys and values of earlier
                             * layers */
    size_t n_encoder_inner; /* hidden channels of the encoder's MLPs; 0: n_inner */
    size_t n_encoder_head;  /* heads in the encoder's layers; 0: as many as in the decoder */
    size_t n_encoder_vocab; /* rows of the encoder's own table of tokens; 0: the encoder uses the
                             * decoder's table */
    bool xielu;             /* the activation is xIELU, with learned parameters in each layer;
                             * `activation` is not used */
    float embedding_scale;  /* token embeddings are multiplied by it */
    bool drops_masks;       /* mask tokens have an embedding of 0 (embed_rule.drops_masks in
                             * layer.h) */
    long long mask_id;      /* the token id of a mask, if `drops_masks` */
    bool sinusoids;         /* position embeddings are sinusoidal; else they are learned, or there
                             * are none */
    enum sines sines;       /* the order of sines and cosines in sinusoidal positions */
    float epsilon;          /* epsilon of the norms */
    enum block_style style;
    bool final_norm;     /* there is a norm after the last layer */
    float scale;         /* products of queries and keys are multiplied by it */
    bool scale_by_layer; /* scores are also divided by the layer's number, counted from 1 */
    bool tied;           /* the unembedding matrix is the token embedding */
    bool lacks_unembed;  /* not tied, but the file has no unembedding, so the token embedding is
                          * used */
    bool causal;         /* a query attends only to its own token and earlier ones */
    bool cross;          /* there is cross-attention: queries attend to a second text, the source */
    /* queries, keys and values are projections of the input; else they are the input itself */
    bool projections;
    bool out_proj;               /* false: the output is the contexts of all heads, side by side */
    unsigned biases;             /* bits of enum config_bias */
    const struct family *family; /* names and layouts of tensors */
    size_t n_word;               /* channels of token embeddings, which are then projected to n_embd
                                  * channels; 0: n_embd, without a projection */
    bool projects_last;          /* the sum of token, position and segment embeddings is projected;
                                  * else only the token embedding */
    size_t position_offset;      /* row of the table of positions for the first token */
    bool counted;                /* positions count only tokens that are not padding */
    long long padding_id;        /* id of the padding token, if `counted` */
    size_t n_segments;           /* rows of the table of segment embeddings; 0: there is no such
                                  * table */
    /* Layers that share parameters: n_group groups of group_layers layers; each group runs several
     * times. 0: layers share no parameters. */
    size_t n_group, group_layers;
    bool embedding_norm; /* the sum of the embeddings is normed */
    bool adds_twice;     /* attention adds norm(x + attention(x)) to the stream x, not
                          * attention(x) */
    bool own_tables;     /* the encoder has its own table of positions and its own norm of
                          * embeddings */
    bool rms;            /* norms are RMS norms; else layer norms */
    bool norm_offset;    /* norms multiply by 1 + w, where w is the parameter */
    bool norm_shift;     /* norms have a shift */
    bool norm_plain;     /* norms have neither scales nor a shift */
    bool gated;          /* hidden channels of the MLP are act(gate(x)) · up(x) */
    /* `clamp` limits gate and up of an MLP (0: no limit), `up_offset` is added to up: see struct
     * mlp_rule in layer.h. */
    float clamp, up_offset;
    float gate_slope; /* s of quick_gelu, x · logistic(s · x), in MLPs with `clamp`; 0: 1.702 */
    struct mixture mixture;
    struct mixer mixer;
    struct head_norm head_norm;
    enum gate head_gate;        /* function that is applied to the gate by which attention's context
                                 * is multiplied, channel by channel */
    size_t latent_q, latent_kv; /* channels of the narrow vector from which queries (latent_q), or
                                 * keys and values (latent_kv), are computed; 0: they are computed
                                 * from the layer's input */
    float clip;                 /* queries, keys and values are limited to [-clip, clip]; 0: no
                                 * limit */
    bool differs;               /* heads h and h + H/2 compute one context together: see
                                 * head_rule.differ (layer.h) */
    enum score_bias score_bias;
    unsigned short bias_buckets; /* BIAS_BUCKETS: rows of the table of biases; BIAS_DISENTANGLED:
                                  * half the rows of the table of distance vectors */
    unsigned short bias_reach;   /* all distances of at least this many tokens in one direction have
                                  * the same bias */
    unsigned char bias_terms;    /* BIAS_DISENTANGLED: bits of enum bias_terms */
    bool bias_by_layer;          /* each layer has its own table of biases; else all layers share
                                  * one */
    struct rotary rotary, rotary_local;
    size_t window;
    bool sinks;                 /* the softmax of each head has an additional score, a learned
                                 * number that belongs to no key */
    float score_cap, logit_cap; /* scores (score_cap) and logits (logit_cap) become cap · tanh(x /
                                 * cap); 0: they do not change */
    /* The factor by which the outputs of each sublayer_kind are multiplied; 0: they are not
     * multiplied. */
    float residual_scale[SUBLAYER_KINDS];
    struct product_factors factors;
    float logit_divisor;                          /* logits are divided by it; 0: logits are not
                                                   * divided */
    unsigned short layer_flags[CONFIG_FLAGS_MAX]; /* bits of enum layer_flag */
    size_t extra_layers;      /* number of further layers in the file, for multi-token prediction;
                               * they are not read */
    long long bos_id, eos_id; /* ids of the start token and the end token of a text; -1: there is no
                               * such token */
    long long more_ends[CONFIG_ENDS_MAX - 1]; /* ids of further end-of-text tokens */
    size_t more_end_count;
    struct generation_rules generation; /* read only for a model with an encoder */
    enum model_end end;
    enum activation end_activation;      /* activation of the dense layer before the logits */
    size_t n_class;                      /* END_CLASSES: number of classes */
    const struct classifier *classifier; /* the classifier (family.h); NULL: the model is not a
                                          * classifier */
    enum class_answer answers;           /* END_CLASSES: which logits are the answer */
    enum activation class_activation;    /* activation of the dense layer before the classes, where
                                          * config.json names it */
    double initializer_range;            /* standard deviation of initial weights */
    char unread[CONFIG_UNREAD_BYTES];    /* keys of config.json that were not read and may have an
                                          * effect (family.h) */
    struct mechanism mechanism;          /* how options change attention; all fields 0: they do not
                                          * change it */
    struct description *description; /* the layers (layer.h), which config_describe makes from all
                                      * other fields; NULL before this call */
};

/* Read `config.json` of a folder, or parse its text. An error about a field names the field. */
int config_open(struct config *config, const struct folder *folder, struct err *err);
int config_parse(struct config *config, const char *text, size_t size, struct err *err);

/* config_most_heads: the maximum number of heads in any layer. config_layers: the number of layers
 * of decoder and encoder together; an index over all these layers counts the decoder's layers
 * first. */
size_t config_most_heads(const struct config *config);
size_t config_layers(const struct config *config);

/* Whether a text attends only to the source. False for a model with an encoder, whose text also
 * attends to itself. */
static inline bool config_is_cross(const struct config *config)
{
    return config->cross && !config->n_encoder_layer;
}

/* Whether later tokens are hidden from a query. A causal model whose mask --without leaves out
 * still predicts the token after each one, but its rows depend on the whole text. */
static inline bool config_is_causal(const struct config *config)
{
    return config->causal && !mechanism_lacks(&config->mechanism, BLOCK_MASK);
}

/* config_classifies: whether the model answers with classes or a number instead of tokens. The
 * others: whether a text has a source; whether some layers have a mixer in place of attention; how
 * many copies of the stream there are (0: one stream). */
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

/* config_rotates: whether any layer has a rotary embedding; config_rotary: a layer's rotary
 * embedding, or NULL if it has none. */
bool config_rotates(const struct config *config);
const struct rotary *config_rotary(const struct config *config, size_t layer);

/* Whether position embeddings, learned or sinusoidal, are added to token embeddings. Do not call it
 * for a MODEL_ATTENTION, which has no positions. */
static inline bool config_adds_positions(const struct config *config)
{
    bool biased = config->score_bias != NO_BIAS &&
                  (config->score_bias < BIAS_BUCKETS || !config->n_positions);
    return !config_rotates(config) && !biased && !config->mixer.heads;
}

/* Channels of token embeddings, which are also the channels of the unembedding's input. */
static inline size_t config_word_width(const struct config *config)
{
    return config->n_word ? config->n_word : config->n_embd;
}

/* The number of channels of the output of an attention layer. */
static inline size_t config_out_width(const struct config *config)
{
    size_t alone = config->out_proj ? config->d_out : config->n_head * config->d_v;
    return config->kind == MODEL_ATTENTION ? alone : config->n_embd;
}

/* The union of the flags of all layers. */
unsigned config_flags(const struct config *config);

/* The number of experts that each token uses in a layer; 0: the layer has a plain MLP. */
size_t config_chosen(const struct config *config, size_t layer);

unsigned config_layer_flags(const struct config *config, size_t layer);

/* Hidden channels of the MLP of a layer without experts. */
size_t config_inner(const struct config *config, size_t layer);

/* The index of the layer whose keys and values a layer reads: its own index or, for one of the last
 * `n_borrowing` layers, the index of the last layer that computes keys itself and has the same
 * flags; SIZE_MAX: there is no such layer. */
size_t config_kv_layer(const struct config *config, size_t layer);

/* Whether a pass can start at any layer, given only the stream that enters the layer: no layer
 * reads an extra input or another layer's keys, and the stream has no copies. */
static inline bool config_starts_anywhere(const struct config *config)
{
    return !config->given && !config->n_borrowing && !config->copies.count;
}

/* The number of layers with their own parameters, in a stack of `layers` layers. It is smaller than
 * `layers` only if layers share parameters (n_group). */
size_t config_own_layers(const struct config *config, size_t layers);

/* The maximum number of keys that a query of the layer attends to. It counts the query's own
 * position and earlier ones, not later ones. 0: no limit. */
size_t config_window(const struct config *config, size_t layer);

/* The position of a token, without position_offset: its index or, if config->counted, the number of
 * tokens before it that are not padding. Then padding itself has the position SIZE_MAX. */
size_t config_position(const struct config *config, const uint32_t *ids, size_t token);

/* Whether the unembedding is the token embedding: `tied` or `lacks_unembed`. */
bool config_ties(const struct config *config);

/* Read the end-of-text tokens from generation_config.json, if the folder has this file: there, chat
 * models name the token that ends a message. For a model with an encoder also read
 * config->generation; without generation_config.json it is read from config.json, as in older
 * models. */
int config_read_generation(struct config *config, const struct folder *folder, struct err *err);

/* Whether texts begin with a start token: the model has an encoder, and config.json names the
 * decoder's start token. */
bool config_has_start(const struct config *config);

/* The model_type of the config's family, such as "gpt2". */
const char *config_kind_name(const struct config *config);

/* --- other values ----------------------------------------------------------------------------- */

/* A key of config.json that --set can change. */
struct config_key {
    const char *name;
    int kinds; /* kinds of models that read the key: bits 1 << MODEL_… */
    const char *about;
    const char *aliases[2]; /* the key's names in other checkpoints; unused elements are NULL */
};

extern const struct config_key config_keys[];
extern const size_t config_key_count;

struct config_change {
    const struct config_key *key;
    const char *value; /* the new value, in JSON */
};

struct config_edit {
    struct config_change *changes;
    size_t count;
};

/* Read `KEY=VALUE,KEY=VALUE` and add these changes of a config.json to `edit`, in `arena`. A value
 * that is not JSON becomes a JSON string. If a key occurs twice its last value is used. Keys that
 * are not in `list` keep their values in config.json. Errors are usage errors of --set. */
int config_edit_read(struct config_edit *edit, const char *list, struct arena *arena,
                     struct err *err);

/* Append the config.json `text`, with the changes, to `out`. If the text has a key, by its name or
 * an alias, its value is replaced; otherwise the key is added. */
int config_edit_apply(struct buf *out, const struct config_edit *edit, const char *text,
                      size_t size, struct err *err);

/* Refuse a change of a key that models of the config's kind do not read. Errors are usage errors of
 * --set. */
int config_edit_check(const struct config_edit *edit, const struct config *config, struct err *err);
