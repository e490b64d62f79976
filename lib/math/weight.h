/* weight.h: a matrix of a model that activations are multiplied with: as it lies in a file, packed
 * into panels of columns, each of them contiguous, or rounded to bf16 in panels of pairs of rows.
 *
 *     panels_fill(panels, &w);                                    (panels_size(&w) floats)
 *     w.panels = panels;
 *     for (size_t row = 0; row < w.in; row += 2)                  (pairs_size(&w) zeros)
 *         pairs_fill_rows(pairs, &w, row, rows[row], rows[row + 1]);
 *     w.pairs = pairs;
 */
#ifndef ATTN_MATH_WEIGHT_H
#define ATTN_MATH_WEIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "math/tensor.h"

enum { PANEL_COLUMNS = 32, PAIR_COLUMNS = 64 }; /* of a panel of floats, and of one of pairs */

/* A borrowed weight matrix [in, out], its bias [out] or NULL. Columns of a wider matrix are a
 * weight of their own with that matrix's stride. */
struct weight {
    const float *data;
    const float *bias;
    size_t in, out;
    size_t stride;
    const float *panels;   /* [in][PANEL_COLUMNS] each; NULL: not packed; it may be all there is */
    const uint32_t *pairs; /* [in / 2][PAIR_COLUMNS] each: nothing else is read then */
};

/* Does the model have it? */
static inline bool weight_exists(const struct weight *w)
{
    return w->data || w->panels || w->pairs;
}

/* Some columns; where they do not begin with a panel they are taken from where they lie. What is
 * rounded to bf16 lies nowhere else: there they must begin with one (weight_can_slice). */
struct weight weight_columns(const struct weight *whole, size_t first, size_t count);
bool weight_can_slice(const struct weight *whole, size_t first);

/* Rows [row, row + rows) of a matrix, columns from `column` on. */
struct weight_piece {
    size_t row, rows, column;
};

/* Copy a piece as rows of `columns` floats; what W does not have of them is left as it is. */
void weight_copy(float *to, size_t columns, const struct weight *w, struct weight_piece piece);

/* The floats that the panels of a matrix take; and write them, the last one filled up with zeros.
 * It pays where one model serves a lot of work. */
size_t panels_size(const struct weight *w);
void panels_fill(float *panels, const struct weight *w);

/* The panels of W where its transpose is what there is: the rows are W's columns. */
void panels_fill_transposed(float *panels, struct matrix rows);

/* What the panels of pairs take. Write rows `row` and `row` + 1 [out] of the matrix into panels
 * that are all zeros (`second` NULL: there is none); or a column, rounded to pairs already. */
size_t pairs_size(const struct weight *w);
void pairs_fill_rows(uint32_t *pairs, const struct weight *w, size_t row, const float *first,
                     const float *second);
void pairs_fill_column(uint32_t *pairs, const struct weight *w, size_t column,
                       const uint32_t *rounded);

#endif
