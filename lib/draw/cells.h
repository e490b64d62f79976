/* cells.h: a sheet as levels of a ramp, as many cells as there is room for.
 *
 * Where there are more numbers than cells, a cell shows the one among its numbers that stands out
 * most: the highest; of both signs the farthest from 0. A mean would let a single bright cell,
 * which is what one looks for, fade away.
 *
 *     struct cells cells;
 *     if (cells_make(&cells, &sheet, &tones, (struct cell_room){64, 64}, &arena, err)) ...
 *     cells.levels[row * cells.columns + column]          (0: nothing is there)
 */
#ifndef ATTN_DRAW_CELLS_H
#define ATTN_DRAW_CELLS_H

#include "base/arena.h"
#include "write/tone.h"

struct cells {
    size_t rows, columns;
    size_t row_step, column_step; /* so many rows and columns of numbers in one cell; 1: each */
    unsigned char *levels;        /* [rows, columns] */
};

/* The most cells of each axis. */
struct cell_room {
    size_t rows, columns;
};

int cells_make(struct cells *cells, const struct sheet *sheet, const struct tones *tones,
               struct cell_room room, struct arena *arena, struct err *err);

/* How many of `size` places share a cell so that `room` cells are enough; and how many cells that
 * are. */
size_t cells_step(size_t size, size_t room);
size_t cells_count(size_t size, size_t step);

#endif
