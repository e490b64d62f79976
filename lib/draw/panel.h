/* panel.h: one of the small pictures of a section: cells or lines, with what stands around it. */
#ifndef ATTN_DRAW_PANEL_H
#define ATTN_DRAW_PANEL_H

#include <stddef.h>

#include "base/err.h"
#include "draw/canvas.h"
#include "draw/section.h"

/* Draw panel `index` of a section whose upper left corner is given. */
int panel_draw(const struct section *section, size_t index, struct canvas *canvas,
               struct point corner, struct err *err);

#endif
