/* cairo_canvas.h: pictures as PNG and PDF, drawn by cairo, their texts set by pango: what happens
 * in the process of drawing.h.
 *
 *     struct cairo_canvas cairo;
 *     struct cairo_page page = {504, 300, "life · Life is short"};
 *     if (cairo_begin(&cairo, CAIRO_PNG, &stream, &page, err)) ...
 *     figure_draw(&figure, &cairo.canvas, err);
 *     if (cairo_end(&cairo, err)) ...
 */
#ifndef ATTN_DRAW_CAIRO_CANVAS_H
#define ATTN_DRAW_CAIRO_CANVAS_H

#include "base/err.h"
#include "base/stream.h"
#include "draw/cairo_library.h"
#include "draw/canvas.h"

enum cairo_form { CAIRO_PNG, CAIRO_PDF };

struct cairo_canvas {
    struct canvas canvas;
    const struct cairo_library *lib;
    enum cairo_form form;
    struct stream *out;
    long across, down; /* pixels of a PNG */
    struct _cairo_surface *surface;
    struct _cairo *cairo;
    struct _PangoLayout *layout;
    struct _PangoFontDescription *font;
};

/* What is drawn on. A PNG has 192 pixels to an inch, two to a pixel of the web. */
struct cairo_page {
    double width, height; /* points */
    const char *title;
};

int cairo_begin(struct cairo_canvas *cairo, enum cairo_form form, struct stream *out,
                const struct cairo_page *page, struct err *err);

/* Go on on another page of a PDF. */
void cairo_turn_page(struct cairo_canvas *cairo);

/* Write what was drawn, and give everything back. Failures to write stick to the stream. */
int cairo_end(struct cairo_canvas *cairo, struct err *err);

#endif
