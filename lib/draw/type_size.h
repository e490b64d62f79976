/* type_size.h: how large letters are in a figure, and what a line of them takes: a size for each
 * kind of text, or one for all, where a paper wants it.
 *
 *     double y = corner.y + type_line(form, TYPE_TITLE);
 *     struct lettering lettering = {.size = type_size(form, TYPE_TITLE), .bold = true};
 */
#ifndef ATTN_DRAW_TYPE_SIZE_H
#define ATTN_DRAW_TYPE_SIZE_H

#include "write/figure_form.h"

enum type_kind { TYPE_TITLE, TYPE_SUBTITLE, TYPE_NAME, TYPE_NUMBER, TYPE_TEXT };

/* Points. */
double type_size(const struct figure_form *form, enum type_kind kind);
double type_line(const struct figure_form *form, enum type_kind kind);

#endif
