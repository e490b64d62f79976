/* letters.h: how wide a text will be, before anybody knows the font.
 *
 * A picture is laid out once for all its forms, and an SVG meets its font only on the reader's
 * screen. So widths are those of DejaVu Sans, which is wider than what it may be replaced by:
 * labels have room everywhere.
 *
 *     double room = letters_width("dessert", 7);               (of size 7)
 *     letters_fit(&buf, "antidisestablishmentarianism", 40, 7);     (antidises…)
 */
#ifndef ATTN_DRAW_LETTERS_H
#define ATTN_DRAW_LETTERS_H

#include "base/buf.h"

double letters_width(const char *text, double size);

/* Append the text, its end replaced by an ellipsis where it would be wider. */
void letters_fit(struct buf *out, const char *text, double width, double size);

#endif
