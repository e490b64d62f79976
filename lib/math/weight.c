#include "math/weight.h"

#include <assert.h>
#include <string.h>

#include "base/num.h"
#include "math/kernel.h"
#include "math/soft_fmaf.h"

enum {
    AHEAD = 32, /* rows prefetched ahead: in a mapped file, each row may be on another page */
    LINE = 16,  /* floats of a cache line */
    TILE = 64,  /* numbers of a row that are read at a time */
};

bool weight_can_slice(const struct weight *whole, size_t first)
{
    if (whole->pairs)
        return first % PAIR_COLUMNS == 0;
    return whole->data || whole->halves || whole->rows.data || !whole->panels ||
           first % PANEL_COLUMNS == 0;
}

/* strip_bytes: the size of a strip of packed rows in bytes. find_strip: the address of the strip
 * that begins at a column. */
static size_t strip_bytes(const struct weight *w)
{
    struct dtype_packing packing = dtype_packing(w->rows.dtype);
    return QUANT_COLUMNS / LANES * (w->in / packing.numbers) * dtype_packed_bytes(&packing);
}

static const char *find_strip(const struct weight *w, size_t column)
{
    assert(column % QUANT_COLUMNS == 0);
    return w->quants + column / QUANT_COLUMNS * strip_bytes(w);
}

struct weight weight_columns(const struct weight *whole, size_t first, size_t count)
{
    assert(weight_can_slice(whole, first));
    struct weight part = *whole;
    bool whole_panels = whole->panels && first % PANEL_COLUMNS == 0;
    part.panels = whole_panels ? whole->panels + first * whole->in : NULL;
    part.quants = whole->quants && first % QUANT_COLUMNS == 0 ? find_strip(whole, first) : NULL;
    part.pairs = whole->pairs ? whole->pairs + first * bf16_pairs(whole->in) : NULL;
    part.data = whole->data ? whole->data + first : NULL;
    part.halves = whole->halves ? whole->halves + first * BF16_BYTES : NULL;
    part.bias = whole->bias ? whole->bias + first : NULL;
    part.rows.skipped += first;
    part.out = count;
    return part;
}

/* --- rows of numbers -------------------------------------------------------------------------- */

/* The address of number `row` of column `column`. The column is a row of the file; if it is
 * quantised, the number must begin a block. */
static const char *find_number(const struct weight *w, size_t row, size_t column)
{
    const struct weight_rows *rows = &w->rows;
    size_t number = row_view_at(&rows->view, rows->skipped + column) * w->in + row;
    return rows->data + dtype_bytes(rows->dtype, number);
}

/* Within a block of the view, rows are adjacent, and each address is found by an addition: dividing
 * to find each row would take longer than multiplying it. */
struct number_rows weight_number_rows(const struct weight *w, size_t row, size_t column)
{
    struct number_rows rows = {.count = num_min(LANES, w->out - column), .dtype = w->rows.dtype};
    size_t row_bytes = dtype_bytes(rows.dtype, w->in);
    size_t block = w->rows.view.block;
    size_t left = block - (w->rows.skipped + column) % block;
    const char *at = find_number(w, row, column);
    for (size_t i = 0; i < rows.count; i++, left--) {
        if (left == 0) {
            at = find_number(w, row, column + i);
            left = block;
        }
        rows.at[i] = at;
        at += row_bytes;
    }
    if (column + LANES < w->out)
        rows.jump = (size_t)(find_number(w, row, column + LANES) - rows.at[0]);
    return rows;
}

float number_at(const struct number_rows *rows, size_t row, size_t i)
{
    float value = 0;
    uint16_t half = 0;
    if (rows->dtype == DTYPE_BF16) {
        memcpy(&half, rows->at[row] + i * sizeof half, sizeof half);
        return bf16_value(half);
    }
    memcpy(&value, rows->at[row] + i * sizeof value, sizeof value);
    return value;
}

/* A part of up to LANES quantised rows, converted to floats. */
struct widened_rows {
    float scratch[LANES][DTYPE_BLOCK_MAX];
    struct number_rows rows;
    size_t count; /* numbers in each row */
};

/* Convert numbers of quantised rows to floats, from number `first` up to `end` or to the end of a
 * block of DTYPE_BLOCK_MAX numbers, whichever comes first. */
static void number_rows_widen(struct widened_rows *some, const struct number_rows *quantised,
                              size_t first, size_t end)
{
    enum dtype dtype = quantised->dtype;
    size_t within = first % DTYPE_BLOCK_MAX;
    size_t begin = first - within;
    some->count = num_min(end - first, DTYPE_BLOCK_MAX - within);
    some->rows = (struct number_rows){.count = quantised->count, .dtype = DTYPE_F32};
    for (size_t row = 0; row < quantised->count; row++) {
        dtype_to_float(some->scratch[row], quantised->at[row] + dtype_bytes(dtype, begin), dtype,
                       dtype_whole(dtype, within + some->count));
        some->rows.at[row] = (const char *)(some->scratch[row] + within);
    }
}

float weight_element(const struct weight *w, size_t row, size_t column)
{
    enum dtype dtype = w->halves ? DTYPE_BF16 : w->rows.dtype;
    size_t first = dtype_is_quantised(dtype) ? row - row % DTYPE_BLOCK_MAX : row;
    size_t within = column % PANEL_COLUMNS, of_pairs = column % PAIR_COLUMNS;
    float numbers[DTYPE_BLOCK_MAX];
    if (w->pairs) {
        const uint32_t *panel = w->pairs + (column - of_pairs) * bf16_pairs(w->in);
        uint32_t pair = panel[row / 2 * PAIR_COLUMNS + of_pairs];
        return bf16_value((uint16_t)(row % 2 ? pair >> 16 : pair));
    }
    if (w->data)
        return w->data[row * w->stride + column];
    if (!w->halves && !w->rows.data)
        return w->panels[(column - within) * w->in + row * PANEL_COLUMNS + within];
    dtype_to_float(numbers,
                   w->halves ? w->halves + (row * w->stride + column) * BF16_BYTES
                             : find_number(w, first, column),
                   dtype, dtype_whole(dtype, row + 1 - first));
    return numbers[row - first];
}

/* --- transposing ------------------------------------------------------------------------------ */

/* to[i · stride + row] = number i of a row, for rows that are not quantised. */
static void transpose_rows(float *to, size_t stride, const struct number_rows *rows, size_t count)
{
    const struct vector_loops *loops = rows->count == LANES ? vectors_best() : NULL;
    size_t done = loops ? loops->transpose(to, stride, rows, count) : 0;
    for (size_t i = done; i < count; i++)
        for (size_t row = 0; row < rows->count; row++)
            to[i * stride + row] = number_at(rows, row, i);
}

void transpose(struct matrix y, struct matrix x)
{
    assert(y.rows == x.columns && y.columns == x.rows);
    struct number_rows rows = {.dtype = DTYPE_F32, .jump = LANES * x.stride * FLOAT_BYTES};
    for (size_t row = 0; row < x.rows; row += LANES) {
        rows.count = x.rows - row < LANES ? x.rows - row : LANES;
        for (size_t i = 0; i < rows.count; i++)
            rows.at[i] = (const char *)matrix_row(x, row + i);
        transpose_rows(y.data + row, y.stride, &rows, x.columns);
    }
}

/* Write quantised rows as columns of floats: all at once if there are LANES rows of complete
 * blocks, otherwise one block at a time. */
static void copy_widened(float *to, size_t columns, const struct number_rows *rows,
                         struct weight_piece piece)
{
    struct widened_rows some;
    struct number_rows from = *rows;
    enum dtype dtype = rows->dtype;
    size_t end = piece.row + piece.rows;
    size_t skipped = dtype_bytes(dtype, piece.row);
    for (size_t i = 0; i < rows->count; i++)
        from.at[i] += skipped;
    if (rows->count == LANES && dtype_whole(dtype, piece.row) == piece.row &&
        dtype_whole(dtype, piece.rows) == piece.rows) {
        dtype_to_columns(to, columns, from.at, dtype, piece.rows, rows->jump);
        return;
    }
    for (size_t row = piece.row; row < end; row += some.count, to += some.count * columns) {
        number_rows_widen(&some, rows, row, end);
        transpose_rows(to, columns, &some.rows, some.count);
    }
}

/* Copy the columns of complete strips of packed rows; return how many columns were copied, 0 if the
 * rows are not packed, or the piece begins inside a strip, or it does not consist of complete
 * packed parts. */
static size_t copy_packed(float *to, size_t columns, size_t count, const struct weight *w,
                          struct weight_piece piece)
{
    size_t done = 0;
    if (!w->quants || piece.column % QUANT_COLUMNS)
        return 0;
    struct dtype_packing packing = dtype_packing(w->rows.dtype);
    if (piece.row % packing.numbers || piece.rows % packing.numbers)
        return 0;
    size_t skipped =
        piece.row / packing.numbers * QUANT_COLUMNS / LANES * dtype_packed_bytes(&packing);
    for (; done + QUANT_COLUMNS <= count; done += QUANT_COLUMNS)
        vectors_best()->quants(to + done, columns, NULL,
                               find_strip(w, piece.column + done) + skipped, piece.rows, packing);
    return done;
}

/* Copy a piece of a matrix that is stored as [out, in]. */
static void copy_transposed(float *to, size_t columns, const struct weight *w,
                            struct weight_piece piece)
{
    size_t count = num_min(columns, w->out - piece.column);
    for (size_t i = copy_packed(to, columns, count, w, piece); i < count; i += LANES) {
        bool quantised = dtype_is_quantised(w->rows.dtype);
        struct number_rows rows =
            weight_number_rows(w, quantised ? 0 : piece.row, piece.column + i);
        if (quantised)
            copy_widened(to + i, columns, &rows, piece);
        else
            transpose_rows(to + i, columns, &rows, piece.rows);
    }
}

FOR_EACH_ISA
void weight_widen(float *restrict to, const char *restrict from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t half = 0;
        memcpy(&half, from + i * BF16_BYTES, sizeof half);
        to[i] = bf16_value(half);
    }
}

const float *weight_row(const struct weight *w, size_t row, size_t column, size_t count,
                        float *scratch)
{
    if (w->data)
        return w->data + row * w->stride + column;
    weight_widen(scratch, w->halves + (row * w->stride + column) * BF16_BYTES, count);
    return scratch;
}

void weight_copy(float *to, size_t columns, const struct weight *w, struct weight_piece piece)
{
    if (w->rows.data) {
        copy_transposed(to, columns, w, piece);
        return;
    }
    size_t count = num_min(columns, w->out - piece.column);
    if (!w->data && !w->halves) { /* the matrix has only panels, of floats or of pairs */
        for (size_t at = 0; at < piece.rows * count; at++)
            to[at / count * columns + at % count] =
                weight_element(w, piece.row + at / count, piece.column + at % count);
        return;
    }
    size_t bytes = w->halves ? BF16_BYTES : FLOAT_BYTES;
    const char *from = w->halves ? w->halves : (const char *)w->data;
    from += (piece.row * w->stride + piece.column) * bytes;
    for (size_t i = 0; i < piece.rows; i++, from += w->stride * bytes) {
        for (size_t line = 0; line < columns; line += LINE)
            __builtin_prefetch(from + (AHEAD * w->stride + line) * bytes);
        if (w->halves)
            weight_widen(to + i * columns, from, count);
        else
            memcpy(to + i * columns, from, count * sizeof *to);
    }
}

/* --- products with a few rows ----------------------------------------------------------------- */

/* sums += x · tile [count, LANES], by one chain of fused multiply-adds for each column. */
FOR_EACH_ISA
static void add_tile(float *restrict sums, const float *restrict x, const float *restrict tile,
                     size_t count)
{
    float chains[LANES];
    memcpy(chains, sums, sizeof chains);
    for (size_t i = 0; i < count; i++)
        fuse_columns(chains, x[i], tile + i * LANES, LANES);
    memcpy(sums, chains, sizeof chains);
}

/* chains[t] += row t of x · LANES rows of numbers that are not quantised, for several rows of x at
 * a time. */
static void add_numbers(float (*chains)[LANES], struct matrix x, const struct number_rows *rows)
{
    const struct vector_loops *loops = vectors_best();
    float tile[TILE * LANES] = {0}; /* small enough for the first-level cache */
    struct number_rows rest = *rows;
    size_t done = 0, most = loops ? loops->rows_most : 0;
    for (size_t t = 0; loops && t < x.rows; t += most) {
        done = loops->multiply(chains + t, matrix_rows(x, t, num_min(most, x.rows - t)), &rest);
        rest.jump = 0; /* the next rows are prefetched only once, while the first rows of x are
                        * multiplied */
    }
    for (size_t i = done; i < x.columns; i += TILE) {
        size_t some = num_min(TILE, x.columns - i);
        for (size_t row = 0; row < LANES; row++)
            rest.at[row] = rows->at[row] + dtype_bytes(rows->dtype, i);
        transpose_rows(tile, LANES, &rest, some);
        for (size_t t = 0; t < x.rows; t++)
            add_tile(chains[t], matrix_row(x, t) + i, tile, some);
    }
}

/* chains[t] += row t of x · a segment of LANES rows, from number `first` on, which must begin a
 * block if the rows are quantised. */
static void add_segment(float (*chains)[LANES], struct matrix x, const struct number_rows *rows,
                        size_t first)
{
    struct number_rows segment = *rows;
    size_t skipped = dtype_bytes(rows->dtype, first);
    for (; segment.count < LANES; segment.count++) /* the first row replaces missing rows */
        segment.at[segment.count] = segment.at[0];
    for (size_t row = 0; row < LANES; row++)
        segment.at[row] += skipped;
    if (!dtype_is_quantised(rows->dtype)) {
        add_numbers(chains, x, &segment);
        return;
    }
    for (size_t t = 0; t < x.rows; t++)
        dtype_add_dots(chains[t], matrix_row(x, t), segment.at, rows->dtype, x.columns, rows->jump);
}

size_t gemv_rows_most(void)
{
    const struct vector_loops *loops = vectors_best();
    return loops ? GEMV_ROWS : 1;
}

void gemv_rows(struct matrix y, struct matrix x, const struct number_rows *rows, size_t apart)
{
    float sums[GEMV_ROWS][LANES] = {{0}};
    assert(x.rows <= gemv_rows_most());
    for (size_t first = 0; first < x.columns; first += SUM_SEGMENT) {
        float chains[GEMV_ROWS][LANES] = {{0}};
        size_t count = num_min(SUM_SEGMENT, x.columns - first);
        add_segment(chains, matrix_columns(x, first, count), rows, first);
        for (size_t t = 0; t < x.rows; t++)
            for (size_t row = 0; row < LANES; row++)
                sums[t][row] = first > 0 ? sums[t][row] + chains[t][row] : chains[t][row];
    }
    for (size_t t = 0; t < x.rows; t++)
        for (size_t row = 0; row < rows->count; row++)
            y.data[t * y.stride + row * apart] = sums[t][row];
}

/* The number of rows in each strip if `count` columns can be cut into LANES strips of adjacent
 * rows, otherwise 0. */
static size_t strip_size(const struct weight *w, size_t column, size_t count)
{
    size_t block = w->rows.view.block;
    size_t start = (w->rows.skipped + column) % block;
    size_t strip = count / LANES;
    bool within = start + count <= block;
    bool between = strip > 0 && block % strip == 0 && start % strip == 0;
    return within || between ? strip : 0;
}

/* Multiply x by the first row of each of LANES strips, then by the second row of each, and so
 * on. */
static void multiply_strips(struct matrix y, struct matrix x, const struct weight *w, size_t column,
                            size_t strip)
{
    size_t row_bytes = dtype_bytes(w->rows.dtype, w->in);
    bool quantised = dtype_is_quantised(w->rows.dtype);
    struct number_rows rows = {.count = LANES, .dtype = w->rows.dtype};
    rows.jump = quantised ? row_bytes : STRIP_AHEAD;
    for (size_t i = 0; i < LANES; i++)
        rows.at[i] = find_number(w, 0, column + i * strip);
    for (size_t i = 0; i < strip; i++) {
        if (quantised && i + 1 == strip)
            rows.jump += (LANES - 1) * strip * row_bytes; /* after the last row of each strip, the
                                                           * first rows of the next LANES strips are
                                                           * read */
        gemv_rows(matrix_columns(y, i, y.columns - i), x, &rows, strip);
        for (size_t row = 0; row < LANES; row++)
            rows.at[row] += row_bytes;
    }
}

void gemv(struct matrix y, struct matrix x, const struct weight *w, size_t column, bool strips)
{
    size_t strip = strips ? strip_size(w, column, y.columns) : 0;
    if (strip)
        multiply_strips(y, x, w, column, strip);
    for (size_t i = strip * LANES; i < y.columns; i += LANES) {
        struct number_rows rows = weight_number_rows(w, 0, column + i);
        rows.count = num_min(rows.count, y.columns - i);
        gemv_rows(matrix_columns(y, i, rows.count), x, &rows, 1);
    }
}

/* --- panels of floats ------------------------------------------------------------------------- */

size_t panels_size(const struct weight *w)
{
    return (w->out + PANEL_COLUMNS - 1) / PANEL_COLUMNS * PANEL_COLUMNS * w->in;
}

void panels_fill(float *panels, const struct weight *w)
{
    size_t full = w->out / PANEL_COLUMNS * PANEL_COLUMNS * w->in;
    memset(panels + full, 0, (panels_size(w) - full) * sizeof *panels);
    for (size_t column = 0; column < w->out; column += PANEL_COLUMNS)
        weight_copy(panels + column * w->in, PANEL_COLUMNS, w,
                    (struct weight_piece){0, w->in, column});
}

/* --- panels of pairs -------------------------------------------------------------------------- */

size_t pairs_size(const struct weight *w)
{
    return (w->out + PAIR_COLUMNS - 1) / PAIR_COLUMNS * PAIR_COLUMNS * bf16_pairs(w->in);
}

void pairs_fill_rows(uint32_t *pairs, const struct weight *w, size_t row, const float *first,
                     const float *second)
{
    const float none[PAIR_COLUMNS] = {0};
    for (size_t column = 0; column < w->out; column += PAIR_COLUMNS)
        bf16_pair_rows(pairs + column * bf16_pairs(w->in) + row / 2 * PAIR_COLUMNS, first + column,
                       second ? second + column : none, num_min(PAIR_COLUMNS, w->out - column));
}

void pairs_fill_column(uint32_t *pairs, const struct weight *w, size_t column,
                       const uint32_t *rounded)
{
    size_t within = column % PAIR_COLUMNS;
    uint32_t *to = pairs + (column - within) * bf16_pairs(w->in) + within;
    for (size_t pair = 0; pair < bf16_pairs(w->in); pair++)
        to[pair * PAIR_COLUMNS] = rounded[pair];
}

/* --- quantised rows, packed ------------------------------------------------------------------- */

_Static_assert((int)LANES == (int)DTYPE_ROWS && QUANT_COLUMNS % LANES == 0, "whole parts");

size_t quants_size(const struct weight *w)
{
    bool packs = w->rows.data && dtype_is_quantised(w->rows.dtype) && vectors_best();
    return packs ? (w->out + QUANT_COLUMNS - 1) / QUANT_COLUMNS * strip_bytes(w) : 0;
}

void quants_fill(char *quants, const struct weight *w)
{
    struct dtype_packing packing = dtype_packing(w->rows.dtype);
    size_t bytes = dtype_packed_bytes(&packing);
    size_t whole = w->out / QUANT_COLUMNS * strip_bytes(w);
    memset(quants + whole, 0, quants_size(w) - whole);
    for (size_t column = 0; column < w->out; column += LANES) {
        struct number_rows rows = weight_number_rows(w, 0, column);
        char *to = quants + column / QUANT_COLUMNS * strip_bytes(w);
        for (; rows.count < LANES; rows.count++) /* the first row fills up the lanes; its products
                                                  * there are not used */
            rows.at[rows.count] = rows.at[0];
        dtype_pack(to + column % QUANT_COLUMNS / LANES * bytes, QUANT_COLUMNS / LANES * bytes,
                   rows.at, rows.dtype, w->in);
    }
}

void quants_multiply(float y[], const float *x, const struct weight *w, size_t column)
{
    vectors_best()->quants(y, 0, x, find_strip(w, column), w->in, dtype_packing(w->rows.dtype));
}
