/* canvas.h: what pictures are drawn on: rectangles, lines, texts and matrices of cells.
 *
 * One drawing code serves every form; each form (svg_canvas.h, drawing.h) is a table of these
 * few operations, on a struct that begins with a canvas. Lengths are points, 1/72 inch, from the
 * upper left corner. Failures stick to the form, whose `…_end` tells them.
 *
 *     canvas_open(canvas, "weights layer 0 head 1");
 *     canvas_rect(canvas, (struct box){10, 10, 80, 20}, colour);
 *     canvas_text(canvas, (struct point){10, 40}, "Life", &(struct lettering){.size = 7});
 *     canvas_close(canvas);
 */
#ifndef ATTN_DRAW_CANVAS_H
#define ATTN_DRAW_CANVAS_H

#include <stdbool.h>
#include <stddef.h>

#include "draw/cells.h"
#include "write/colour.h"
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

/* The measures of a hatching. */
#define CANVAS_HATCH_PITCH 2.6
#define CANVAS_HATCH_WIDTH 0.5
#define CANVAS_HATCH_GROUND 0xf5f5f5
#define CANVAS_HATCH_LINE 0xd2d2d2

struct canvas {
    const struct canvas_form *form;
};

struct canvas_form {
    /* A part of the picture, with a name for those who cannot see it or take it apart. */
    void (*open)(struct canvas *canvas, const char *name);
    void (*close)(struct canvas *canvas);
    void (*rect)(struct canvas *canvas, struct box box, struct colour colour);
    void (*hatch)(struct canvas *canvas, struct box box);
    void (*frame)(struct canvas *canvas, struct box box, const struct pen *pen);
    void (*strokes)(struct canvas *canvas, const struct stroke *strokes, size_t count,
                    const struct pen *pen);
    void (*path)(struct canvas *canvas, const struct point *points, size_t count,
                 const struct pen *pen);
    void (*text)(struct canvas *canvas, struct point at, const char *text,
                 const struct lettering *lettering);
    void (*cells)(struct canvas *canvas, struct box box, const struct cells *cells,
                  const struct ramp *ramp);
};

static inline void canvas_open(struct canvas *canvas, const char *name)
{
    canvas->form->open(canvas, name);
}

static inline void canvas_close(struct canvas *canvas)
{
    canvas->form->close(canvas);
}

static inline void canvas_rect(struct canvas *canvas, struct box box, struct colour colour)
{
    canvas->form->rect(canvas, box, colour);
}

/* A light hatching: there is nothing here. Where colours are lost it still is no number. */
static inline void canvas_hatch(struct canvas *canvas, struct box box)
{
    canvas->form->hatch(canvas, box);
}

/* The border of a box. */
static inline void canvas_frame(struct canvas *canvas, struct box box, const struct pen *pen)
{
    canvas->form->frame(canvas, box, pen);
}

/* Many lines of one pen; where they cross, they are no darker. */
static inline void canvas_strokes(struct canvas *canvas, const struct stroke *strokes, size_t count,
                                  const struct pen *pen)
{
    canvas->form->strokes(canvas, strokes, count, pen);
}

/* Straight from point to point. */
static inline void canvas_path(struct canvas *canvas, const struct point *points, size_t count,
                               const struct pen *pen)
{
    canvas->form->path(canvas, points, count, pen);
}

/* A line of visible characters. */
static inline void canvas_text(struct canvas *canvas, struct point at, const char *text,
                               const struct lettering *lettering)
{
    canvas->form->text(canvas, at, text, lettering);
}

/* Cells that fill a box without gaps. */
static inline void canvas_cells(struct canvas *canvas, struct box box, const struct cells *cells,
                                const struct ramp *ramp)
{
    canvas->form->cells(canvas, box, cells, ramp);
}

#endif
