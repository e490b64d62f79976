/* steps.h: the inside of explanation.c. A trace holds what a pass computed for one query of one
 * head; a builder makes steps of it. Failures stick to the err: arrays are then NULL.
 *
 *     builder_formula(builder, "scaled_j = score_j / √%z", d_k);
 *     builder_keys(builder);
 *     builder_column(builder, "score", NULL, trace->scores);
 *     builder_work(builder, "score_%k = %n", trace->scores[builder->key]);
 */
#ifndef ATTN_EXPLAIN_STEPS_H
#define ATTN_EXPLAIN_STEPS_H

#include "base/buf.h"
#include "explain/explanation.h"
#include "lens/viewer.h"
#include "model/weights.h"

/* A head's queries or keys as they are projected, [rows, dk], and the mean squares [rows] that
 * their norm divides by: of the head, or of all heads together. */
struct raw_heads {
    float *values, *squares;
};

struct named_vector {
    const char *name;
    const float *values;
};

/* T tokens attend to S keys; vectors are dense. One pass serves all queries. */
struct trace {
    const struct report *report;
    const struct config *config; /* the model's, as the traced attention has it */
    enum site_part part;
    struct attention_weights weights; /* the layer's */
    struct mlp_weights mlp;
    struct viewer *viewer;
    size_t layer, head, query, keys; /* keys: S */
    size_t group;                    /* the key/value head of this head */
    float scale, base_scale;         /* of the scores; and without the temperature */
    bool keys_edited;                /* so that they have a step of their own */
    bool cools;                      /* the temperature comes after a cap or ALiBi */

    size_t input_size;               /* C */
    const float *word_rows;          /* [T, W] embeddings that are projected; else NULL */
    struct norm embedding_norm;      /* of a first layer's; else it has no scale */
    const float *tokens, *positions; /* [T, C] whose sum is a first layer's input; else NULL */
    const float *streams;            /* [T, C] before the norm, where norms come first; or NULL */
    const float *inputs, *sources;   /* [T, C] of queries; [S, C] of keys and values */
    const float *k, *v, *k_pre;      /* [S, dk], [S, dv]; k before the rotary embedding, or NULL */
    struct raw_heads raw_q, raw_k;   /* of all tokens, where heads are normed */
    const struct rotary *rotary;     /* or NULL */
    const float *cos_sin;            /* [T, components] cosines and sines */

    /* Of the query: its rows of the above, and what follows from them. */
    const float *token, *position, *stream, *x;
    const float *q, *q_pre;                          /* [dk] */
    const float *scores, *masked, *weight, *softmax; /* [S]; softmax: of a mask after it, or NULL */
    const float *context;                            /* [dv] */
    const float *out;                                /* [w.out] of the layer's attention */
};

/* Run the pair through the model up to the end of that layer, or of its attention. */
int trace_run(struct trace *trace, struct viewer *viewer, const struct text_pair *pair,
              const struct explain_request *request, struct arena *arena, struct err *err);
void trace_set_query(struct trace *trace, size_t query);

/* A tensor of the layer, or NULL; the query's row of it, of the own head or of any. */
const struct kept *trace_find(const struct trace *trace, enum site site);
const float *trace_row(const struct trace *trace, enum site site);
const float *trace_row_of_head(const struct trace *trace, enum site site, size_t head);

/* y [rows, w->out] = x · w + bias. */
float *trace_product(const struct trace *trace, const float *x, size_t rows, const struct weight *w,
                     struct arena *arena, struct err *err);

/* ALiBi's slope of the head, 0: none. */
float trace_slope(const struct trace *trace);

/* --- a step ----------------------------------------------------------------------------------- */

struct builder {
    const struct trace *trace;
    struct step *step;
    struct step_table *table; /* that is filled in: the step's, or of a given matrix */
    struct given *givens;     /* of the step */
    bool gives;               /* this query has them: of several the first */
    size_t key;               /* whose numbers are worked out */
    int digits;               /* of numbers */
    struct buf out;           /* the formula that is being written */
    struct buf note;          /* the sentences of the step */
    struct arena *arena;
    struct err *err; /* of what failed so far */
};

/* Texts with values: %s a text, %z a size_t, %g a double, %k the key whose numbers are worked out;
 * %n a number as a double, %f as a factor, in parentheses if negative, %t as a term of a sum, with
 * its sign before it. A sentence of the note; a part of the formula in `out`; its end, which makes
 * it one of the step's formulas, or the one with numbers. */
void builder_note(struct builder *builder, const char *form, ...);
void builder_add(struct builder *builder, const char *form, ...);
void builder_formula(struct builder *builder, const char *form, ...);
void builder_work(struct builder *builder, const char *form, ...);

/* a · b + c · d + … + y · z, and a + b - c + … + z, of numbers `stride` floats apart: of many terms
 * the first ones and the last. */
void builder_add_dot(struct builder *builder, const float *a, const float *b, size_t count);
void builder_add_sum(struct builder *builder, const float *values, size_t stride, size_t count);

/* A projection's formula, k_j = x_j · W_k + b_k; y_0 = x_0 · W_0,c + … + b_c = … with numbers. */
void builder_projection(struct builder *builder, const char *y, const char *x, const char *letter,
                        const struct weight *w);
void builder_dot(struct builder *builder, const char *name, const float *x, const struct weight *w,
                 size_t column, float y);

/* y = (x - μ) / √(σ² + ε) ⊙ γ + β, or an RMS norm; NULL: y = x. Then with x's numbers; and with a
 * table of all of it. */
void builder_norm_formula(struct builder *builder, const char *y, const char *x,
                          const struct norm *norm);
void builder_norm(struct builder *builder, const char *y, struct named_vector x,
                  const struct norm *norm);
void builder_norm_step(struct builder *builder, struct named_vector x, struct named_vector y,
                       const struct norm *norm);

/* The rows of the table: the keys; or `count` rows to be filled in. */
void builder_keys(struct builder *builder);
struct label *builder_rows(struct builder *builder, size_t count);
struct label builder_label(const char *name);

/* Its columns: a number, or a vector of `width`, for each row; a NULL symbol is `name`_j. The
 * values are borrowed. */
struct block *builder_column(struct builder *builder, const char *name, const char *symbol,
                             const float *values);
struct block *builder_vectors(struct builder *builder, const char *name, const char *symbol,
                              const float *values, size_t width);

/* A table of named vectors, without those that are NULL; or of a single one. */
void builder_stack(struct builder *builder, const struct named_vector *vectors, size_t count,
                   size_t width);
void builder_vector(struct builder *builder, struct named_vector vector, size_t width);

float *builder_floats(struct builder *builder, size_t count);

/* The columns of a head, `width` from its number times that, dense, with the bias below them; the
 * projection between the channels of embeddings and those of the stream. */
float *builder_columns(struct builder *builder, const struct weight *w, size_t head, size_t width);
bool builder_word_projection(struct builder *builder, struct weight *w, bool out);

/* --- given numbers and matrices, which steps take as they are, for readers who follow them by hand
 */

enum {
    GIVEN_SMALL = 8,    /* rows and columns of a matrix that pages always show */
    GIVEN_WHOLE = 4096, /* numbers of the largest matrix of a whole layer that is given */
};

/* A number, or a vector, which formulas or tables show; a dense matrix [rows, width] with a row a
 * channel; vectors of the keys' text, or of the queries'; NULL values: none. The columns of a head
 * as "W_q" and "b_q"; a whole matrix that is small enough. */
void give_number(struct builder *builder, const char *name, float value);
void give_vector(struct builder *builder, const char *name, const float *values, size_t width);
struct given *give_matrix(struct builder *builder, const char *name, const char *symbol,
                          const float *values, size_t rows, size_t width);
void give_rows(struct builder *builder, const char *name, const char *symbol, const float *values,
               size_t width, bool of_keys);
struct given *give_columns(struct builder *builder, const char *name, const struct weight *w,
                           size_t head, size_t width);
void give_whole(struct builder *builder, const char *name, const struct weight *w);

/* --- the steps -------------------------------------------------------------------------------- */

typedef void step_builder(struct builder *builder);

extern step_builder step_embedding, step_input, step_query, step_query_norm, step_query_rotary,
    step_features, step_keys, step_key_norm, step_key_rotary, step_scores, step_products,
    step_scaled, step_capped, step_moved, step_cooled, step_softmax, step_masked, step_shares,
    step_dropout, step_values, step_context, step_output, step_middle, step_norm, step_hidden,
    step_activation, step_mlp_out, step_stream, step_logits;

#endif
