/* frame_mean.h: the means of rows of tables: over heads, layers or texts.
 *
 *     struct frame_mean mean = {.how = {.mean_of_texts = true}};
 *     if (frame_mean_add(&mean, &report.frames[0], &arena, err)) ...   (each text's table)
 *     if (frame_mean_make(&frame, &mean, &arena, err)) ...
 */
#ifndef ATTN_LENS_FRAME_MEAN_H
#define ATTN_LENS_FRAME_MEAN_H

#include "lens/report.h"

struct frame_mean {
    struct derivation how;
    struct frame like;        /* the first table, without values */
    struct mean_row *rows;    /* [count] */
    struct mean_cell *wanted; /* keys of a row */
    size_t count;
};

/* Whether it is the key of heads or layers that are averaged. */
bool column_is_averaged(const struct column *column, const struct derivation *how);

/* Add the rows of a table, in memory of the arena: the mean is over rows with the same keys except
 * `layer` and `head` where they are averaged. Over texts a position stands for its token: where
 * there is one, the only other keys are the model, the layer and the head. Missing numbers, and
 * rows without a position, are left out. Refused as usage: other columns than in the first table.
 */
int frame_mean_add(struct frame_mean *mean, const struct frame *frame, struct arena *arena,
                   struct err *err);

/* The table of means, summed in double precision in the order of the rows; over texts the key
 * column `texts` counts them. */
int frame_mean_make(struct frame *frame, const struct frame_mean *mean, struct arena *arena,
                    struct err *err);

#endif
