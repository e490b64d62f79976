/* axis_fit.h: an axis brought to a length: how far apart its places stand, how many share a cell,
 * and which of them still have room for a label. Where not all have, these are their numbers.
 *
 *     struct axis_fit fit = axis_fit_cells(axis.size, 200, 24);
 *     axis_fit_rows(&fit, &axis, 60);                  (labels at the left, 60 points at most)
 *     axis_draw_rows(canvas, &axis, &fit, (struct point){x, y}, ANCHOR_END);
 */
#ifndef ATTN_DRAW_AXIS_FIT_H
#define ATTN_DRAW_AXIS_FIT_H

#include "draw/canvas.h"
#include "lens/sheet.h"

struct axis_fit {
    size_t step;  /* places that share a cell */
    size_t cells; /* how many cells that makes */
    double pitch; /* from one cell to the next */
    double size;  /* of the labels; 0: there are none */
    double print; /* the size that they have on paper; 0: by the pitch */
    size_t every; /* places at multiples of this have one: 1, 2 or 5 times a power of ten */
    double turn;  /* of column labels: 0, -45 or -90 degrees */
    double label; /* how wide one may be: what is wider is shortened */
    double room;  /* that the labels take across the axis */
    double over;  /* how far those of columns reach beyond the last cell */
};

/* How many of `size` places share a cell so that `room` cells are enough; and how many cells that
 * are. */
size_t cells_step(size_t size, size_t room);
size_t cells_count(size_t size, size_t step);

/* Fit so many places into `length`, no cell larger than `largest`. Pitches are multiples of a
 * screen's half pixel, so that cells are equally large there. */
struct axis_fit axis_fit_cells(size_t size, double length, double largest);

/* The same for print, where no pixel counts. */
struct axis_fit axis_fit_print(size_t size, double length, double largest);

/* The next such multiple from a length on, for what stands before cells. */
double axis_fit_snap(double length);

/* The length of all its cells. */
double axis_fit_length(const struct axis_fit *fit);

/* Give rows, or columns, their labels, with at most `room` across. Those of columns lie level where
 * they can, those of numbers always. */
void axis_fit_rows(struct axis_fit *fit, const struct axis *axis, double room);
void axis_fit_columns(struct axis_fit *fit, const struct axis *axis, double room);

/* Draw the labels beside the first cell's corner: rows left (ANCHOR_END) or right of it, columns
 * above it. */
int axis_draw_rows(struct canvas *canvas, const struct axis *axis, const struct axis_fit *fit,
                   struct point corner, enum anchor anchor, struct err *err);
int axis_draw_columns(struct canvas *canvas, const struct axis *axis, const struct axis_fit *fit,
                      struct point corner, struct err *err);

#endif
