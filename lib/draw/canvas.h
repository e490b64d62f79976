/* canvas.h: drawing commands for figures, and the formats that carry them out: SVG and TikZ,
 * written directly; PNG and PDF, made from the SVG by rsvg-convert.
 *
 * Lengths are points, 1/72 inch, from the upper left corner. Write failures stick to the stream.
 *
 *     struct drawing drawing;
 *     struct drawing_page page = {.width = 504, .height = 300, .title = "life · Life is short"};
 *     if (drawing_begin(&drawing, DRAWING_PNG, &stream, &page, err)) ...
 *     struct canvas *canvas = &drawing.canvas;
 *     canvas->rect(canvas, (struct box){10, 10, 80, 20}, colour);
 *     canvas->text(canvas, (struct point){10, 40}, "Life", &(struct font){.size = 7});
 *     if (drawing_end(&drawing, err)) ...
 */
#ifndef ATTN_DRAW_CANVAS_H
#define ATTN_DRAW_CANVAS_H

#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/stream.h"
#include "write/style.h"

struct point {
    double x, y;
};

struct box {
    double x, y, width, height;
};

struct pen {
    struct colour colour;
    double width;
    double opacity; /* 1: covers what is below */
};

enum anchor { ANCHOR_START, ANCHOR_MIDDLE, ANCHOR_END };

/* How a text is set; its point is on the base line. */
struct font {
    double size;
    struct colour colour;
    enum anchor anchor;
    double turn; /* degrees, clockwise, around the point */
    bool bold;
};

struct stroke {
    struct point from, to;
};

/* Levels of a ramp. */
struct cells {
    size_t rows, columns;
    unsigned char *levels; /* [rows, columns]; 0: empty */
    float *values;         /* [rows, columns] numbers of the levels; NULL: none */
};

/* The commands are function pointers, set by svg_begin or tex_begin. */
struct canvas {
    struct stream *out;
    /* a named part of the picture, for screen readers and editors */
    void (*open)(struct canvas *canvas, const char *name);
    void (*close)(struct canvas *canvas);
    void (*rect)(struct canvas *canvas, struct box box, struct colour colour);
    /* the border of a box */
    void (*frame)(struct canvas *canvas, struct box box, const struct pen *pen);
    /* many lines of one pen, straight or leaving and arriving level; no darker where they cross */
    void (*strokes)(struct canvas *canvas, const struct stroke *strokes, size_t count,
                    bool straight, const struct pen *pen);
    /* straight from point to point */
    void (*path)(struct canvas *canvas, const struct point *points, size_t count,
                 const struct pen *pen);
    /* a line of visible characters */
    void (*text)(struct canvas *canvas, struct point at, const char *text, const struct font *font);
    /* cells that fill a box without gaps */
    void (*cells)(struct canvas *canvas, struct box box, const struct cells *cells,
                  const struct ramp *ramp);
    struct err *err; /* once it is set what is drawn may be lost */
};

/* A light hatching for masked cells, which a grey copy still tells from numbers. */
void canvas_hatch(struct canvas *canvas, struct box box);

/* A text, its end replaced by an ellipsis if it is wider. */
void canvas_text_fit(struct canvas *canvas, struct point at, const char *text, double width,
                     const struct font *font);

/* Width of a text before the font is known: as in DejaVu Sans, which is wider than its usual
 * replacements. */
double letters_width(const char *text, double size);

/* Append the text, its end replaced by an ellipsis if it is wider. */
void letters_fit(struct buf *out, const char *text, double width, double size);

/* Break a text at blanks into at most `most` lines of that width, in memory of the arena; the last
 * line has the rest. */
int letters_break(const char **lines, size_t *count, size_t most, const char *text, double width,
                  double size, struct arena *arena, struct err *err);

/* Write a text in which each # is replaced by the next number, with at most three decimals. */
void canvas_put(struct canvas *canvas, const char *text, const double *numbers);

/* --- formats ---------------------------------------------------------------------------------- */

enum drawing_form { DRAWING_SVG, DRAWING_TEX, DRAWING_PNG, DRAWING_PDF };

struct drawing_page {
    double width, height; /* points */
    const char *title;
    const char *metadata; /* of SVG: JSON; NULL: none */
    const char *font;     /* preferred family; NULL: none */
    long long dpi;        /* of PNG; 0: 192 */
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

/* 0 if this machine can write PNG and PDF. */
int drawing_check(struct err *err);

/* Begin a figure; after a failure there is nothing to end. */
int drawing_begin(struct drawing *drawing, enum drawing_form form, struct stream *out,
                  const struct drawing_page *page, struct err *err);

/* Write what was drawn. Write failures stick to the stream; all others are returned here. */
int drawing_end(struct drawing *drawing, struct err *err);

/* SVG in which texts stay texts. TikZ for LaTeX: a file that documents \input, and that compiles
 * alone; each cell has its number. */
void svg_begin(struct canvas *svg, struct stream *out, const struct drawing_page *page);
void svg_end(struct canvas *svg);
void tex_begin(struct canvas *tex, struct stream *out, const struct drawing_page *page);
void tex_end(struct canvas *tex);

#endif
