/* panels.h: a weight matrix cut into panels of columns, each of them contiguous.
 *
 *     float *panels = arena_alloc(&arena, panels_size(&w), sizeof *panels, err);
 *     panels_fill(panels, &w);
 *     w.panels = panels;
 */
#ifndef ATTN_MATH_PANELS_H
#define ATTN_MATH_PANELS_H

#include "math/tensor.h"
#include "math/weight.h"

/* Of packed panels; of those that are copied for one use; the rows that such a copy has at most. */
enum { PANEL_COLUMNS = 32, COPY_COLUMNS = 64, PANEL_ROWS = 768 };

/* The sums that a thread makes of a panel before they are finished, at most. */
enum { SUMS_ROOM = 512 * COPY_COLUMNS };

/* The floats that the panels of a matrix take; and write them: panel after panel of PANEL_COLUMNS
 * columns, [in][PANEL_COLUMNS] each, the last one filled up with zeros. It pays where one model
 * serves a lot of work. */
size_t panels_size(const struct weight *w);
void panels_fill(float *panels, const struct weight *w);

/* The panels of W where its transpose is what there is: the rows are W's columns. */
void panels_fill_transposed(float *panels, struct matrix rows);

/* Rows [row, row + rows) of a matrix, columns from `column` on. */
struct piece {
    size_t row, rows, column;
};

/* Copy a piece as rows of `columns` floats; what W does not have of them is left as it is. */
void panels_copy(float *to, size_t columns, const struct weight *w, struct piece piece);

#endif
