/* given.h: what a step takes as it is: weights of the model, and rows that the pass made before;
 * the inside of steps.c and its parts.
 *
 * Whoever wants to follow a walk by hand needs all of it; most of it is large. Of several queries
 * the first has it for all. Functions return -1 with the board's err.
 */
#ifndef ATTN_EXPLAIN_GIVEN_H
#define ATTN_EXPLAIN_GIVEN_H

#include "explain/board.h"

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

#endif
