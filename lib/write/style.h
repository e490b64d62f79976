/* style.h: how somebody wants pictures to look; a zeroed style will do.
 *
 *     struct style style = {.title = "Figure 1"};
 *     if (style_read_scale(&style, "sqrt", err)) ...
 */
#ifndef ATTN_WRITE_STYLE_H
#define ATTN_WRITE_STYLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "write/palette.h"

/* How numbers become colours. */
enum style_scale { COLOURS_LINEAR, COLOURS_SQRT, COLOURS_LOG };

/* What has the whole scale of colours: all that is shown, every head, or every row. */
enum style_range { RANGE_ALL, RANGE_HEAD, RANGE_ROW };

/* What attention is drawn as: cells of colour; lines from queries to keys, a picture a head, or all
 * heads of a layer in one, a colour each. */
enum style_view { VIEW_MATRIX, VIEW_LINES, VIEW_OVERLAY };

/* What stands in a cell. The first is colour, and numbers where there is room; on a page numbers,
 * and colour where the terminal can. */
enum style_cells { CELLS_FIT, CELLS_NUMBERS, CELLS_HEAT, CELLS_BOTH };

/* What a terminal can show. */
enum style_depth { DEPTH_NONE, DEPTH_16, DEPTH_256, DEPTH_FULL };

/* The lowest and the highest number of a scale; low > high: there are none. */
struct extent {
    float low, high;
};

struct style {
    enum style_scale scale;
    enum style_range range;
    enum style_view view;
    enum style_cells cells;
    struct extent bounds; /* of RANGE_ALL, unless both are 0: for pictures that are compared */
    const struct palette *palette; /* NULL: one that fits the numbers */
    const char *title;             /* NULL: the model and the sentence */
    bool hide_first;               /* for pages that can show and hide it */
    enum style_depth depth;
    bool dark; /* of a terminal: its ground */
};

extern const struct style style_default;

/* Names as on the command line, in the order of the enums, with NULL after the last. */
extern const char *const style_scale_names[];
extern const char *const style_range_names[];
extern const char *const style_view_names[];
extern const char *const style_cells_names[]; /* without the one that fits */

static inline bool style_has_bounds(const struct style *style)
{
    return style->bounds.high > style->bounds.low;
}

/* Read what was given; errors are usage and list what there is. A range may be LOW:HIGH. */
int style_read_scale(struct style *style, const char *name, struct err *err);
int style_read_range(struct style *style, const char *name, struct err *err);
int style_read_view(struct style *style, const char *name, struct err *err);
int style_read_cells(struct style *style, const char *name, struct err *err);
int style_read_palette(struct style *style, const char *name, struct err *err);

#endif
