/* steps.h: a trace as the steps of an explanation; the inside of explanation.c. A builder holds the
 * step that is being made; every step is a function of the file of what it is about.
 *
 *     builder_title(builder, "scaled", "Scale");
 *     formula_add(&builder->out, "scaled_j = score_j", "\\tilde{s}_j = s_j");
 *     if (builder_drawn(builder) || given_number(builder, "scale", trace->scale)) ...
 *     builder_keys(builder);
 *     builder_column(builder, "score", "score_j", "s_j", trace->scores);
 *
 * Functions that can fail return -1, or NULL, with the builder's err.
 */
#ifndef ATTN_EXPLAIN_STEPS_H
#define ATTN_EXPLAIN_STEPS_H

#include "base/buf.h"
#include "explain/explanation.h"
#include "explain/trace.h"

/* Make all steps, with what they take or without; they are the arena's. */
int steps_make(struct explanation *explanation, const struct trace *trace, int digits, bool gives,
               struct arena *arena, struct err *err);

/* --- a formula in both notations at once -------------------------------------------------------
 *
 *     formula_symbol(&out, "score", "s", 0);
 *     formula_equals(&out);
 *     formula_number(&out, numeral, -0.6004f);
 *     if (formula_finish(&out, &formula, &arena, err)) ...        (score_0 = -0.6004)
 */

struct formula_writer {
    struct buf text;
    struct buf latex;
};

void formula_add(struct formula_writer *out, const char *text, const char *latex);

/* name_7 */
void formula_symbol(struct formula_writer *out, const char *text, const char *latex, size_t index);

void formula_equals(struct formula_writer *out);
void formula_times(struct formula_writer *out);

/* A number as it is; after an operator, so that negative ones stand in parentheses; and as a term
 * of a sum, with its sign before it. */
void formula_number(struct formula_writer *out, struct numeral numeral, float value);
void formula_factor(struct formula_writer *out, struct numeral numeral, float value);
void formula_term(struct formula_writer *out, struct numeral numeral, float value);

/* a · b + c · d + … + y · z: of many products the first ones and the last. The second factors are
 * `stride` floats apart. */
void formula_dot(struct formula_writer *out, const struct numeral numerals[2], const float *a,
                 const float *b, size_t stride, size_t count);

/* a + b - c + … + z: of numbers `stride` floats apart. */
void formula_sum(struct formula_writer *out, struct numeral numeral, const float *values,
                 size_t stride, size_t count);

/* Hand over what was written, as the arena's, and release the writer. */
int formula_finish(struct formula_writer *out, struct formula *formula, struct arena *arena,
                   struct err *err);

/* --- a step ----------------------------------------------------------------------------------- */

struct builder {
    const struct trace *trace;
    struct step *step;
    struct step_table *table; /* that is filled in: the step's, or that of something given */
    struct given *givens;     /* of the step */
    bool gives;               /* what steps take is to be kept */
    size_t key;               /* whose numbers are worked out */
    int digits;
    struct formula_writer out; /* what is being drawn */
    struct buf note;           /* the sentences to read with the step */
    struct arena *arena;
    struct err *err;
};

void builder_title(struct builder *builder, const char *name, const char *title);

/* Where the next sentence is to be put. */
struct buf *builder_note(struct builder *builder);

/* A formula; or what the writer has becomes one, or the worked line. */
void builder_formula(struct builder *builder, const char *text, const char *latex);
int builder_drawn(struct builder *builder);
int builder_worked(struct builder *builder);

/* A formula for k_j or v_j: of no projection, of one, of one with a bias. */
void builder_projection(struct builder *builder, const struct weight *w,
                        const struct formula forms[3]);

/* The rows of the table: the keys; or so many, to be filled in, with labels of one's own. */
void builder_keys(struct builder *builder);
struct label *builder_rows(struct builder *builder, size_t count);
struct label builder_label(const char *name);

/* Then its columns: a number, or a vector of `width`, for each row. The numbers are borrowed. */
struct block *builder_column(struct builder *builder, const char *name, const char *text,
                             const char *latex, const float *values);
struct block *builder_vectors(struct builder *builder, const char *name, const char *text,
                              const char *latex, const float *values, size_t width);

/* A whole table of one vector. */
int builder_vector(struct builder *builder, const char *name, const float *values, size_t width);

float *builder_floats(struct builder *builder, size_t count);

/* The scaled scores of all keys: of those that the mask hides they are nowhere in the pass. */
float *builder_scaled(struct builder *builder);

/* How a single number, or those of a row, are written. */
struct numeral builder_numeral(const struct builder *builder, const float *values, size_t count);

/* --- what a step takes as it is: weights of the model, rows that the pass made before -----------
 *
 * Who follows a trace by hand needs all of it; most of it is large. Of several queries the first
 * has it for all.
 */

/* A number, or a vector [C] of the channels of the input, that the step shows anyway. */
int given_number(struct builder *builder, const char *name, float value);
int given_channels(struct builder *builder, const char *name, const float *values);

/* Vectors [count, C] of the tokens of a text: `of_keys`, of the one that is looked at; else of the
 * one that looks. */
struct given_rows {
    const char *name;
    struct formula symbol;
    const float *values;
    bool of_keys;
};

int given_rows(struct builder *builder, const struct given_rows *rows);

/* Some columns of a projection, and of its bias. */
struct given_columns {
    const char *name, *bias; /* "W_k", "b_k" */
    const struct weight *weight;
    size_t first, width;
    bool is_shown; /* by the step's table, too */
};

int given_columns(struct builder *builder, const struct given_columns *columns);

/* The head's rows of the output projection, and the bias of all heads. */
int given_output(struct builder *builder);

/* A matrix of so many rows and columns is small: pages show it without --full, too. */
bool given_is_small(size_t rows, size_t columns);

/* The columns, dense, with the bias below them; the builder's. */
float *given_matrix(struct builder *builder, const struct given_columns *columns);

/* The steps, each in the file of what it is about. Which of them a mechanism has is said in
 * steps.c. */
int step_input(struct builder *builder);
int step_query(struct builder *builder);
int step_features(struct builder *builder);
int step_keys(struct builder *builder);
int step_scores(struct builder *builder);
int step_products(struct builder *builder);
int step_scaled(struct builder *builder);
int step_softmax(struct builder *builder);
int step_masked(struct builder *builder);
int step_shares(struct builder *builder);
int step_dropout(struct builder *builder);
int step_values(struct builder *builder);
int step_context(struct builder *builder);
int step_output(struct builder *builder);

#endif
