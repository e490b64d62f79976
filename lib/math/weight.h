/* weight.h: the matrices of a model, as stored in a file or packed for kernels.
 *
 * A weight is a matrix [in, out]. Most files store it transposed, as [out, in]: a row of the file
 * is a column of the weight, and LANES rows at a time are read side by side (struct number_rows).
 *
 *     struct weight w = {.data = data, .bias = bias, .in = 768, .out = 3072, .stride = 3072};
 *     panels_fill(panels, &w);
 *     w.panels = panels;
 */
#pragma once

#include <stdint.h>

#include "format/dtype.h"
#include "math/isa.h"
#include "math/precision.h"
#include "math/tensor.h"

enum {
    PANEL_COLUMNS = 32, /* columns of a panel of floats */
    PAIR_COLUMNS = 64,  /* columns of a panel of pairs */
    FLOAT_BYTES = 4,
    BF16_BYTES = 2,
};

/* The rows of a tensor that belong to a matrix: blocks of `block` rows each. The first block begins
 * at row `first`, and blocks begin `stride` rows apart. */
struct row_view {
    size_t first, block, stride;
};

static inline size_t row_view_at(const struct row_view *view, size_t row)
{
    return view->first + row / view->block * view->stride + row % view->block;
}

/* A matrix stored as [out, in]. */
struct weight_rows {
    const char *data; /* the rows, of any alignment; NULL: the matrix is stored in another form */
    enum dtype dtype; /* the type of the numbers: F32, BF16 or a quantised type */
    struct row_view view;
    size_t skipped; /* number of rows of the view before the first row of the matrix */
};

/* A borrowed matrix [in, out] and its bias. If it is some columns of a larger matrix, it has the
 * stride of the larger matrix. */
struct weight {
    const float *data;  /* [in, out]; NULL: the matrix is stored in another form */
    const char *halves; /* [in, out] in bf16, of any alignment, used if `data` is NULL; NULL: the
                         * matrix is not stored in this form */
    const float *bias;  /* [out]; NULL: there is no bias */
    float factor;       /* multiplies products before the bias is added; 0: there is no factor */
    size_t in, out;
    size_t stride;
    struct weight_rows rows;
    const float *panels;   /* panels of floats [in][PANEL_COLUMNS], perhaps the only form of the
                            * matrix; NULL: no panels */
    const char *quants;    /* strips of packed quantised rows, preferred to `rows`; NULL: no
                            * strips */
    const uint32_t *pairs; /* panels of bf16 pairs [bf16_pairs(in)][PAIR_COLUMNS], preferred to all
                            * other forms; NULL: no pairs */
    bool rounded;          /* the numbers have bf16 precision, and products also round x to bf16 */
};

static inline bool weight_exists(const struct weight *w)
{
    return w->data || w->halves || w->rows.data || w->panels || w->pairs;
}

/* Return one number of a matrix as a float. */
float weight_element(const struct weight *w, size_t row, size_t column);

/* weight_columns: the `count` columns of a matrix from column `first` on, for which
 * weight_can_slice must be true. If `first` is inside a panel of floats, the slice is read from
 * another form. */
struct weight weight_columns(const struct weight *whole, size_t first, size_t count);
bool weight_can_slice(const struct weight *whole, size_t first);

/* A part of a matrix: rows [row, row + rows), columns from `column` on. */
struct weight_piece {
    size_t row, rows, column;
};

/* Copy a piece of W [in, out], stored in any form, to rows of `columns` floats. Columns beyond the
 * last column of W are not written. */
void weight_copy(float *to, size_t columns, const struct weight *w, struct weight_piece piece);

/* weight_widen converts `count` bf16 numbers to floats. weight_row returns `count` numbers of a row
 * of an [in, out] matrix, from `column` on: in place if they are floats, else converted in
 * `scratch`. */
void weight_widen(float *restrict to, const char *restrict from, size_t count);
const float *weight_row(const struct weight *w, size_t row, size_t column, size_t count,
                        float *scratch);

/* --- rows of numbers -------------------------------------------------------------------------- */

/* Up to LANES rows of floats, bf16 or quantised numbers, of any alignment. */
struct number_rows {
    const char *at[LANES];
    size_t count;
    enum dtype dtype; /* the type of the numbers: F32, BF16 or a quantised type */
    size_t jump;      /* distance in bytes from the address that is read in a row to the address
                       * that is prefetched, such as in the row that is read next; 0: nothing is
                       * prefetched */
};

/* Return LANES columns of a matrix that is stored as [out, in], from column `column` on, or fewer
 * at the end of the matrix. Each column is read from row `row` of the matrix on. */
struct number_rows weight_number_rows(const struct weight *w, size_t row, size_t column);

/* Return number i of a row that is not quantised, as a float. */
float number_at(const struct number_rows *rows, size_t row, size_t i);

enum { GEMV_ROWS = 12, STRIP_AHEAD = 512 /* bytes prefetched ahead in a strip (gemv) */ };

/* gemv: y [T, n] = x [T, in] · n columns of W, from `column` on, on the calling thread, for T up to
 * gemv_rows_most(). The result has the bits that `linear` gets before it adds the bias. W is stored
 * as [out, in] and, unless it is quantised, read from memory once. If `strips` is true and the
 * columns can be cut into LANES strips, the strips are read side by side: some processors prefetch
 * more from streams on different pages. gemv_rows multiplies x by up to LANES rows of numbers:
 * y[t][i · apart] = row t of x · rows[i]. */
size_t gemv_rows_most(void);
void gemv(struct matrix y, struct matrix x, const struct weight *w, size_t column, bool strips);
void gemv_rows(struct matrix y, struct matrix x, const struct number_rows *rows, size_t apart);

/* --- panels ----------------------------------------------------------------------------------- */

/* panels_size: the number of floats in the panels of a matrix. panels_fill writes the panels; the
 * last panel is filled up with columns of zeros. */
size_t panels_size(const struct weight *w);
void panels_fill(float *panels, const struct weight *w);

/* pairs_size: the number of pairs in the panels of a matrix. The other functions write into panels
 * that hold zeros: pairs_fill_rows writes rows `row` and `row` + 1 of the matrix, each [out]
 * (`second` NULL: there is no row `row` + 1), pairs_fill_column a column of rounded pairs. */
size_t pairs_size(const struct weight *w);
void pairs_fill_rows(uint32_t *pairs, const struct weight *w, size_t row, const float *first,
                     const float *second);
void pairs_fill_column(uint32_t *pairs, const struct weight *w, size_t column,
                       const uint32_t *rounded);

/* --- quantised rows, packed ------------------------------------------------------------------- */

/* quants_size: the size in bytes of a quantised matrix [out, in] whose rows are packed side by side
 * (dtype_pack), in strips of QUANT_COLUMNS rows, the last strip filled up with zeros; 0: the matrix
 * is not quantised, or this processor has no loop for packed rows. quants_fill packs the rows. */
size_t quants_size(const struct weight *w);
void quants_fill(char *quants, const struct weight *w);

/* y = x · the QUANT_COLUMNS columns of the strip that begins at `column`. The result has the bits
 * that `linear` gets before it adds the bias. */
void quants_multiply(float y[], const float *x, const struct weight *w, size_t column);
