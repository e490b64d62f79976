/* drawing.h: figures as SVG, TikZ, PNG and PDF.
 *
 * SVG and TikZ are written directly. PNG and PDF are made from the SVG by the program rsvg-convert.
 *
 *     struct drawing drawing;
 *     struct drawing_page page = {.width = 504, .height = 300, .title = "life · Life is short"};
 *     if (drawing_begin(&drawing, DRAWING_PNG, &stream, &page, err)) ...
 *     figure_draw(&figure, &drawing.canvas, err);
 *     if (drawing_end(&drawing, err)) ...
 */
#ifndef ATTN_DRAW_DRAWING_H
#define ATTN_DRAW_DRAWING_H

#include <stdio.h>

#include "draw/canvas.h"

enum drawing_form { DRAWING_SVG, DRAWING_TEX, DRAWING_PNG, DRAWING_PDF };

struct drawing_page {
    double width, height; /* points */
    const char *title;
    const char *metadata; /* of SVG: JSON; NULL: none */
    const char *font;     /* a family before all others; NULL: none */
    long long dpi;        /* of a PNG; 0: 192 */
};

struct drawing {
    struct canvas canvas;
    enum drawing_form form;
    /* of PNG and PDF */
    long long dpi;
    struct stream *out;
    struct stream svg; /* written to this file */
    FILE *svg_file;
};

/* Whether this machine can write PNG and PDF; called before anything is computed. */
int drawing_check(struct err *err);

/* One figure at a time. Where this fails there is nothing to end. */
int drawing_begin(struct drawing *drawing, enum drawing_form form, struct stream *out,
                  const struct drawing_page *page, struct err *err);

/* Write what was drawn. Failures to write stick to the stream; all others are returned here. */
int drawing_end(struct drawing *drawing, struct err *err);

#endif
