/* picture.h: a figure in one of the forms it can be drawn in.
 *
 *     struct figure figure;
 *     if (figure_plan(&figure, report, style, &arena, err) ||
 *         picture_write(&stream, PICTURE_PDF, &figure, err)) ...
 */
#ifndef ATTN_DRAW_PICTURE_H
#define ATTN_DRAW_PICTURE_H

#include "base/err.h"
#include "base/stream.h"
#include "draw/figure.h"

enum picture_form { PICTURE_SVG, PICTURE_PNG, PICTURE_PDF };

int picture_write(struct stream *out, enum picture_form form, const struct figure *figure,
                  struct err *err);

/* Refuse a form that this machine has no library for. */
int picture_check(enum picture_form form, struct err *err);

#endif
