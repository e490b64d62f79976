/* measured_picture.h: measures of heads as a picture: layers × heads, those of a list side by side
 * on one scale; queries × keys of every head for measures of cells.
 */
#ifndef ATTN_DRAW_MEASURED_PICTURE_H
#define ATTN_DRAW_MEASURED_PICTURE_H

#include "base/err.h"
#include "base/stream.h"
#include "write/style.h"
#include "lens/measure.h"
#include "draw/picture.h"

/* All of the list have the measures of the first. */
int measured_picture_write(struct stream *out, enum picture_form form,
                           const struct measured_list *list, const struct style *style,
                           struct err *err);

#endif
