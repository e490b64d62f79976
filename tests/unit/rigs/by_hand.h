/* by_hand.h: what `explain` writes as JSON, and arithmetic in double precision to follow it with.
 *
 *     by_hand.given = json_member(root, "given");
 *     by_hand.steps = json_member(root, "steps");
 *     expect("k", printed("scores", "columns", "k"), product(taken("x_j"), taken("W_k"), none));
 */
#ifndef ATTN_TESTS_BY_HAND_H
#define ATTN_TESTS_BY_HAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "format/json.h"

/* Numbers as they stand in the file; null, minus infinity, is NAN. Nothing: count is 0. */
struct grid {
    double *values;
    size_t rows, columns, count;
};

extern struct by_hand {
    struct arena arena; /* of a case: it holds all grids */
    struct err err;
    const struct json *given, *steps; /* of the query that is followed */
} by_hand;

struct grid grid_make(size_t rows, size_t columns);
struct grid row_at(struct grid grid, size_t row);

/* What is given; a column of a step's table, or the total below it; the row of that name. Nothing:
 * count is 0. */
struct grid taken(const char *name);
bool is_taken(const char *name);
const struct json *step_called(const char *name);
struct grid printed(const char *step, const char *part, const char *name);
struct grid printed_row(const char *step, const char *column, const char *name);

/* Do the step's formulas hold this? */
bool says(const char *step, const char *what);

/* Fail unless the numbers are those that follow. */
void expect(const char *what, struct grid found, struct grid expected);

/* a · b + bias, where there is one; rows as the step's formula norms them, with scales and shifts,
 * or with those that its table shows; one of the scales, which may be 1 + γ. */
struct grid product(struct grid a, struct grid b, struct grid bias);
struct grid normed(const char *step, struct grid h, struct grid gamma, struct grid beta);
struct grid normed_by_rows(const char *step, struct grid h);
double scale_at(const char *step, struct grid gamma, size_t c);

/* Turn a vector by its place. What an edit made of a step's numbers, as the step after it shows;
 * without one what they came to. */
void turn(double *x, size_t place);
struct grid go_on(struct grid after, struct grid value);

/* From the output of the attention, to x, to the logits. */
void follow_block(struct grid x);

#endif
