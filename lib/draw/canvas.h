/* canvas.h: what pictures are drawn on, and the commands that they are made of: rectangles, lines,
 * texts and matrices of cells.
 *
 * Lengths are points, 1/72 inch, from the upper left corner. Failures to write stick to the stream.
 *
 *     canvas_open(canvas, "weights layer 0 head 1");
 *     canvas_rect(canvas, (struct box){10, 10, 80, 20}, colour);
 *     canvas_text(canvas, (struct point){10, 40}, "Life", &(struct lettering){.size = 7});
 *     canvas_close(canvas);
 */
#ifndef ATTN_DRAW_CANVAS_H
#define ATTN_DRAW_CANVAS_H

#include "base/buf.h"
#include "base/stream.h"
#include "write/palette.h"

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
struct lettering {
    double size;
    struct colour colour;
    enum anchor anchor;
    double turn; /* degrees, clockwise, around the point */
    bool bold;
};

/* From one point to another, leaving and arriving level. */
struct stroke {
    struct point from, to;
};

/* Levels of a ramp. */
struct cells {
    size_t rows, columns;
    size_t row_step, column_step; /* so many rows and columns of numbers in one cell; 1: each */
    unsigned char *levels;        /* [rows, columns]; 0: nothing is there */
    float *values;                /* … their numbers; NULL: none */
};

/* A format of figures: what the functions below are done by. */
struct canvas_form {
    void (*open)(struct stream *out, const char *name);
    void (*close)(struct stream *out);
    void (*rect)(struct stream *out, struct box box, struct colour colour);
    void (*frame)(struct stream *out, struct box box, const struct pen *pen);
    void (*strokes)(struct stream *out, const struct stroke *strokes, size_t count, bool straight,
                    const struct pen *pen);
    void (*path)(struct stream *out, const struct point *points, size_t count,
                 const struct pen *pen);
    void (*text)(struct stream *out, struct point at, const char *text,
                 const struct lettering *lettering);
    void (*cells)(struct stream *out, struct box box, const struct cells *cells,
                  const struct ramp *ramp);
};

struct canvas {
    const struct canvas_form *form;
    struct stream *out;
};

/* A part of the picture, with a name for those who cannot see it or take it apart. */
void canvas_open(struct canvas *canvas, const char *name);
void canvas_close(struct canvas *canvas);

void canvas_rect(struct canvas *canvas, struct box box, struct colour colour);

/* A light hatching: there is nothing here. Where colours are lost it still is no number. */
void canvas_hatch(struct canvas *canvas, struct box box);

/* The border of a box. */
void canvas_frame(struct canvas *canvas, struct box box, const struct pen *pen);

/* Many lines of one pen; where they cross, they are no darker. */
void canvas_strokes(struct canvas *canvas, const struct stroke *strokes, size_t count,
                    const struct pen *pen);

/* Straight from point to point. */
void canvas_path(struct canvas *canvas, const struct point *points, size_t count,
                 const struct pen *pen);

/* A line of visible characters. */
void canvas_text(struct canvas *canvas, struct point at, const char *text,
                 const struct lettering *lettering);

/* The same, its end replaced by an ellipsis where it would be wider; -1: there was no memory. */
int canvas_text_fit(struct canvas *canvas, struct point at, const char *text, double width,
                    const struct lettering *lettering, struct err *err);

/* Cells that fill a box without gaps. */
void canvas_cells(struct canvas *canvas, struct box box, const struct cells *cells,
                  const struct ramp *ramp);

/* How wide a text will be, before the font is known, which an SVG meets only on the reader's
 * screen: as in DejaVu Sans, which is wider than what it may be replaced by. */
double letters_width(const char *text, double size);

/* Append the text, its end replaced by an ellipsis where it would be wider. */
void letters_fit(struct buf *out, const char *text, double width, double size);

/* Pictures as SVG, written by ourselves: texts stay texts, cells stay shapes. Failures stick to the
 * stream. */
struct drawing_page;
void svg_begin(struct canvas *svg, struct stream *out, const struct drawing_page *page);
void svg_end(struct canvas *svg);

/* The same as TikZ, for LaTeX: a file that documents \input, and that can be compiled alone. Cells
 * have their numbers beside them. */
void tex_begin(struct canvas *tex, struct stream *out, const struct drawing_page *page);
void tex_end(struct canvas *tex);

/* A text in which # stands for the next of the numbers, of three decimals at most. */
void canvas_put(struct stream *out, const char *text, const double *numbers);

#endif
