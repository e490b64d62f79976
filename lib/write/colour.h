/* colour.h: colours, and how they look: in Oklab, where equal distances look equally far apart.
 *
 *     struct colour text = colour_ink(background);
 */
#ifndef ATTN_WRITE_COLOUR_H
#define ATTN_WRITE_COLOUR_H

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

#endif
