/* lines.h: attention as lines, from queries at the left to keys at the right: the more weight, the
 * darker and wider. An overlay has the lines of all heads of a layer, a colour each. */
#ifndef ATTN_DRAW_LINES_H
#define ATTN_DRAW_LINES_H

#include "base/err.h"
#include "draw/canvas.h"
#include "draw/section.h"

/* Draw the sheet, or the sheets of all heads from this one on. */
int lines_draw(const struct section *section, const struct sheet *sheet, struct canvas *canvas,
               struct box area, struct err *err);

/* The colour of a head in an overlay of so many. */
struct colour lines_colour(size_t head, size_t heads);

/* Weights below this share of the highest have no line: there would be nothing but lines. */
extern const double lines_least;

#endif
