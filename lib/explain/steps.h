/* steps.h: the inside of explanation.c. A trace is what a pass gave of one query of one head; steps
 * are made of it by a builder. Memory that is not there sticks to the builder: arrays that were to
 * be taken are NULL then.
 *
 *     builder_formula(builder, "scaled_j = score_j");
 *     builder_keys(builder);
 *     builder_column(builder, &quantity_score, trace->scores);
 *     builder_work(builder, "score_%k = %n", &(struct number){numeral, 0.5f});
 */
#ifndef ATTN_EXPLAIN_STEPS_H
#define ATTN_EXPLAIN_STEPS_H

#include "base/buf.h"
#include "explain/explanation.h"
#include "lens/viewer.h"
#include "model/weights.h"

/* --- trace: T tokens look at S keys; vectors are dense. One pass serves all queries ----------- */

/* A head's queries or keys as they are projected, [rows, dk], and the mean squares [rows] that
 * their norm divides by: of the head, or of all heads side by side. */
struct raw_heads {
    float *values, *squares;
};

/* All of it lives as long as the arena and the viewer. */
struct trace {
    const struct report *report;
    const struct config *config; /* the model's, as this one of its attentions has it */
    enum site_part part;
    struct attention_weights weights; /* the layer's */
    struct mlp_weights mlp;
    struct viewer *viewer;
    size_t layer, head, query;
    size_t group;            /* the key/value head that the head looks at */
    size_t keys;             /* S */
    float scale, base_scale; /* of the scores; and without the temperature in it */
    bool keys_edited;        /* so that they have a step of their own */
    bool cools;              /* the temperature comes after a cap or ALiBi, not with the scale */

    size_t input_size;          /* C */
    const float *word_rows;     /* [T, W] embeddings that are projected; NULL: they are not */
    struct norm embedding_norm; /* of a first layer's; else it has no scale */
    const float *tokens; /* [T, C] what a first layer's input is the sum of; NULL: it is no sum */
    const float *positions; /* [T, C] */
    const float *streams; /* [T, C] before the norm, where norms come first; NULL: there is none */
    const float *inputs;  /* [T, C] what queries are made of */
    const float *sources; /* [S, C] what keys and values are made of: the same, or another text */
    const float *k;       /* [S, dk] */
    const float *v;       /* [S, dv] */
    const float *k_pre;   /* [S, dk] before they turn; NULL: they do not */
    struct raw_heads raw_q, raw_k; /* of all tokens, where heads are normed */
    const struct rotary *rotary;   /* how queries and keys turn, NULL: they do not; and by what */
    const float *waves;            /* [T, components] */

    /* Of the query: its rows of the above, and what follows from them. */
    const float *token, *position, *stream, *x;
    const float *q_pre;   /* [dk] before it turns */
    const float *q;       /* [dk] */
    const float *scores;  /* [S] */
    const float *softmax; /* [S] of all keys, where the mask comes after it; else NULL */
    const float *masked;  /* [S] */
    const float *weight;  /* [S] */
    const float *context; /* [dv] */
    const float *out;     /* [w.out] of the layer's attention */
};

/* Run the pair through the model up to the output of that attention. */
int trace_run(struct trace *trace, struct viewer *viewer, const struct text_pair *pair,
              const struct explain_request *request, struct arena *arena, struct err *err);

/* From now on it is another query's. */
void trace_set_query(struct trace *trace, size_t query);

/* The query's row of what its layer gives, or of what comes after it; NULL: there is no such. */
const float *trace_row(const struct trace *trace, enum site site);

/* … and how many numbers it has. */
size_t trace_width(const struct trace *trace, enum site site);

/* y [rows, w->out] = x · w + bias. */
float *trace_product(const struct trace *trace, const float *x, size_t rows, const struct weight *w,
                     struct arena *arena, struct err *err);

/* The query as it is projected: q_raw where it is then normed, q_pre where it turns, or q. */
struct named_vector {
    const char *name;
    const float *values;
};

struct named_vector trace_projected(const struct trace *trace);

/* The context [dv] that another head has for the same query. */
const float *trace_context(const struct trace *trace, size_t head);

/* --- formulas --------------------------------------------------------------------------------- */

/* A number as it is written. */
struct number {
    struct numeral numeral;
    float value;
};

/* Append what a template says: %k is the key; %n is the next number as it is, %f as a factor, so
 * that a negative one stands in parentheses, %t as a term of a sum, with its sign before it. */
void formula_write(struct buf *out, const char *form, size_t key, const struct number *numbers);

/* a · b + c · d + … + y · z: of many products the first ones and the last. The second factors are
 * `stride` floats apart. */
void formula_dot(struct buf *out, const struct numeral numerals[2], const float *a, const float *b,
                 size_t stride, size_t count);

/* a + b - c + … + z: of numbers `stride` floats apart. */
void formula_sum(struct buf *out, struct numeral numeral, const float *values, size_t stride,
                 size_t count);

/* --- a step ----------------------------------------------------------------------------------- */

struct builder {
    const struct trace *trace;
    struct step *step;        /* that is being made */
    struct step_table *table; /* that is filled in: the step's, or that of something given */
    struct given *givens;     /* of the step */
    bool gives;               /* this query has them: of several the first */
    size_t key;               /* whose numbers are worked out */
    int digits;               /* of numbers */
    struct buf out;           /* what is being drawn */
    struct buf note;          /* the sentences to read with the step */
    bool failed;              /* for want of memory: err says so */
    struct arena *arena;
    struct err *err;
};

/* What columns and vectors hold. */
struct quantity {
    const char *name;   /* "score" */
    const char *symbol; /* score_j: above the table */
};

extern const struct quantity quantity_k_raw, quantity_k_pre, quantity_k, quantity_v, quantity_g,
    quantity_score, quantity_scaled, quantity_capped, quantity_moved, quantity_cooled,
    quantity_masked, quantity_softmax, quantity_share, quantity_weight;

/* Where the next sentence is to be put. */
struct buf *builder_note(struct builder *builder);

/* A formula; what the writer has becomes one, or with one more template the worked line. */
void builder_formula(struct builder *builder, const char *formula);
void builder_drawn(struct builder *builder);
void builder_work(struct builder *builder, const char *form, const struct number *numbers);

/* A formula of what is projected, k_j = x_j · W_k + b_k: without a bias, without a projection. */
void builder_projection(struct builder *builder, const char *name, char letter,
                        const struct weight *w);

/* y = (x - μ) / √(σ² + ε) ⊙ γ + β, or as an RMS norm has it; NULL: y = x. And with x's numbers. */
void builder_norm_formula(struct builder *builder, const char *y, const char *x,
                          const struct norm *norm);
void builder_norm(struct builder *builder, const char *y, const char *x, const struct norm *norm,
                  const float *values, size_t width);

/* y_0 = x_0 · W_0,c + … + b_c = …: what x [w->in] and a column of a projection come to. */
void builder_dot(struct builder *builder, const char *name, const float *x, const struct weight *w,
                 size_t column, float y);

/* The rows of the table: the keys; or so many, to be filled in. */
void builder_keys(struct builder *builder);
struct label *builder_rows(struct builder *builder, size_t count);
struct label builder_label(const char *name);

/* Then its columns: a number, or a vector of `width`, for each row. The values are borrowed. */
struct block *builder_column(struct builder *builder, const struct quantity *quantity,
                             const float *values);
struct block *builder_vectors(struct builder *builder, const struct quantity *quantity,
                              const float *values, size_t width);

/* A whole table of one vector. */
void builder_vector(struct builder *builder, const char *name, const float *values, size_t width);

/* Or of vectors with names; those that are NULL are left out. */
void builder_stack(struct builder *builder, const struct named_vector *vectors, size_t count,
                   size_t width);

float *builder_floats(struct builder *builder, size_t count);

/* How numbers are written; a number by itself, or one of a block. */
struct numeral builder_numeral(const struct builder *builder, const float *values, size_t count);
struct number builder_number(const struct builder *builder, float value);
struct number block_number(const struct block *block, size_t at);

/* The scores of all keys before they are masked, and what they are called: scaled, capped, moved by
 * their distance and cooled. Of those that the mask hides they are nowhere in the pass. */
float *builder_scores(struct builder *builder, const struct quantity **quantity);

/* --- what steps take as it is, for who follows them by hand: a number of the config; weights, rows
 * that the pass made before; `give_met_keys` unless a step before has them
 */

typedef void step_builder(struct builder *builder);

void give_number(struct builder *builder, const char *name, float value);
extern step_builder give_input, give_query, give_keys, give_met_keys, give_values, give_output,
    give_key_norm, give_turn, give_hidden, give_mlp_out, give_logits;

/* ALiBi's slope of the head, 0: none. The norm of a head's queries or keys. */
float given_slope(const struct trace *trace);
struct norm given_head_norm(const struct trace *trace, bool of_keys);

/* The norm that the input comes of; NULL: there is none. */
const struct norm *given_norm(const struct trace *trace);

/* The head's columns of the projection of queries, dense, with the bias below them; the builder's.
 * Is it small enough for a page? */
float *given_query_matrix(struct builder *builder);
bool given_query_is_small(const struct trace *trace);

/* --- steps that edits changed (steps_edited.c) ------------------------------------------------ */

/* The passes that leave the edits of a step's values out, [steps]. */
struct edited_steps {
    struct viewer *viewer;
    const struct text_pair *pair;
    const struct explain_request *request;
    struct edited_step {
        const char *name;
        struct trace trace;
    } * items;
    size_t count;
};

/* The query's trace in which a step has the values that its formula gives; NULL: no edit changed
 * them, or the builder failed. Then what goes on, as a step of its own. Are keys changed? */
const struct trace *edited_before(struct edited_steps *steps, const char *step,
                                  struct builder *builder);
void edited_show(struct builder *builder, const struct trace *before, const char *step);
bool edited_keys(const struct trace *trace);

/* --- the steps, each in the file of what it is about ------------------------------------------ */

extern step_builder step_embedding, step_input, step_query, step_query_norm, step_query_turn,
    step_features, step_keys, step_key_norm, step_key_turn, step_scores, step_products, step_scaled,
    step_capped, step_moved, step_cooled, step_softmax, step_masked, step_shares, step_dropout,
    step_values, step_context, step_output, step_attention_norm, step_middle, step_mlp_norm,
    step_hidden, step_activation, step_mlp_out, step_mlp_post, step_stream, step_final_norm,
    step_logits;

#endif
