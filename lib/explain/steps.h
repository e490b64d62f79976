/* steps.h: a walk as the steps of an explanation; the inside of explanation.c. A board holds the
 * step that is being made; every step is a function of the file of what it is about.
 *
 *     board_title(board, "scaled", "Scale");
 *     pen_add(&board->pen, "scaled_j = score_j", "\\tilde{s}_j = s_j");
 *     if (board_drawn(board) || given_number(board, "scale", walk->scale)) ...
 *     board_keys(board);
 *     board_column(board, "score", "score_j", "s_j", walk->scores);
 *
 * Functions that can fail return -1, or NULL, with the board's err.
 */
#ifndef ATTN_EXPLAIN_STEPS_H
#define ATTN_EXPLAIN_STEPS_H

#include "base/buf.h"
#include "explain/explanation.h"
#include "explain/walk.h"

/* Make all steps, with what they take or without; they are the arena's. */
int steps_make(struct explanation *explanation, const struct walk *walk, int digits, bool gives,
               struct arena *arena, struct err *err);

/* --- a formula in both notations at once -------------------------------------------------------
 *
 *     pen_symbol(&pen, "score", "s", 0);
 *     pen_equals(&pen);
 *     pen_number(&pen, numeral, -0.6004f);
 *     if (pen_finish(&pen, &formula, &arena, err)) ...        (score_0 = -0.6004)
 */

struct pen {
    struct buf text;
    struct buf latex;
};

void pen_add(struct pen *pen, const char *text, const char *latex);

/* name_7 */
void pen_symbol(struct pen *pen, const char *text, const char *latex, size_t index);

void pen_equals(struct pen *pen);
void pen_times(struct pen *pen);

/* A number as it is; after an operator, so that negative ones stand in parentheses; and as a term
 * of a sum, with its sign before it. */
void pen_number(struct pen *pen, struct numeral numeral, float value);
void pen_factor(struct pen *pen, struct numeral numeral, float value);
void pen_term(struct pen *pen, struct numeral numeral, float value);

/* a · b + c · d + … + y · z: of many products the first ones and the last. The second factors are
 * `stride` floats apart. */
void pen_dot(struct pen *pen, const struct numeral numerals[2], const float *a, const float *b,
             size_t stride, size_t count);

/* a + b - c + … + z: of numbers `stride` floats apart. */
void pen_sum(struct pen *pen, struct numeral numeral, const float *values, size_t stride,
             size_t count);

/* Hand over what was written, as the arena's, and release the pen. */
int pen_finish(struct pen *pen, struct formula *formula, struct arena *arena, struct err *err);

/* --- a step ------------------------------------------------------------------------------------
 */

struct board {
    const struct walk *walk;
    struct step *step;
    struct step_table *table; /* that is filled in: the step's, or that of something given */
    struct given *givens;     /* of the step; see given.h */
    bool gives;               /* what steps take is to be kept */
    size_t key;               /* whose numbers are worked out */
    int digits;
    struct pen pen;  /* what is being drawn */
    struct buf note; /* the sentences to read with the step */
    struct arena *arena;
    struct err *err;
};

void board_title(struct board *board, const char *name, const char *title);

/* Where the next sentence is to be put. */
struct buf *board_note(struct board *board);

/* A formula; or what the pen drew becomes one, or the worked line. */
void board_formula(struct board *board, const char *text, const char *latex);
int board_drawn(struct board *board);
int board_worked(struct board *board);

/* A formula for k_j or v_j: of no projection, of one, of one with a bias. */
void board_projection(struct board *board, const struct weight *w, const struct formula forms[3]);

/* The rows of the table: the keys; or so many, to be filled in, with labels of one's own. */
void board_keys(struct board *board);
struct label *board_rows(struct board *board, size_t count);
struct label board_label(const char *name);

/* Then its columns: a number, or a vector of `width`, for each row. The numbers are borrowed. */
struct block *board_column(struct board *board, const char *name, const char *text,
                           const char *latex, const float *values);
struct block *board_vectors(struct board *board, const char *name, const char *text,
                            const char *latex, const float *values, size_t width);

/* A whole table of one vector. */
int board_vector(struct board *board, const char *name, const float *values, size_t width);

float *board_floats(struct board *board, size_t count);

/* The scaled scores of all keys: of those that the mask hides they are nowhere in the pass. */
float *board_scaled(struct board *board);

/* How a single number, or those of a row, are written. */
struct numeral board_numeral(const struct board *board, const float *values, size_t count);

/* --- what a step takes as it is: weights of the model, rows that the pass made before -----------
 *
 * Who follows a walk by hand needs all of it; most of it is large. Of several queries the first
 * has it for all.
 */

/* A number, or a vector [C] of the channels of the input, that the step shows anyway. */
int given_number(struct board *board, const char *name, float value);
int given_channels(struct board *board, const char *name, const float *values);

/* Vectors [count, C] of the tokens of a text: `of_keys`, of the one that is looked at; else of the
 * one that looks. */
struct given_rows {
    const char *name;
    struct formula symbol;
    const float *values;
    bool of_keys;
};

int given_rows(struct board *board, const struct given_rows *rows);

/* Some columns of a projection, and of its bias. */
struct given_columns {
    const char *name, *bias; /* "W_k", "b_k" */
    const struct weight *weight;
    size_t first, width;
    bool is_shown; /* by the step's table, too */
};

int given_columns(struct board *board, const struct given_columns *columns);

/* The head's rows of the output projection, and the bias of all heads. */
int given_output(struct board *board);

/* A matrix of so many rows and columns is small: pages show it without --full, too. */
bool given_is_small(size_t rows, size_t columns);

/* The columns, dense, with the bias below them; the board's. */
float *given_matrix(struct board *board, const struct given_columns *columns);

/* The steps, each in the file of what it is about. Which of them a mechanism has is said in
 * steps.c. */
int step_input(struct board *board);
int step_query(struct board *board);
int step_features(struct board *board);
int step_keys(struct board *board);
int step_scores(struct board *board);
int step_products(struct board *board);
int step_scaled(struct board *board);
int step_softmax(struct board *board);
int step_masked(struct board *board);
int step_shares(struct board *board);
int step_dropout(struct board *board);
int step_values(struct board *board);
int step_context(struct board *board);
int step_output(struct board *board);

#endif
