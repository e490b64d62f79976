/* svg_canvas.h: pictures as SVG, written by ourselves: texts stay texts, cells stay shapes.
 *
 *     struct svg_canvas svg;
 *     svg_begin(&svg, &stream, 504, 300, "life · Life is short");
 *     figure_draw(&figure, &svg.canvas);
 *     svg_end(&svg);                       (failures stick to the stream)
 */
#ifndef ATTN_DRAW_SVG_CANVAS_H
#define ATTN_DRAW_SVG_CANVAS_H

#include "base/stream.h"
#include "draw/canvas.h"

struct svg_canvas {
    struct canvas canvas;
    struct stream *out;
};

void svg_begin(struct svg_canvas *svg, struct stream *out, double width, double height,
               const char *title);
void svg_end(struct svg_canvas *svg);

#endif
