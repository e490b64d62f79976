/* palette.h: colours, how they look in Oklab, where equal distances look equally far apart, and
 * scales of them, one row each.
 *
 * Steps along a palette look equally large: the stops of a row only give the way. Lightness rises
 * or falls all the way, for numbers of both signs from the middle to either end, so that a grey
 * copy still shows which is more. None tells red from green.
 *
 *     struct ramp ramp;
 *     ramp_make(&ramp, palette_find("viridis"));
 *     ramp.colours[1 + lroundf(254 * share)] ...
 */
#ifndef ATTN_WRITE_PALETTE_H
#define ATTN_WRITE_PALETTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct colour {
    uint8_t red, green, blue; /* sRGB */
};

/* 0x1a2b3c */
struct colour colour_of_hex(uint32_t hex);

/* Lightness from 0 (black) to 1 (white), and two axes of hue. */
struct oklab {
    float lightness, a, b;
};

struct oklab oklab_of(struct colour colour);
struct colour colour_of_oklab(struct oklab oklab); /* the nearest that a screen has */
float oklab_distance(struct oklab a, struct oklab b);

/* Black or white, whichever can be read better on that ground. */
struct colour colour_ink(struct colour ground);

struct palette {
    const char *name;
    const char *about;
    bool two_sided;     /* its middle stands for 0 */
    uint32_t stops[18]; /* at least two; a 0 ends them */
};

extern const struct palette palette_rows[];
extern const size_t palette_count;

/* NULL: there is none. */
const struct palette *palette_find(const char *name);

/* What is used where none is chosen: for numbers of one sign or both, on paper or in the dark. */
const struct palette *palette_default(bool two_sided, bool dark);

enum { RAMP_LEVELS = 256 };

/* The colours of levels 1 to 255; level 0 is no colour: nothing is there. */
struct ramp {
    struct colour colours[RAMP_LEVELS];
};

/* The colour of one of so many lines. */
struct colour palette_line(size_t index, size_t count);

void ramp_make(struct ramp *ramp, const struct palette *palette);

#endif
