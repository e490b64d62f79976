/* drawing.h: pictures as PNG and PDF, and documents as PDF, drawn by cairo and pango in a process
 * beside ours (drawing_process.h), of which there is one for all pictures.
 *
 *     struct drawing drawing;
 *     struct cairo_page page = {504, 300, "life · Life is short"};
 *     if (drawing_begin(&drawing, CAIRO_PNG, &stream, &page, err)) ...
 *     figure_draw(&figure, &drawing.canvas, err);
 *     if (drawing_end(&drawing, err)) ...
 */
#ifndef ATTN_DRAW_DRAWING_H
#define ATTN_DRAW_DRAWING_H

#include "base/err.h"
#include "base/stream.h"
#include "draw/cairo_canvas.h"
#include "draw/canvas.h"

struct drawing {
    struct canvas canvas;
    struct stream *out;
    bool failed; /* the process has ended; then why: */
    struct err err;
};

/* Whether this machine can draw them: that is asked before anything is computed. */
int drawing_check(struct err *err);

/* One picture at a time. Where it cannot be begun there is nothing to end. */
int drawing_begin(struct drawing *drawing, enum cairo_form form, struct stream *out,
                  const struct cairo_page *page, struct err *err);

/* Write what was drawn. Failures to write stick to the stream, all others are told here. */
int drawing_end(struct drawing *drawing, struct err *err);

/* As their namesakes in cairo_canvas.h and cairo_text.h. */
void drawing_turn_page(struct drawing *drawing);
void drawing_markup(struct drawing *drawing, struct point at, const char *markup,
                    const struct lettering *lettering);
double drawing_height(struct drawing *drawing, const char *markup, double width,
                      const struct lettering *lettering);
void drawing_paragraph(struct drawing *drawing, struct point at, const char *markup, double width,
                       const struct lettering *lettering);

#endif
