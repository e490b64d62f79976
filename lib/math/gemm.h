/* gemm.h: y = x · W + b, the one product everything else is made of; and its weights.
 *
 * Row-major, X [T, in] times W [in, out] in panels of output columns (plan.h).
 * Whatever the plan, an element is the sum of segments of SUM_SEGMENT products, added in order, and
 * a segment one chain of fused multiply-adds in the order of k: a chain of thousands loses digits
 * where large numbers cancel. Where W is rounded to bf16, so is x, into memory that the machine
 * holds: as pairs, which kernels multiply in their own order (kernel.h), or as floats.
 *
 *     struct weight w = {.data = data, .bias = bias, .in = 768, .out = 3072, .stride = 3072};
 *     linear(machine, hidden, normed, &w, ACTIVATION_GELU_NEW);
 */
#ifndef ATTN_MATH_GEMM_H
#define ATTN_MATH_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#include "math/activation.h"
#include "math/number_rows.h"
#include "math/tensor.h"

struct machine;

/* --- weights: weight.c ----------------------------------------------------------------------- */

enum { PANEL_COLUMNS = 32, PAIR_COLUMNS = 64 }; /* of a panel of floats, and of one of pairs */

/* Which rows of a tensor are a matrix's: blocks of `block` rows, `stride` apart, from one on. */
struct row_view {
    size_t first, block, stride;
};

static inline size_t row_view_at(const struct row_view *view, size_t row)
{
    return view->first + row / view->block * view->stride + row % view->block;
}

/* A matrix that lies as [out, in], as most files have it: a row makes an output. */
struct weight_rows {
    const char *data; /* of any alignment; NULL: it does not lie so */
    size_t bytes;     /* of a number: a float, or bf16 (transpose.h); 0: it is quantised */
    struct row_view view;
    size_t skipped;       /* rows of the view before the first */
    enum dtype quantised; /* how, where a number has no bytes of its own */
};

/* A borrowed matrix [in, out] and its bias: as it lies in a file, packed into panels of columns, or
 * rounded to bf16 in panels of pairs of rows. Columns of a wider one keep that one's stride. */
struct weight {
    const float *data;
    const char *halves; /* in place of data: bf16, of any alignment */
    const float *bias;
    size_t in, out;
    size_t stride;
    struct weight_rows rows;
    const float *panels;   /* [in][PANEL_COLUMNS] each; NULL: not packed; it may be all there is */
    const uint32_t *pairs; /* [in / 2][PAIR_COLUMNS] each: nothing else is read then */
    bool rounded;          /* W, which lies in bf16: x is to be, too */
};

/* Does the model have it? */
static inline bool weight_exists(const struct weight *w)
{
    return w->data || w->halves || w->rows.data || w->panels || w->pairs;
}

/* One number of a matrix in float32, wherever it lies. */
float weight_element(const struct weight *w, size_t row, size_t column);

/* Some columns; where they do not begin with a panel they are taken from where they lie, which
 * those in bf16 cannot (weight_can_slice). */
struct weight weight_columns(const struct weight *whole, size_t first, size_t count);
bool weight_can_slice(const struct weight *whole, size_t first);

/* Rows [row, row + rows) of a matrix, columns from `column` on. */
struct weight_piece {
    size_t row, rows, column;
};

/* Copy a piece as rows of `columns` floats, from where W lies; what W does not have of them is left
 * as it is. */
void weight_copy(float *to, size_t columns, const struct weight *w, struct weight_piece piece);

/* Numbers of bf16 as floats; some of a row of a matrix [in, out]: where they lie, or in `room`. */
void weight_widen(float *restrict to, const char *restrict from, size_t count);
const float *weight_row(const struct weight *w, size_t row, size_t column, size_t count,
                        float *room);

/* LANES columns of a matrix that lies as [out, in], or its last ones, from a row on. */
struct number_rows weight_number_rows(const struct weight *w, size_t row, size_t column);

/* Of `count` columns of such a matrix, how many lie in a strip, if LANES strips make them up: the
 * rows of a strip follow each other. 0: they do not. And the first row of each strip. Read side by
 * side, strips are streams of memory on pages of their own, of which some processors fetch more at
 * a time than of one. */
size_t weight_strip(const struct weight *w, size_t column, size_t count);
struct number_rows weight_strip_rows(const struct weight *w, size_t column, size_t strip);

/* The floats that the panels of a matrix take; write them, the last one filled up with zeros. */
size_t panels_size(const struct weight *w);
void panels_fill(float *panels, const struct weight *w);

/* What the panels of pairs take. Write rows `row` and `row` + 1 [out] of the matrix into panels
 * that are all zeros (`second` NULL: there is none); or a column, rounded to pairs already. */
size_t pairs_size(const struct weight *w);
void pairs_fill_rows(uint32_t *pairs, const struct weight *w, size_t row, const float *first,
                     const float *second);
void pairs_fill_column(uint32_t *pairs, const struct weight *w, size_t column,
                       const uint32_t *rounded);

/* --- products -------------------------------------------------------------------------------- */

/* y [T, out] = activation(x [T, in] · w + bias). y and x must not overlap. */
void linear(struct machine *machine, struct matrix y, struct matrix x, const struct weight *w,
            enum activation activation);

/* The same without an activation, and total [T, out] += x · w + bias. y without data: the total is
 * all that is wanted. */
void linear_add(struct machine *machine, struct matrix total, struct matrix y, struct matrix x,
                const struct weight *w);

enum { GEMV_ROWS = 12 }; /* of x: their sums stay in registers of AVX-512 */

/* y [T, n] = x [T, in] · columns of W from one on, which lies as [out, in]: for few rows of x, by
 * this thread alone; in strips, where they make up the columns, or LANES neighbours at a time. Or
 * by up to LANES rows that lie anywhere. They are read once, in order, and have a chain each: the
 * bits are those of `linear`. */
void gemv(struct matrix y, struct matrix x, const struct weight *w, size_t column, bool strips);
void gemv_rows(struct matrix y, struct matrix x, const struct number_rows *rows);

#endif
