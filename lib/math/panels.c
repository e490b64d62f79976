#include "math/panels.h"

#include <string.h>

#include "math/transpose.h"

enum {
    AHEAD = 32, /* rows that are fetched ahead: in a file that is mapped each is on another page */
    LINE = 16,  /* floats of a cache line */
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t panels_size(const struct weight *w)
{
    size_t count = (w->out + PANEL_COLUMNS - 1) / PANEL_COLUMNS;
    return count * PANEL_COLUMNS * w->in;
}

void panels_fill(float *panels, const struct weight *w)
{
    memset(panels, 0, panels_size(w) * sizeof *panels);
    for (size_t column = 0; column < w->out; column += PANEL_COLUMNS)
        panels_copy(panels + column * w->in, PANEL_COLUMNS, w, (struct piece){0, w->in, column});
}

void panels_fill_transposed(float *panels, struct matrix rows)
{
    for (size_t row = 0; row < rows.rows; row += PANEL_COLUMNS) {
        size_t count = smaller(PANEL_COLUMNS, rows.rows - row);
        float *panel = panels + row * rows.columns;
        if (count < PANEL_COLUMNS)
            memset(panel, 0, rows.columns * PANEL_COLUMNS * sizeof *panel);
        transpose((struct matrix){panel, rows.columns, count, PANEL_COLUMNS},
                  matrix_rows(rows, row, count));
    }
}

void panels_copy(float *to, size_t columns, const struct weight *w, struct piece piece)
{
    size_t count = smaller(columns, w->out - piece.column);
    const float *from = w->data + piece.row * w->stride + piece.column;
    for (size_t i = 0; i < piece.rows; i++, from += w->stride) {
        for (size_t line = 0; line < columns; line += LINE)
            __builtin_prefetch(from + AHEAD * w->stride + line);
        memcpy(to + i * columns, from, count * sizeof *to);
    }
}
