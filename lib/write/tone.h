/* tone.h: from numbers to colours: which level of a ramp a number has.
 *
 * Numbers of one sign fill the ramp from the lowest (at most 0) to the highest; those of both signs
 * fill it from its middle, which is 0, to either end. Sqrt and log lift what is small.
 *
 *     struct tones tones = tones_make(sheets, count, style, false);
 *     struct tone tone = tone_of_row(&tones, &sheet, row);
 *     ramp.colours[tone_level(&tone, sheet_cell(&sheet, row, column))]
 */
#ifndef ATTN_WRITE_TONE_H
#define ATTN_WRITE_TONE_H

#include <stdbool.h>
#include <stddef.h>

#include "write/palette.h"
#include "write/style.h"
#include "lens/sheet.h"

/* Of the finite numbers that are not hidden. */
struct extent extent_of_row(const struct sheet *sheet, size_t row);
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
    struct tone whole;   /* of all of them */
    struct extent found; /* what they are, whatever the colours' bounds */
};

/* `dark`: on a dark ground. */
struct tones tones_of(struct extent extent, const struct style *style, bool dark);
struct tones tones_make(const struct sheet *sheets, size_t count, const struct style *style,
                        bool dark);

/* The tone of a sheet's row: the same for all where the range is that of all. */
struct tone tone_of_row(const struct tones *tones, const struct sheet *sheet, size_t row);
struct tone tone_of_sheet(const struct tones *tones, const struct sheet *sheet);

/* Whether numbers lie beyond the ramp's ends, whose colours they share: "≤ " and "≥ ", else "". */
const char *tones_below(const struct tones *tones);
const char *tones_above(const struct tones *tones);

#endif
