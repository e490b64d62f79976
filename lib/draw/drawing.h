/* drawing.h: pictures as SVG, TikZ, PNG and PDF, and documents as PDF.
 *
 * SVG and TikZ are written at once. The others are drawn by cairo and pango in a process beside
 * ours (drawing_process.h), of which there is one for all pictures.
 *
 *     struct drawing drawing;
 *     struct drawing_page page = {.width = 504, .height = 300, .title = "life · Life is short"};
 *     if (drawing_begin(&drawing, DRAWING_PNG, &stream, &page, err)) ...
 *     figure_draw(&figure, &drawing.canvas, err);
 *     if (drawing_end(&drawing, err)) ...
 */
#ifndef ATTN_DRAW_DRAWING_H
#define ATTN_DRAW_DRAWING_H

#include "draw/canvas.h"

enum drawing_form { DRAWING_SVG, DRAWING_TEX, DRAWING_PNG, DRAWING_PDF };

struct drawing_page {
    double width, height; /* points */
    const char *title;
    const char *font; /* a family before all others; NULL: none */
    long long dpi;    /* of a PNG; 0: as usual */
};

struct drawing {
    struct canvas canvas;
    enum drawing_form form;
    bool failed; /* the process has ended; then why: */
    struct err err;
};

/* Whether this machine can draw PNG and PDF: that is asked before anything is computed. */
int drawing_check(struct err *err);

/* One picture at a time. Where it cannot be begun there is nothing to end. */
int drawing_begin(struct drawing *drawing, enum drawing_form form, struct stream *out,
                  const struct drawing_page *page, struct err *err);

/* Write what was drawn. Failures to write stick to the stream, all others are told here. */
int drawing_end(struct drawing *drawing, struct err *err);

/* Of a PDF: go on on another page; texts in pango's markup: a line, and lines of at most `width`,
 * how high they are, and drawn from their upper left corner on. */
void drawing_turn_page(struct drawing *drawing);
void drawing_markup(struct drawing *drawing, struct point at, const char *markup,
                    const struct lettering *lettering);
double drawing_height(struct drawing *drawing, const char *markup, double width,
                      const struct lettering *lettering);
void drawing_paragraph(struct drawing *drawing, struct point at, const char *markup, double width,
                       const struct lettering *lettering);

#endif
