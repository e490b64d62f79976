/* steps.h: internals of explanation.c. A trace holds the tensors of a pass for one query of one
 * head; a builder converts them to steps, which are tables with their working. The first failure
 * stays in `err`; arrays are then NULL.
 *
 *     builder_formula(builder, "scaled_j = score_j / √%z", d_k);
 *     builder_keys(builder);
 *     builder_column(builder, "score", NULL, trace->scores);
 *     builder_work(builder, "score_%k = %n", trace->scores[builder->key]);
 */
#pragma once

#include "base/buf.h"
#include "explain/explanation.h"
#include "lens/viewer.h"
#include "model/layer.h"
#include "model/weights.h"

/* `values` [rows, dk]: queries or keys of a head before the norm of heads, projected or already
 * rotated. `squares` [rows]: the mean squares that the norm divides by, over this head or over all
 * heads. */
struct raw_heads {
    float *values, *squares;
};

struct named_vector {
    const char *name;
    const float *values;
};

/* The tensors of a pass for one head: T query tokens attend to S keys; vectors are contiguous. One
 * pass serves all queries. */
struct trace {
    const struct report *report;
    const struct config *config; /* config of the model */
    enum site_branch branch;
    const struct sublayer *list; /* [count] sublayers of the layer */
    size_t count;
    const struct sublayer *rule; /* the traced attention, an item of `list` */
    struct block_weights block;  /* matrices of the traced attention, and of the layer's MLP */
    struct viewer *viewer;
    struct weights *weights;         /* parameters of the viewer's model */
    size_t layer, head, query, keys; /* `keys`: S, the number of keys */
    size_t kv_head;                  /* key/value head that the traced head uses */
    size_t own;                      /* index of the traced head among the captured heads: 0 or 1 */
    size_t context_head;             /* number of the head's context: the head's number, or the
                                      * number of its pair of heads */
    struct head_bias bias;           /* position bias of the head's scores */
    const float *sink;               /* the score of the head's sink; NULL: none */
    bool has_norms;                  /* false: the pass applies no norms (--without norm) */
    bool keys_edited;                /* edits change the keys: a separate step then shows them */

    size_t input_size;          /* C, the number of channels */
    const float *word_rows;     /* [T, W] token embeddings before their projection to C channels;
                                 * NULL: no such projection */
    struct norm embedding_norm; /* in layer 0: norm of the embedding; `scale` is NULL if there is no
                                 * such norm */
    struct weight projection;   /* in layer 0: projection from W channels to C, of token embeddings
                                 * or of the sum of embeddings; weight_exists is false without it */
    size_t sum_size;            /* channels of the sum of embeddings: W if the sum is projected,
                                 * else C */
    const float *tokens, *positions, *segments; /* [T, sum_size] terms of layer 0's input; NULL: no
                                                 * such term, or another layer */
    const float *streams;                       /* [T, C] stream before the attention's norm; NULL:
                                                 * no such norm */
    const float *inputs, *sources; /* `inputs` [T, C] make queries; `sources` [S, C] make keys and
                                    * values */
    const float *k, *k_pre;        /* [S, dk] keys; `k_pre`: keys before the rotary embedding; NULL:
                                    * none */
    const float *v;                /* [S, dv] values; [S, 2 dv] if two heads make one context */
    struct raw_heads raw_q, raw_k; /* queries and keys of all tokens before norms of heads; `values`
                                    * NULL: no such norms */
    const struct rotary *rotary;   /* the rotary embedding; NULL: none */
    const float *cos_sin;          /* [T, components] cosines and sines of the rotary embedding */
    bool turns_first;              /* norms of heads come after the rotary embedding */

    /* Set by set_query: the query's rows of the tensors above, and of other tensors of the pass. */
    float scale; /* factor by which the query's row of `tokens` is multiplied */
    const float *token, *position, *segment, *stream, *x;
    const float *q, *q_pre;                          /* [dk] `q_pre`: query before the rotary
                                                      * embedding; NULL: there is none */
    const float *scores, *masked, *weight, *softmax; /* [S] `softmax`: weights before a mask that is
                                                      * applied after the softmax; NULL: no such
                                                      * mask */
    const float *map;     /* [S] factors of the values: weights, or differences of two heads'
                           * weights */
    const float *context; /* [dv]; [2 dv] if two heads make one context */
    const float *out;     /* [C] output of the attention; without a projection: contexts of all
                           * heads */
};

/* Return the query's row in a tensor of the layer (trace_row: for the traced head, if the tensor
 * has heads); NULL: the pass has no such tensor. The site belongs to the traced branch, or to
 * another sublayer. */
const float *trace_row(const struct trace *trace, enum site site);
const float *trace_row_of_head(const struct trace *trace, enum site site, size_t head);

/* Return the site `id` of a sublayer. A sublayer that is not in an attention branch, such as the
 * low-rank branch, has sites of its own except SITE_RESID_POST; in all other cases, `id` itself is
 * returned. */
static inline enum site step_site(const struct sublayer *s, enum site id)
{
    return s->branch >= ATTENTION_BRANCHES && id != SITE_RESID_POST ? SITE_OF(s->branch, id) : id;
}

/* Return y [rows, w->out] = x · w + bias; NULL with `err`. */
float *trace_product(const struct trace *trace, const float *x, size_t rows, const struct weight *w,
                     struct arena *arena, struct err *err);

/* --- a step ----------------------------------------------------------------------------------- */

struct builder {
    const struct trace *trace;
    struct table *step;
    struct table *table;    /* the table that is being filled: the step's, or an operand */
    struct table *operands; /* operands of the step */
    struct column spare;    /* receives columns after the step has failed */
    bool gives;             /* the step lists its operands; only steps of the first query do */
    size_t sublayer;        /* index of the step's sublayer in the trace's list */
    enum site site;         /* `site` of the step's row in step_rows */
    size_t key;             /* key used for the worked example */
    int digits;             /* number of decimals */
    const char *language;   /* language of titles and notes; NULL: English */
    struct buf out;         /* formula being written */
    struct buf note;        /* sentences of the step's note */
    struct arena *arena;
    struct err *err; /* receives the first failure */
};

/* Formatted text: %s text, %z size_t, %g double, %k the key of the worked example; of a double, %n
 * writes a number, %f a factor (in parentheses if negative), %t a term with its sign. builder_note
 * appends to the note, builder_add to the formula in `out`; builder_formula and builder_work end
 * it, as a formula of the step or as its worked example. */
void builder_note(struct builder *builder, const char *form, ...);
void builder_add(struct builder *builder, const char *form, ...);
void builder_end(struct builder *builder, bool is_worked);
#define builder_formula(builder, ...) \
    (builder_add(builder, __VA_ARGS__), builder_end(builder, false))
#define builder_work(builder, ...) (builder_add(builder, __VA_ARGS__), builder_end(builder, true))

/* Append a_0 × b_0 + a_1 × b_1 + …, or the sum of `count` values that are `stride` floats apart.
 * Long sums are abbreviated to the first terms and the last. */
void builder_add_dot(struct builder *builder, const float *a, const float *b, size_t count);
void builder_add_sum(struct builder *builder, const float *values, size_t stride, size_t count);

/* builder_projection adds the formula of a projection, k_j = x_j · W_k + b_k; builder_dot works out
 * one component: y_0 = 0.1 × 0.2 + … = 0.5. builder_clip adds y = max(-c, min(c, x)), for models
 * that clip queries, keys and values. */
void builder_projection(struct builder *builder, const char *y, const char *x, const char *letter,
                        const struct weight *w);
void builder_clip(struct builder *builder, const char *y, const char *x);
void builder_dot(struct builder *builder, const char *name, const float *x, const struct weight *w,
                 size_t column, float y);

/* Add the formula of an embedding: h = √16 × wte[4] + wpe[2] + wse[0]. */
void builder_embedding(struct builder *builder, const char *name);

/* Add the formula of a norm: y = (x - μ) / √(σ² + ε) ⊙ γ + β, or of an RMS norm; y = x if `norm` is
 * NULL. builder_norm also adds the numbers of x, and a table of `terms` (the vectors whose sum is
 * x; NULL: left out), x, γ, β and y. */
enum { NORM_TERMS = 3 };

void builder_norm_formula(struct builder *builder, const char *y, const char *x,
                          const struct norm *norm);
void builder_norm(struct builder *builder, struct named_vector y, struct named_vector x,
                  const struct norm *norm, const struct named_vector terms[NORM_TERMS],
                  size_t width);

/* Set the rows of the table: builder_keys to the keys, builder_rows to `count` rows, whose labels
 * the caller fills in. builder_label: a label with one text for all uses. */
void builder_keys(struct builder *builder);
struct label *builder_rows(struct builder *builder, size_t count);
struct label builder_label(const char *name);

/* Add a column with a number (builder_column), or a vector of `width` numbers (builder_vectors),
 * for each row. A NULL symbol means `name`_j. The values are borrowed. */
struct column *builder_column(struct builder *builder, const char *name, const char *symbol,
                              const float *values);
struct column *builder_vectors(struct builder *builder, const char *name, const char *symbol,
                               const float *values, size_t width);

/* Fill the table with named vectors, one in each row. builder_stack adds `count` vectors but skips
 * vectors whose `values` is NULL; builder_vector adds one vector. */
void builder_stack(struct builder *builder, const struct named_vector *vectors, size_t count,
                   size_t width);
void builder_vector(struct builder *builder, struct named_vector vector, size_t width);

float *builder_floats(struct builder *builder, size_t count);

/* Return a contiguous copy of a part of a matrix; row w->in is the bias. */
float *builder_part(struct builder *builder, const struct weight *w, size_t first_row, size_t rows,
                    size_t first_column, size_t columns);

/* --- operands: numbers and matrices that a step uses, to recompute it by hand ----------------- */

enum {
    COLUMNS_MAX = 4,    /* maximum number of columns in a table */
    OPERANDS_MAX = 10,  /* maximum number of operands of a step */
    GIVEN_SMALL = 8,    /* a matrix with larger sides is not shown on pages that omit large ones */
    GIVEN_WHOLE = 4096, /* give_whole lists only matrices of at most this number of elements */
};

/* Add an operand. give_number, give_vector: a number or vector that formulas or tables use;
 * give_matrix: a contiguous matrix [rows, width] with a row for each channel; give_rows: vectors of
 * all keys or queries; give_columns: a head's columns of a matrix `name`, such as "W_q", and its
 * bias "b_q"; give_whole: a whole matrix, if it is small enough. NULL values: no operand. */
void give_number(struct builder *builder, const char *name, float value);
void give_vector(struct builder *builder, const char *name, const float *values, size_t width);
struct table *give_matrix(struct builder *builder, const char *name, const char *symbol,
                          const float *values, size_t rows, size_t width);
void give_rows(struct builder *builder, const char *name, const char *symbol, const float *values,
               size_t width, bool of_keys);
struct table *give_columns(struct builder *builder, const char *name, const struct weight *w,
                           size_t head, size_t width);
void give_whole(struct builder *builder, const char *name, const struct weight *w);

/* --- the steps -------------------------------------------------------------------------------- */

typedef void step_builder(struct builder *builder, const struct trace *trace);

extern step_builder step_embedding, step_copies, step_predicted, step_input, step_query,
    step_query_norm, step_query_rotary, step_features, step_keys, step_key_norm, step_key_rotary,
    step_scores, step_products, step_scaled, step_capped, step_moved, step_cooled, step_softmax,
    step_masked, step_shares, step_dropout, step_difference, step_values, step_context, step_gated,
    step_output, step_sum, step_norm, step_hidden, step_activation, step_branch, step_corrected,
    step_given, step_given_act, step_streams, step_merged, step_router, step_chosen, step_shared,
    step_experts, step_mlp_out, step_transform, step_discriminator, step_logits;
