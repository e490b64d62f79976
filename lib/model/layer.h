/* layer.h: what a model computes: two stacks of layers, each layer a list of sublayers with their
 * norms, sites and rules.
 *
 * config_describe makes the lists. Code that depends on the shape of a block reads them: the pass,
 * the table of parameters, training, attribution, composition of heads, explanations and `info`.
 *
 *     const struct layer *l = layer_of(config, BRANCH_TEXT, layer);
 *     for (const struct sublayer *s = l->sublayers; s < l->sublayers + l->count; s++) {
 *         y = s->norm_before ? norm(x) : x; (s->reads: or an earlier sublayer's input) out =
 *         s->kind == SUBLAYER_MLP ? mlp(y) : attention(y); x = x + s->factor * (s->norm_out ?
 *         norm(out) : out); (s->adds_twice: norm(x + out))
 *             (s->replaces: without x; s->adds_to_normed: y + …)
 *         x = s->sum_factor * (s->adds_input ? x + y : x);
 *         x = s->scales ? number of the layer · x : x;
 *         x = s->norm_after ? norm(x) : x;
 *     }
 *
 * With copies of the stream (stack.copies) x is the active one of the copies that the layer
 * predicts. s->corrects: x then corrects all, and is the active one again; s->spreads: x is added
 * to all but the first. */
#pragma once

#include <assert.h>

#include "model/config.h"
#include "model/parameter_table.h"
#include "model/score_rule.h"
#include "model/site.h"

enum { SUBLAYERS_MAX = 4 }; /* most of a layer */

/* From the input of a sublayer to queries, keys and values. */
struct head_rule {
    enum {
        HEADS_PROJECTED, /* products with three matrices */
        HEADS_LATENT,    /* keys and values from a narrow vector */
        HEADS_AS_IS,     /* the input itself, head by head */
    } by;
    unsigned short kv_layer; /* the layer whose keys and values are read */
    bool borrows;            /* it is an earlier layer: this one has none to compute or edit */
    bool v_is_k;             /* values are the projected keys, before their norm and rotation */
    size_t heads, kv_heads, d_k, d_v;
    size_t latent_q, latent_kv; /* widths of the narrow vectors; 0: none */
    struct head_norm norm;
    const struct rotary *rotary; /* NULL: none */
    float clip;                  /* of q, k and v to [-clip, clip]; 0: none */
    bool no_out;                 /* the output is the heads side by side */
    enum gate gate;              /* of the context */
    /* Heads h and h + H/2 make one context: (weights of the first - lambda · weights of the second)
     * · the values of both, side by side; then normed, and multiplied by 1 - differ. Where lambda
     * begins; 0: each head has a context. */
    float differ;
};

/* The number of contexts, and the width of one. The site of the weights that multiply values, and
 * the site that the output projection reads. */
static inline size_t context_heads(const struct head_rule *rule)
{
    return rule->differ > 0 ? rule->heads / 2 : rule->heads;
}

static inline size_t context_width(const struct head_rule *rule)
{
    return rule->differ > 0 ? 2 * rule->d_v : rule->d_v;
}

/* Where the context of a head's own values begins in contexts [T, H · dv], counted in heads. */
static inline size_t context_column(const struct head_rule *rule, size_t head)
{
    const size_t contexts = context_heads(rule);
    return head % contexts * (rule->heads / contexts) + head / contexts;
}

/* values [K / 2, keys, 2 dv]: the values of contexts of two heads, from v [K, keys, dv]. The
 * contexts of a pair of key/value heads follow one another: kv_head_of. */
void context_values(float *values, const float *v, const struct head_rule *rule, size_t keys);

static inline enum site context_map(const struct head_rule *rule)
{
    return rule->differ > 0 ? SITE_DIFFERENCE : SITE_WEIGHTS;
}

static inline enum site context_out(const struct head_rule *rule)
{
    return rule->differ > 0 ? SITE_GATED : SITE_CONTEXT;
}

/* The number of query heads that share a key/value head; the key/value head of a query head. */
static inline size_t kv_head_shared_by(const struct head_rule *rule)
{
    return rule->heads / rule->kv_heads;
}

static inline size_t kv_head_of(const struct head_rule *rule, size_t head)
{
    return head / kv_head_shared_by(rule);
}

/* The products of an MLP, or of each expert of a mixture, and how experts are chosen. */
struct mlp_rule {
    enum activation activation;
    bool gated, xielu;
    bool given;  /* up is the layer's own input, in place of a product */
    bool sparse; /* gate = max(gate - mean - deviations · deviation of the row, 0) */
    float deviations;
    float clamp, up_offset; /* act(min(gate, clamp)) · (up within ±clamp + up_offset); 0: none */
    float gate_slope;       /* as in struct config */
    size_t inner;
    const struct mixture *mixture; /* NULL: one MLP */
    size_t chosen;                 /* experts of each token */
};

/* The input of a sublayer. */
enum sublayer_input {
    READS_STREAM,
    READS_BLOCK_INPUT, /* parallel: what entered the block */
    READS_LAST_INPUT,  /* parallel with one norm: the input of the sublayer before it */
};

struct sublayer {
    enum sublayer_kind kind;
    enum site_branch branch; /* the branch whose sites and parameters it has */
    enum sublayer_input reads;
    enum slot_id norm;   /* its norm: of the input, or of the sum */
    bool norm_before;    /* a norm of the input */
    bool norm_out;       /* a norm of its output, before it is added */
    bool adds_twice;     /* that norm is of the sum of the stream and the output */
    bool norm_after;     /* a norm of the sum; the result is the stream */
    bool adds_to_normed; /* the output is added to the normed input (BLOOM) */
    bool replaces;       /* there is no residual connection */
    bool adds_input;     /* the input of the sublayer is added as well */
    bool scales;         /* the sum is multiplied by a number of the layer */
    bool corrects, spreads;
    float factor;     /* factor of the output, before it is added */
    float sum_factor; /* factor of the sum */
    /* Ids of sites, the same in all branches; SITE_EMBEDDING: none. */
    enum site at_input, at_out, at_out_norm;
    enum site at_sum[3], at_after[3]; /* the stream, before and after norm_after */
    struct head_rule head;
    struct score_rule score;
    struct mlp_rule mlp;
    const struct mixer *mixer; /* of SUBLAYER_MIX, else NULL */
};

/* The branch that has the sites of the stream around a sublayer, and its norms. */
static inline enum site_branch sublayer_outside(const struct sublayer *sublayer)
{
    return sublayer->branch == BRANCH_MIXER ? BRANCH_TEXT : sublayer->branch;
}

/* Sublayers from index `count` on have parameters, but --without leaves them out. Norms that it
 * leaves out stay in the list, as they are announced. */
struct layer {
    size_t count, all;
    const struct sublayer *sublayers; /* [all] */
};

/* The MLP, the attention, or the mixer, of a branch that a layer runs; NULL: it has none. */
const struct sublayer *layer_mlp(const struct layer *layer, enum site_branch branch);
const struct sublayer *layer_attention(const struct layer *layer, enum site_branch branch);
const struct sublayer *layer_mixer(const struct layer *layer);

/* The last site of the stream after a sublayer; SITE_EMBEDDING: none. The branch that has a site of
 the stream after it. */
enum site sublayer_end(const struct sublayer *sublayer);
enum site_branch sublayer_stream_branch(const struct sublayer *sublayer, enum site id);

/* The share of tokens that ESM's training kept. */
#define EMBED_KEPT 0.88

/* From ids to the stream that enters the first layer. */
struct embed_rule {
    size_t width, rows; /* width and rows of the table of tokens */
    bool own_table;     /* a source has a table of tokens of its own */
    float scale;        /* factor of the token's row alone */
    bool drops_masks;   /* rows of masks are 0; others are multiplied by EMBED_KEPT / (share of the
                         * tokens that are not masks), as in the training of ESM */
    long long mask;     /* the id of a mask */
    enum {
        POSITIONS_NONE,
        POSITIONS_TABLE,        /* a row is added */
        POSITIONS_SINES,        /* sines and cosines, alternating ("Attention is all you need") */
        POSITIONS_SINES_HALVES, /* all sines, then all cosines (Marian) */
        POSITIONS_SINES_OFFSET, /* all sines, then all cosines, of other angles (M2M-100) */
    } positions;
    size_t first;             /* row of the first token's position */
    bool counted;             /* positions number the tokens that are not padding */
    long long padding;        /* id of the padding token, whose row is the one before the first */
    size_t segments;          /* rows of the table of segments; 0: none */
    size_t given, given_rows; /* channels of each layer's own input; rows of its table of tokens */
    bool given_lenient;       /* as in struct config */
    bool norm;
    enum { PROJECT_NEVER, PROJECT_TOKENS, PROJECT_LAST } project; /* tokens alone; the whole sum */
};

/* From the last stream to the result of the model. */
struct unembed_rule {
    bool norm;          /* ln_f; in the stack of a source all else is 0 */
    bool project;       /* to the width of the table of tokens */
    enum slot_id dense; /* a dense layer with an activation, before the last matrix, or SLOT_NONE */
    enum activation activation;
    bool dense_norm;    /* a norm of that layer: SLOT_TRANSFORM_NORM */
    bool first_only;    /* the dense layer reads only the first token: a pooler */
    bool mean;          /* it reads, in place of each token, the mean of all */
    bool bias;          /* there is a bias of the logits */
    size_t logits;      /* how many: of tokens, or of classes */
    float divisor, cap; /* of the logits: logit / divisor, then cap · tanh(logit / cap); 0: none */
    enum site at_dense,
        at_result; /* results of the dense layer and the last matrix; SITE_EMBEDDING: none */
};

/* A stack of layers with its two ends: a text's (BRANCH_TEXT), or its encoder's (BRANCH_SOURCE),
 * which may have no layers: then the source is embedded, and no more. */
struct stack {
    enum site_branch branch;
    size_t width, layers, heads; /* heads: the most of a layer */
    const struct layer *layer;   /* [layers] */
    struct head_rule head;       /* of layers without attention, for sizes alone */
    struct stream_copies copies;
    struct embed_rule embed;
    struct unembed_rule unembed;
};

/* The description of a config: a stack for texts, and one for their sources; their points. */
struct model_point;
struct layer_points;
struct description {
    const struct config *owner; /* copies of the config borrow the description */
    struct stack text, source;
    struct model_point *points; /* pass_count of the pass, in its order, then effective ones */
    size_t point_count, pass_count, point_room;
    struct layer_points *of_layer;     /* of `layers` */
    struct site_set sites, pass_sites; /* that a layer has, or the model; without effective ones */
    unsigned first_point[SITE_COUNT];  /* of each of these sites: the index of its first point */
    struct site_set left_out;          /* sites of sublayers that --without leaves out */
    struct layer layers[];             /* layers of the text, then of the source */
};

/* Make the description of a config; make it anew after a change of the config or its mechanism, in
 * the same memory. A copy of a config that is changed gets one of its own. config_release frees
 * only the config's own. */
int config_describe(struct config *config, struct err *err);
void config_release(struct config *config);

/* The stack of a branch: cross-attention is in the text's. Whether the source's has layers. A
 * layer, and the attention of a branch in it; NULL: the branch has none. */
static inline const struct stack *stack_of(const struct config *config, enum site_branch branch)
{
    return branch == BRANCH_SOURCE ? &config->description->source : &config->description->text;
}

static inline bool has_encoder(const struct config *config)
{
    return config->description->source.layers > 0;
}

static inline const struct layer *layer_of(const struct config *config, enum site_branch branch,
                                           size_t layer)
{
    assert(layer < stack_of(config, branch)->layers);
    return &stack_of(config, branch)->layer[layer];
}

/* The number of logits of a token: of the words of the vocabulary, or of classes. */
static inline size_t config_logits(const struct config *config)
{
    return stack_of(config, BRANCH_TEXT)->unembed.logits;
}

static inline const struct sublayer *attention_of(const struct config *config,
                                                  enum site_branch branch, size_t layer)
{
    return layer_attention(layer_of(config, branch, layer), branch);
}

/* The first attention of a branch; NULL: no layer has any. */
const struct sublayer *first_attention(const struct config *config, enum site_branch branch);

/* The heads of a layer of a branch's stack; if it has no layers, of the text's first. */
const struct head_rule *stack_head(const struct config *config, enum site_branch branch,
                                   size_t layer);

/* Bytes of what all mixers of a model keep of a text, whatever its length. */
size_t layers_mixed_bytes(const struct config *config);

/* The architecture of a config in words, a line for each row: for `info` (architecture_words.c). */
struct buf;
struct architecture_row {
    const char *name;                                            /* "norms" */
    void (*write)(struct buf *out, const struct config *config); /* writes nothing: no line */
};

extern const struct architecture_row architecture_rows[];
extern const size_t architecture_row_count;
