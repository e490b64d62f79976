/* style.h: how somebody wants pictures to look; a zeroed style will do.
 *
 *     struct style style = {.title = "Figure 1"};
 *     if (style_read(&style, &(struct style_words){.scale = "sqrt"}, err)) ...
 */
#ifndef ATTN_WRITE_STYLE_H
#define ATTN_WRITE_STYLE_H

#include "lens/sheet.h"
#include "write/figure_form.h"
#include "write/palette.h"

/* How numbers become colours. */
enum style_scale { COLOURS_LINEAR, COLOURS_SQRT, COLOURS_LOG };

/* What has the whole scale of colours: all that is shown, every head, or every row. */
enum style_range { RANGE_ALL, RANGE_HEAD, RANGE_ROW };

/* What is drawn: what suits the numbers; cells of colour; attention as lines from queries to keys,
 * a picture a head, or all heads of a layer in one, a colour each; the numbers that are farthest
 * from 0, a bar each. */
enum style_view { VIEW_FIT, VIEW_MATRIX, VIEW_LINES, VIEW_OVERLAY, VIEW_BARS };

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
    bool range_given;     /* else attention and other fractions have the range 0 to 1 */
    struct extent bounds; /* of RANGE_ALL, unless both are 0: for pictures that are compared */
    const struct palette *palette; /* NULL: one that fits the numbers */
    bool two_sided;                /* which is one of both signs, whatever numbers there are */
    const char *title;             /* NULL: the model and the sentence */
    bool hide_first;               /* for pages that can show and hide it */
    enum style_depth depth;
    bool dark;               /* of a terminal: its ground */
    bool any_ground;         /* that is not known: every cell has a ground of its own, light */
    struct figure_form form; /* of a paper */
};

extern const struct style style_default;

/* Names as on the command line, in the order of the enums, with NULL after the last. */
extern const char *const style_scale_names[];
extern const char *const style_range_names[];
extern const char *const style_view_names[]; /* these two without the one that fits */
extern const char *const style_cells_names[];

/* Neither title nor subtitle. */
static inline bool style_is_untitled(const struct style *style)
{
    return style->title && !*style->title;
}

static inline bool style_has_bounds(const struct style *style)
{
    return style->bounds.high > style->bounds.low;
}

/* What was given, each NULL where nothing was. A range may be LOW:HIGH. */
struct style_words {
    const char *scale, *range, *view, *cells, *palette;
};

/* Errors are usage and list what there is. */
int style_read(struct style *style, const struct style_words *words, struct err *err);

/* --- from numbers to colours ------------------------------------------------------------------ */

/* Numbers of one sign fill the ramp from the lowest (at most 0) to the highest; those of both signs
 * fill it from its middle, which is 0, to either end. Sqrt and log lift what is small.
 *
 *     struct tones tones = tones_make(sheets, count, style, false);
 *     struct tone tone = tone_of_row(&tones, &sheet, row);
 *     ramp.colours[tone_level(&tone, sheet_cell(&sheet, row, column))]
 */

/* Of the finite numbers that are not hidden. */
struct extent extent_of_sheet(const struct sheet *sheet);
struct extent extent_join(struct extent a, struct extent b);

struct tone {
    enum style_scale scale;
    bool two_sided;
    struct extent extent;
};

/* Where on the ramp a finite number stands, from 0 to 1. */
float tone_share(const struct tone *tone, float value);

/* The level of a ramp for it, from 1 to 255; 0 for what is not finite. */
unsigned tone_level(const struct tone *tone, float value);

/* The numbers at the two ends of the ramp. */
struct extent tone_ends(const struct tone *tone);

/* The tones of sheets that are shown together. */
struct tones {
    enum style_range range;
    const struct palette *palette;
    struct tone whole;   /* of all of them: of fractions from 0 to 1, where no range is given */
    struct extent found; /* what they are, whatever the colours' bounds */
};

/* `fraction`: the numbers are fractions (sheet.h). `dark`: on a dark ground. */
struct tones tones_of(struct extent extent, bool fraction, const struct style *style, bool dark);
struct tones tones_make(const struct sheet *sheets, size_t count, const struct style *style,
                        bool dark);

/* The tone of a sheet's row: the same for all where the range is that of all. */
struct tone tone_of_row(const struct tones *tones, const struct sheet *sheet, size_t row);
struct tone tone_of_sheet(const struct tones *tones, const struct sheet *sheet);

/* Whether numbers lie beyond the ramp's ends, whose colours they share: "≤ " and "≥ ", else "". */
const char *tones_below(const struct tones *tones);
const char *tones_above(const struct tones *tones);

#endif
