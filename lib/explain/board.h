/* board.h: a step on the blackboard; the inside of steps.c and its parts.
 *
 * Functions that can fail return -1, or NULL, with the board's err.
 */
#ifndef ATTN_EXPLAIN_BOARD_H
#define ATTN_EXPLAIN_BOARD_H

#include "explain/pen.h"
#include "explain/steps.h"

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

/* The steps, each in the file of what it is about. Which of them a mechanism has: steps.c. */
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
