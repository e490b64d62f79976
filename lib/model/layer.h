/* layer.h: what a model computes: two stacks of layers, each layer a list of sublayers with their
 * norms, sites and rules.
 *
 * config_describe makes the lists. All code that depends on the structure of a block reads these
 * lists: the pass, the table of parameters, training, attribution, composition of heads,
 * explanations and `info`.
 *
 *     const struct layer *l = layer_of(config, BRANCH_TEXT, layer);
 *     for (const struct sublayer *s = l->sublayers; s < l->sublayers + l->count; s++) {
 *         y = s->norm_before ? norm(x) : x;        (s->reads may name an earlier x or y)
 *         out = s->kind == SUBLAYER_MLP ? mlp(y) : attention(y);
 *         x = x + s->factor * (s->norm_out ? norm(out) : out);
 *             (s->adds_twice: norm(x + out) in place of norm(out))
 *             (s->replaces: without x; s->adds_to_normed: y + … in place of x + …)
 *         x = s->sum_factor * (s->adds_input ? x + y : x);
 *         x = s->scales ? number of the layer · x : x;
 *         x = s->norm_after ? norm(x) : x;
 *     }
 *
 * With copies of the stream (stack.copies) the layer first predicts all copies, and x is the active
 * copy. s->corrects: after this sublayer all copies are corrected by x, and the corrected active
 * copy becomes x. s->spreads: the sublayer's output is added to all copies except the first. */
#pragma once

#include <assert.h>

#include "model/config.h"
#include "model/parameter_table.h"
#include "model/score_rule.h"
#include "model/site.h"

enum { SUBLAYERS_MAX = 4 }; /* maximum number of sublayers in a layer */

/* How queries, keys and values are made from the input of a sublayer. */
struct head_rule {
    enum {
        HEADS_PROJECTED, /* products of the input with three matrices */
        HEADS_LATENT,    /* keys and values are computed from a narrow vector */
        HEADS_AS_IS,     /* no matrices: each head uses its part of the input as query, key and
                          * value */
    } by;
    unsigned short kv_layer; /* the layer whose keys and values are read */
    bool borrows;            /* kv_layer is an earlier layer: this layer computes no keys and
                              * values, so they cannot be edited here */
    bool v_is_k;             /* values are the projected keys, before their norm and rotation */
    size_t heads, kv_heads, d_k, d_v;
    /* Channels of the narrow vectors for queries (latent_q), and for keys and values (latent_kv);
     * 0: they have no narrow vector. */
    size_t latent_q, latent_kv;
    struct head_norm norm;
    const struct rotary *rotary; /* NULL: queries and keys are not rotated */
    float clip;                  /* q, k and v are limited to [-clip, clip]; 0: no limit */
    bool no_out;                 /* there is no output projection: the output is the contexts of all
                                  * heads, side by side */
    enum gate gate;              /* function that is applied to the gate by which the context is
                                  * multiplied */
    /* If `differ` is 0, each head has its own context. Otherwise heads h and h + H/2 make one
     * context: (weights of head h - lambda · weights of head h + H/2) · the values of both heads,
     * side by side. This context is normed, and multiplied by 1 - differ. lambda is `differ` plus a
     * learned number. */
    float differ;
};

/* context_heads: the number of contexts; context_width: the channels of one context. context_map:
 * the site of the weights that multiply the values; context_out: the site that the output
 * projection reads, unless the context has a gate. */
static inline size_t context_heads(const struct head_rule *rule)
{
    return rule->differ > 0 ? rule->heads / 2 : rule->heads;
}

static inline size_t context_width(const struct head_rule *rule)
{
    return rule->differ > 0 ? 2 * rule->d_v : rule->d_v;
}

/* The index of the block of dv columns, in contexts [T, H · dv], for the values of a head. */
static inline size_t context_column(const struct head_rule *rule, size_t head)
{
    const size_t contexts = context_heads(rule);
    return head % contexts * (rule->heads / contexts) + head / contexts;
}

/* Copy v [K, keys, dv] to values [K/2, keys, 2 dv]: the values of key/value heads i and i + K/2 are
 * put side by side, as the contexts of two heads need them. */
void context_values(float *values, const float *v, const struct head_rule *rule, size_t keys);

static inline enum site context_map(const struct head_rule *rule)
{
    return rule->differ > 0 ? SITE_DIFFERENCE : SITE_WEIGHTS;
}

static inline enum site context_out(const struct head_rule *rule)
{
    return rule->differ > 0 ? SITE_GATED : SITE_CONTEXT;
}

/* kv_head_shared_by: how many query heads share a key/value head; kv_head_of: a query head's
 * key/value head. */
static inline size_t kv_head_shared_by(const struct head_rule *rule)
{
    return rule->heads / rule->kv_heads;
}

static inline size_t kv_head_of(const struct head_rule *rule, size_t head)
{
    return head / kv_head_shared_by(rule);
}

/* The products of an MLP or of each expert, and how experts are chosen. */
struct mlp_rule {
    enum activation activation;
    bool gated, xielu;
    bool given;  /* the layer's extra input is used as `up`, in place of a product */
    bool sparse; /* gate = max(gate - mean of the row - deviations · standard deviation of the row,
                  * 0) */
    float deviations;
    float clamp, up_offset; /* the hidden channels are act(min(gate, clamp)) · (up limited to
                             * ±clamp, plus up_offset); 0: no limit, nothing added */
    float gate_slope;       /* with `clamp`: s of quick_gelu, x · logistic(s · x); 0: 1.702 */
    size_t inner;
    const struct mixture *mixture; /* NULL: one MLP, no experts */
    size_t chosen;                 /* number of experts that each token uses */
};

/* What a sublayer reads. */
enum sublayer_input {
    READS_STREAM,
    READS_BLOCK_INPUT, /* parallel styles: the stream at the beginning of the block */
    READS_LAST_INPUT,  /* parallel styles with one norm: the normed input of the sublayer before
                        * this one */
};

struct sublayer {
    enum sublayer_kind kind;
    enum site_branch branch; /* the branch of the sublayer's sites and parameters */
    enum sublayer_input reads;
    enum slot_id norm;   /* the slot of the norm of the input (norm_before) or of the sum
                          * (norm_after) */
    bool norm_before;    /* the input goes through a norm */
    bool norm_out;       /* the output is normed before it is added */
    bool adds_twice;     /* norm_out norms the sum of stream and output, not the output alone */
    bool norm_after;     /* the sum of stream and output is normed, and the result is the new
                          * stream */
    bool adds_to_normed; /* the output is added to the normed input, not to the stream (BLOOM) */
    bool replaces;       /* there is no residual connection: the output replaces the stream */
    bool adds_input;     /* the sublayer's input is added to the sum of stream and output as well */
    bool scales;         /* the sum of stream and output is multiplied by a learned number of the
                          * layer */
    bool corrects, spreads;
    float factor;     /* the output is multiplied by this factor, then added */
    float sum_factor; /* the sum of stream and output is multiplied by it */
    /* Ids of sites, without the branch. SITE_EMBEDDING: the sublayer has no such site. */
    enum site at_input, at_out, at_out_norm;
    enum site at_sum[3], at_after[3]; /* at_sum: sites of the stream before the norm that follows if
                                       * norm_after is true; at_after: sites of the stream after
                                       * this norm */
    struct head_rule head;
    struct score_rule score;
    struct mlp_rule mlp;
    const struct mixer *mixer; /* NULL unless `kind` is SUBLAYER_MIX */
};

/* The branch of the sublayer's norms and of their sites: the text's branch for a mixer, or else the
 * sublayer's own branch. */
static inline enum site_branch sublayer_outside(const struct sublayer *sublayer)
{
    return sublayer->branch == BRANCH_MIXER ? BRANCH_TEXT : sublayer->branch;
}

/* A layer runs `count` sublayers. The sublayers from `count` to `all` - 1 have parameters, but
 * --without leaves them out. Norms that --without leaves out stay in the list, since their sites
 * still have values in the pass. */
struct layer {
    size_t count, all;
    const struct sublayer *sublayers; /* [all] in the order in which they run */
};

/* Return the MLP, the attention or the mixer that a layer runs in a branch (a mixer is always in
 * BRANCH_MIXER); NULL: the layer runs none. */
const struct sublayer *layer_mlp(const struct layer *layer, enum site_branch branch);
const struct sublayer *layer_attention(const struct layer *layer, enum site_branch branch);
const struct sublayer *layer_mixer(const struct layer *layer);

/* sublayer_end: the last site of the stream after a sublayer, or SITE_EMBEDDING if it has none.
 * sublayer_stream_branch: the branch of site `id`, a site of the stream after a sublayer. */
enum site sublayer_end(const struct sublayer *sublayer);
enum site_branch sublayer_stream_branch(const struct sublayer *sublayer, enum site id);

/* The share of tokens that were not masked in the training of ESM. */
#define EMBED_KEPT 0.88

/* How token ids become the stream that the first layer reads. */
struct embed_rule {
    size_t width, rows; /* columns and rows of the table of tokens */
    bool own_table;     /* the source's stack has its own table of tokens */
    float scale;        /* the token's row is multiplied by it before other embeddings are added */
    bool drops_masks;   /* the rows of mask tokens become 0; other rows are multiplied by EMBED_KEPT
                         * / (share of the text's tokens that are not masks), as in the training of
                         * ESM */
    long long mask;     /* the token id of a mask */
    enum {
        POSITIONS_NONE,
        POSITIONS_TABLE,        /* a learned row for each position is added */
        POSITIONS_SINES,        /* sines and cosines, alternating ("Attention is all you need") */
        POSITIONS_SINES_HALVES, /* all sines, then all cosines (Marian) */
        POSITIONS_SINES_OFFSET, /* as POSITIONS_SINES_HALVES, with other angles (M2M-100) */
    } positions;
    size_t first;      /* row of the table of positions for the first token */
    bool counted;      /* positions count only tokens that are not padding */
    long long padding; /* the token id of padding; its row of the table is `first` - 1 */
    size_t segments;   /* rows of the table of segment embeddings; 0: there is no such table */
    /* given: channels of the extra input that each layer reads for each token (0: layers have no
     * extra input); given_rows: rows of the table with these inputs. */
    size_t given, given_rows;
    bool given_lenient; /* a token id beyond the table of extra inputs gets row 0; else such an id
                         * is refused */
    bool norm;
    /* PROJECT_TOKENS: only the token's row is projected; PROJECT_LAST: the sum of token, position
     * and segment embeddings is projected */
    enum { PROJECT_NEVER, PROJECT_TOKENS, PROJECT_LAST } project;
};

/* How the result of the model is computed from the stream after the last layer. */
struct unembed_rule {
    bool norm;    /* the stream goes through the norm ln_f. In the source's stack all other fields
                   * are 0. */
    bool project; /* the stream is projected to the channels of the token embeddings */
    /* The slot of a dense layer with an activation, before the last matrix; SLOT_NONE: there is no
     * dense layer. */
    enum slot_id dense;
    enum activation activation;
    bool dense_norm;    /* the output of the dense layer goes through the norm
                         * SLOT_TRANSFORM_NORM */
    bool first_only;    /* the dense layer reads only the first token: a pooler */
    bool mean;          /* for each token, the dense layer reads the mean of all tokens */
    bool bias;          /* a bias is added to the logits */
    size_t logits;      /* number of logits: size of the vocabulary, or number of classes */
    float divisor, cap; /* a logit is divided by `divisor`, then becomes cap · tanh(logit / cap); 0:
                         * this step is left out */
    enum site at_dense,
        at_result; /* sites of the output of the dense layer (at_dense) and of the last matrix
                    * (at_result); SITE_EMBEDDING: there is no such site */
};

/* A stack of layers with its embedding and its unembedding: the text's stack (BRANCH_TEXT) or the
 * source's (BRANCH_SOURCE). If the source's stack has no layers, the source is only embedded. */
struct stack {
    enum site_branch branch;
    size_t width, layers, heads; /* heads: maximum number of heads in any layer */
    const struct layer *layer;   /* [layers] in the order in which they run */
    struct head_rule head;       /* the head rule for layers that have no attention */
    struct stream_copies copies;
    struct embed_rule embed;
    struct unembed_rule unembed;
};

/* The description of a config: a stack for texts, a stack for their sources, and their points. */
struct model_point;
struct layer_points;
struct description {
    const struct config *owner; /* the config that frees the description; its copies only borrow the
                                 * description */
    struct stack text, source;
    struct model_point *points; /* the first pass_count points, in the order of the pass, then the
                                 * effective points */
    size_t point_count, pass_count, point_room;
    struct layer_points *of_layer; /* [config_layers] the points of each element of `layers` */
    /* sites: all sites that the model has, in a layer or outside of layers; pass_sites: all of
     * these except effective sites. */
    struct site_set sites, pass_sites;
    unsigned first_point[SITE_COUNT]; /* for each site in `sites`, the index of its first point */
    struct site_set left_out;         /* sites of the sublayers that --without leaves out */
    struct layer layers[];            /* the text's layers, then the source's */
};

/* Make the description of a config. If it exists already it is made again, in the same memory, from
 * the current config and mechanism. A copy of a config borrows the description until this function
 * makes one for the copy. config_release frees a description only for its owner. */
int config_describe(struct config *config, struct err *err);
void config_release(struct config *config);

/* stack_of: the stack of a branch; attention to the source is in the text's stack. has_encoder:
 * whether the source's stack has layers. layer_of: the layer with this index. attention_of: a
 * layer's attention in a branch, or NULL if the layer has none. */
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

/* The number of logits of a token: the size of the vocabulary, or the number of classes. */
static inline size_t config_logits(const struct config *config)
{
    return stack_of(config, BRANCH_TEXT)->unembed.logits;
}

static inline const struct sublayer *attention_of(const struct config *config,
                                                  enum site_branch branch, size_t layer)
{
    return layer_attention(layer_of(config, branch, layer), branch);
}

/* The attention of the first layer that has attention in a branch; NULL: no layer has any. */
const struct sublayer *first_attention(const struct config *config, enum site_branch branch);

/* The head rule of a layer's attention in a branch's stack. If the stack has no layers, it is the
 * rule of the text's first layer; if the layer has no attention, it is stack->head. */
const struct head_rule *stack_head(const struct config *config, enum site_branch branch,
                                   size_t layer);

/* The number of bytes that all mixers of a model keep for a text, which does not depend on the
 * text's length. */
size_t layers_mixed_bytes(const struct config *config);

/* A line of `info` about the architecture of a config, in words (architecture_words.c). */
struct buf;
struct architecture_row {
    /* name of the line, such as "norms" */
    const char *name;
    /* writes the value of the line; if it writes nothing the line is left out */
    void (*write)(struct buf *out, const struct config *config);
};

extern const struct architecture_row architecture_rows[];
extern const size_t architecture_row_count;
