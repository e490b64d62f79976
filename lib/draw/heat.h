/* heat.h: a sheet as a matrix of coloured cells, with its numbers in them where there is room. */
#ifndef ATTN_DRAW_HEAT_H
#define ATTN_DRAW_HEAT_H

#include "base/err.h"
#include "draw/canvas.h"
#include "draw/section.h"

int heat_draw(const struct section *section, const struct sheet *sheet, struct canvas *canvas,
              struct box area, struct err *err);

/* True when the cells of a section are large enough for its numbers, which are wanted; the decimals
 * they get. */
bool heat_has_numbers(const struct section *section, int *decimals);

#endif
