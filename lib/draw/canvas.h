/* canvas.h: drawing commands for figures, and the formats that implement them: SVG and TikZ are
 * written directly; PNG and PDF are made from the SVG by rsvg-convert.
 *
 * Lengths are points (1/72 inch) from the upper left corner. The stream keeps write errors.
 *
 *     struct drawing drawing;
 *     struct drawing_page page = {.width = 504, .height = 300, .title = "life · Life is short"};
 *     if (drawing_begin(&drawing, DRAWING_PNG, &stream, &page, err)) ...
 *     struct canvas *canvas = &drawing.canvas;
 *     canvas->rect(canvas, (struct box){10, 10, 80, 20}, colour);
 *     canvas->text(canvas, (struct point){10, 40}, "Life", &(struct font){.size = 7});
 *     if (drawing_end(&drawing, err)) ...
 */
#pragma once

#include <stdio.h>

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
    double opacity; /* 0 is invisible, 1 is opaque */
};

enum anchor { ANCHOR_START, ANCHOR_MIDDLE, ANCHOR_END };

/* The style of a text. A text is drawn at a point on its baseline. */
struct font {
    double size;
    struct colour colour;
    enum anchor anchor;
    double turn; /* rotation in degrees, clockwise about the point */
    bool bold;
};

struct stroke {
    struct point from, to;
};

/* Cells of a heat map: each has a level, an index into a colour ramp. */
struct cells {
    size_t rows, columns;
    unsigned char *levels; /* [rows, columns] levels; 0: the cell is empty */
    float *values;         /* [rows, columns] the values that the levels show; NULL: none */
};

/* The commands of a figure are function pointers, which svg_begin or tex_begin sets. */
struct canvas {
    struct stream *out;
    /* begin and end a group, with a name for screen readers and editors; in TikZ it is only a
     * comment */
    void (*open)(struct canvas *canvas, const char *name);
    void (*close)(struct canvas *canvas);
    void (*rect)(struct canvas *canvas, struct box box, struct colour colour);
    /* outline a box */
    void (*frame)(struct canvas *canvas, struct box box, const struct pen *pen);
    /* draw lines, straight or as S-curves, with one pen; where lines cross, they are not darker */
    void (*strokes)(struct canvas *canvas, const struct stroke *strokes, size_t count,
                    bool straight, const struct pen *pen);
    /* connect the points by straight lines */
    void (*path)(struct canvas *canvas, const struct point *points, size_t count,
                 const struct pen *pen);
    /* write a line of printable characters */
    void (*text)(struct canvas *canvas, struct point at, const char *text, const struct font *font);
    /* draw the cells that are not empty in a box, without gaps between them */
    void (*cells)(struct canvas *canvas, struct box box, const struct cells *cells,
                  const struct ramp *ramp);
    /* receives errors, set by the caller; after an error, the figure may be incomplete */
    struct err *err;
    bool has_scripts; /* set by the TikZ canvas: some letters are of scripts other than Latin, and
                       * need another font */
};

/* Hatch a box in light grey, for masked cells. */
void canvas_hatch(struct canvas *canvas, struct box box);

/* Draw a text; if it is wider than `width`, an ellipsis replaces its end. */
void canvas_text_fit(struct canvas *canvas, struct point at, const char *text, double width,
                     const struct font *font);

/* Estimate the width of a text, since the viewer chooses the font. ASCII characters have the widths
 * of DejaVu Sans, which is wider than most fonts; other characters have a typical width. */
double letters_width(const char *text, double size);

/* Append a text; if it is wider than `width`, an ellipsis replaces its end. `size` is the font
 * size. */
void letters_fit(struct buf *out, const char *text, double width, double size);

/* A text that is broken into lines of at most `width`, at the font size `size`. */
struct letter_lines {
    const char **lines;
    /* `count`: number of lines; `most`: number of lines for which there is room */
    size_t count, most;
    double width, size;
};

/* Break a text at spaces into lines, and add these to `to`. If only one line is left, it gets all
 * remaining text; a line whose first word is wider than a line also gets all remaining text. The
 * arena owns the lines. */
int letters_break(struct letter_lines *to, const char *text, struct arena *arena, struct err *err);

/* Write a text in which each # is replaced by the next of `numbers`, with at most three
 * decimals. */
void canvas_put(struct canvas *canvas, const char *text, const double *numbers);

/* --- formats ---------------------------------------------------------------------------------- */

enum drawing_form { DRAWING_SVG, DRAWING_TEX, DRAWING_PNG, DRAWING_PDF };

struct drawing_page {
    double width, height; /* size of the page in points */
    const char *title;
    const char *metadata; /* JSON in one line, which is stored in the file; NULL: none */
    const char *font;     /* preferred family of fonts; NULL: none */
    long long dpi;        /* resolution of a PNG in dots per inch; 0: 192 */
    /* Prints a note if a PNG or PDF contains letters that no installed font has, or a TikZ file
     * contains letters that pdflatex cannot set, each once per process. NULL: this is not
     * checked. */
    void (*note)(const char *format, ...);
};

struct drawing {
    struct canvas canvas;
    enum drawing_form form;
    /* members for PNG and PDF, which are made from a temporary SVG; TikZ also uses `note` */
    long long dpi;
    const char *metadata;
    struct stream *out;
    struct stream svg; /* stream that writes to svg_file */
    FILE *svg_file;
    void (*note)(const char *format, ...);
};

/* Return 0 if PNG and PDF can be written on this machine; otherwise -1 with `err`. */
int drawing_check(struct err *err);

/* Begin a figure. After a failure, drawing_end must not be called. */
int drawing_begin(struct drawing *drawing, enum drawing_form form, struct stream *out,
                  const struct drawing_page *page, struct err *err);

/* Finish the file. Write errors are kept in the stream; other failures are returned. */
int drawing_end(struct drawing *drawing, struct err *err);

/* Begin and end an SVG or a TikZ file. The SVG keeps texts as text. The TikZ file compiles alone or
 * by \input in a LaTeX document, and contains the values of the cells that it draws (`values` of
 * struct cells). */
void svg_begin(struct canvas *svg, struct stream *out, const struct drawing_page *page);
void svg_end(struct canvas *svg);
void tex_begin(struct canvas *tex, struct stream *out, const struct drawing_page *page);
void tex_end(struct canvas *tex);
