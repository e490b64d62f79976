/* tally_picture.h: what tallies hold, as a picture: layers × heads of measures of rows, the tallies
 * side by side; queries × keys of every head for measures of cells.
 *
 *     struct tally_part parts[] = {{&dense, "attention=dense"}, {&window, "attention=window:4"}};
 *     if (tally_picture_write(&stream, PICTURE_SVG, "tiny", parts, 2, style, err)) ...
 */
#ifndef ATTN_OUT_TALLY_PICTURE_H
#define ATTN_OUT_TALLY_PICTURE_H

#include "base/err.h"
#include "base/stream.h"
#include "draw/style.h"
#include "lens/tally.h"
#include "out/picture.h"

struct tally_part {
    struct tally tally; /* the measures of the first are drawn of all */
    const char *name;   /* what tells it from the others */
};

int tally_picture_write(struct stream *out, enum picture_form form, const char *title,
                        const struct tally_part *parts, size_t count, const struct style *style,
                        struct err *err);

#endif
