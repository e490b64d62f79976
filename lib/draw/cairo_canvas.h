/* cairo_canvas.h: pictures as PNG and PDF, drawn by cairo, their texts set by pango: what happens
 * in the process of drawing.h.
 *
 *     struct cairo_canvas cairo;
 *     if (cairo_begin(&cairo, DRAWING_PNG, &buf, &page, err)) ...
 *     cairo.canvas.draw(&cairo.canvas, &command);
 *     if (cairo_end(&cairo, err)) ...
 *
 * Markup is pango's: <i>, <b>, <sub>, <sup>; &lt; and &amp; are signs. A wrong one becomes an error
 * of cairo_end.
 */
#ifndef ATTN_DRAW_CAIRO_CANVAS_H
#define ATTN_DRAW_CAIRO_CANVAS_H

#include "draw/cairo_library.h"
#include "draw/drawing.h"

struct cairo_canvas {
    struct canvas canvas;
    const struct cairo_library *lib;
    enum drawing_form form;
    struct buf *out;
    long across, down; /* pixels of a PNG … */
    long long dpi;     /* … in an inch … */
    double pixels;     /* … in a point */
    struct _cairo_surface *surface;
    struct _cairo *cairo;
    struct _PangoLayout *layout;
    struct _PangoFontDescription *font;
};

/* A PNG has 192 pixels to an inch, two to a pixel of the web, unless the page says otherwise. */
int cairo_begin(struct cairo_canvas *cairo, enum drawing_form form, struct buf *out,
                const struct drawing_page *page, struct err *err);

/* The letters of one that is begun: those of a family, or NULL, before any other (cairo_letters.c).
 * A family that is not there is refused. */
int cairo_letters_open(struct cairo_canvas *to, const char *family, struct err *err);

/* How high the lines of a DRAW_HEIGHT are. */
double cairo_text_height(struct cairo_canvas *cairo, const struct draw_command *command);

/* Write what was drawn, and give everything back. Memory that is not there sticks to `out`. */
int cairo_end(struct cairo_canvas *cairo, struct err *err);

#endif
