/* scale_bar.h: what stands below a section: which colour is which number, or which head, and what
 * else one must know to read the picture. */
#ifndef ATTN_DRAW_SCALE_BAR_H
#define ATTN_DRAW_SCALE_BAR_H

#include "base/err.h"
#include "draw/canvas.h"
#include "draw/section.h"

/* The note's, which tells of the section; the others are short. */
double scale_bar_width(const struct section *section);
double scale_bar_height(const struct section *section);

int scale_bar_draw(const struct section *section, struct canvas *canvas, struct point corner,
                   struct err *err);

#endif
