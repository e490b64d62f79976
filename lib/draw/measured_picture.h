/* measured_picture.h: measures of heads as a picture: layers × heads, those of a list side by side
 * on one scale; queries × keys of every head for measures of cells.
 */
#ifndef ATTN_DRAW_MEASURED_DRAWING_H
#define ATTN_DRAW_MEASURED_DRAWING_H

#include "base/err.h"
#include "base/stream.h"
#include "write/style.h"
#include "lens/measure.h"
#include "draw/figure.h"

/* All of the list have the measures of the first. */
int measured_picture_write(struct stream *out, enum drawing_form form,
                           const struct measured_list *list, const struct style *style,
                           struct err *err);

#endif
