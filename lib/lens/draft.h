/* draft.h: a step on the drawing board; the inside of steps.c and its parts.
 *
 * Functions that can fail return -1, or NULL, with the draft's err.
 */
#ifndef ATTN_LENS_DRAFT_H
#define ATTN_LENS_DRAFT_H

#include "lens/pen.h"
#include "lens/steps.h"

struct draft {
    const struct walk *walk;
    struct step *step;
    size_t key; /* whose numbers are worked out */
    int digits;
    struct pen pen;  /* what is being drawn */
    struct buf note; /* the sentences to read with the step */
    struct arena *arena;
    struct err *err;
};

void draft_title(struct draft *draft, const char *name, const char *title);

/* Where the next sentence is to be put. */
struct buf *draft_note(struct draft *draft);

/* A formula; or what the pen drew becomes one, or the worked line. */
void draft_formula(struct draft *draft, const char *text, const char *latex);
int draft_drawn(struct draft *draft);
int draft_worked(struct draft *draft);

/* A formula for k_j or v_j: of no projection, of one, of one with a bias. */
void draft_projection(struct draft *draft, const struct weight *w, const struct formula forms[3]);

/* The rows of the table: the keys; or so many, to be filled in, with labels of one's own. */
void draft_keys(struct draft *draft);
struct label *draft_rows(struct draft *draft, size_t count);
struct label draft_label(const char *name);

/* Then its columns: a number, or a vector of `width`, for each row. The numbers are borrowed. */
struct block *draft_column(struct draft *draft, const char *name, const char *text,
                           const char *latex, const float *values);
struct block *draft_vectors(struct draft *draft, const char *name, const char *text,
                            const char *latex, const float *values, size_t width);

/* A whole table of one vector. */
int draft_vector(struct draft *draft, const char *name, const float *values, size_t width);

float *draft_floats(struct draft *draft, size_t count);

/* How a single number, or those of a row, are written. */
struct numeral draft_numeral(const struct draft *draft, const float *values, size_t count);

/* The steps, each in the file of what it is about. */
int step_input(struct draft *draft);
int step_query(struct draft *draft);
int step_scores(struct draft *draft);
int step_scaled(struct draft *draft);
int step_masked(struct draft *draft);
int step_weights(struct draft *draft);
int step_values(struct draft *draft);
int step_context(struct draft *draft);
int step_output(struct draft *draft);

#endif
