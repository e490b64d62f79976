#include "math/gemm.h"

#include <assert.h>
#include <string.h>

#include "base/num.h"
#include "math/precision.h"
#include "math/transpose.h"

enum {
    AHEAD = 32, /* rows that are prefetched: in a file that is mapped each is on another page */
    LINE = 16,  /* floats of a cache line */
};

bool weight_can_slice(const struct weight *whole, size_t first)
{
    if (whole->pairs)
        return first % PAIR_COLUMNS == 0;
    return whole->data || whole->halves || whole->rows.data || !whole->panels ||
           first % PANEL_COLUMNS == 0;
}

struct weight weight_columns(const struct weight *whole, size_t first, size_t count)
{
    assert(weight_can_slice(whole, first));
    struct weight part = *whole;
    bool whole_panels = whole->panels && first % PANEL_COLUMNS == 0;
    part.panels = whole_panels ? whole->panels + first * whole->in : NULL;
    part.pairs = whole->pairs ? whole->pairs + first * bf16_pairs(whole->in) : NULL;
    part.data = whole->data ? whole->data + first : NULL;
    part.halves = whole->halves ? whole->halves + first * BF16_BYTES : NULL;
    part.bias = whole->bias ? whole->bias + first : NULL;
    part.rows.skipped += first;
    part.out = count;
    return part;
}

/* The bytes of so many numbers of a row; quantised ones are whole blocks. */
static size_t number_bytes(const struct weight_rows *rows, size_t count)
{
    return rows->bytes ? count * rows->bytes : dtype_bytes(rows->quantised, count);
}

/* Where column `column` of W, a row in the file, has its number `row`. */
static const char *find_number(const struct weight *w, size_t row, size_t column)
{
    const struct weight_rows *rows = &w->rows;
    size_t number = row_view_at(&rows->view, rows->skipped + column) * w->in + row;
    return rows->data + number_bytes(rows, number);
}

/* Rows of a block of the view follow each other: to find each by dividing takes longer than to
 * multiply with a few of them. */
struct number_rows weight_number_rows(const struct weight *w, size_t row, size_t column)
{
    struct number_rows rows = {.count = num_min(LANES, w->out - column),
                               .bytes = w->rows.bytes,
                               .quantised = w->rows.quantised};
    size_t row_bytes = number_bytes(&w->rows, w->in);
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

size_t weight_strip(const struct weight *w, size_t column, size_t count)
{
    size_t block = w->rows.view.block;
    size_t start = (w->rows.skipped + column) % block;
    size_t strip = count / LANES;
    bool within = start + count <= block;
    bool between = strip > 0 && block % strip == 0 && start % strip == 0;
    return within || between ? strip : 0;
}

struct number_rows weight_strip_rows(const struct weight *w, size_t column, size_t strip)
{
    struct number_rows rows = {.count = LANES,
                               .bytes = w->rows.bytes,
                               .quantised = w->rows.quantised,
                               .jump = number_bytes(&w->rows, w->in)};
    for (size_t i = 0; i < LANES; i++)
        rows.at[i] = find_number(w, 0, column + i * strip);
    return rows;
}

void number_rows_widen(struct widened_rows *some, const struct number_rows *quantised, size_t first,
                       size_t end)
{
    enum dtype dtype = quantised->quantised;
    size_t within = first % DTYPE_BLOCK_MAX;
    size_t begin = first - within;
    some->count = num_min(end - first, DTYPE_BLOCK_MAX - within);
    some->rows = (struct number_rows){.count = quantised->count, .bytes = FLOAT_BYTES};
    for (size_t row = 0; row < quantised->count; row++) {
        dtype_to_float(some->room[row], quantised->at[row] + dtype_bytes(dtype, begin), dtype,
                       dtype_whole(dtype, within + some->count));
        some->rows.at[row] = (const char *)(some->room[row] + within);
    }
}

float weight_element(const struct weight *w, size_t row, size_t column)
{
    size_t within = column % PANEL_COLUMNS;
    struct number_rows rows = {.at = {w->halves}, .bytes = BF16_BYTES};
    if (w->data)
        return w->data[row * w->stride + column];
    if (w->halves)
        return number_at(&rows, 0, row * w->stride + column);
    if (!w->rows.data)
        return w->panels[(column - within) * w->in + row * PANEL_COLUMNS + within];
    if (w->rows.bytes) {
        rows = weight_number_rows(w, row, column);
        return number_at(&rows, 0, 0);
    }
    struct widened_rows some;
    rows = weight_number_rows(w, 0, column);
    rows.count = 1;
    number_rows_widen(&some, &rows, row, row + 1);
    return number_at(&some.rows, 0, 0);
}

/* The same of quantised rows: whole blocks of LANES rows; else some numbers at a time. */
static void copy_widened(float *to, size_t columns, const struct number_rows *rows,
                         struct weight_piece piece)
{
    struct widened_rows some;
    struct number_rows from = *rows;
    enum dtype dtype = rows->quantised;
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

/* Rows of the file become columns. */
static void copy_transposed(float *to, size_t columns, const struct weight *w,
                            struct weight_piece piece)
{
    size_t count = num_min(columns, w->out - piece.column);
    for (size_t i = 0; i < count; i += LANES) {
        bool quantised = !w->rows.bytes;
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
                        float *room)
{
    if (w->data)
        return w->data + row * w->stride + column;
    weight_widen(room, w->halves + (row * w->stride + column) * BF16_BYTES, count);
    return room;
}

void weight_copy(float *to, size_t columns, const struct weight *w, struct weight_piece piece)
{
    if (w->rows.data) {
        copy_transposed(to, columns, w, piece);
        return;
    }
    size_t count = num_min(columns, w->out - piece.column);
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
