/* cairo_text.h: texts on a cairo canvas, set by pango: lines, and paragraphs of a document.
 *
 * Markup is pango's: <i>, <b>, <sub>, <sup>; &lt; and &amp; are signs. A wrong one becomes an error
 * of cairo_end.
 *
 *     double height = cairo_text_height(&cairo, markup, 480, &lettering);
 *     cairo_text_paragraph(&cairo, (struct point){56, y}, markup, 480, &lettering);
 */
#ifndef ATTN_DRAW_CAIRO_TEXT_H
#define ATTN_DRAW_CAIRO_TEXT_H

#include "draw/cairo_canvas.h"

/* A line, its base line through the point: as it is, or in markup. */
void cairo_text(struct cairo_canvas *cairo, struct point at, const char *text,
                const struct lettering *lettering);
void cairo_text_markup(struct cairo_canvas *cairo, struct point at, const char *markup,
                       const struct lettering *lettering);

/* Lines of at most `width`: how high they are, and drawn from their upper left corner on. */
double cairo_text_height(struct cairo_canvas *cairo, const char *markup, double width,
                         const struct lettering *lettering);
void cairo_text_paragraph(struct cairo_canvas *cairo, struct point at, const char *markup,
                          double width, const struct lettering *lettering);

#endif
