/* drawing_order.h: what the process that draws is told, and what it answers.
 *
 * Both are the same program, so structs go as they are: an order, then its `payload` bytes. Those
 * that measure, begin, end or ask are answered; the others are not, because most are drawn faster
 * than an answer takes.
 */
#ifndef ATTN_DRAW_DRAWING_ORDER_H
#define ATTN_DRAW_DRAWING_ORDER_H

#include <stddef.h>

#include "base/err.h"
#include "draw/cairo_canvas.h"
#include "draw/canvas.h"

enum drawing_verb {
    DRAWING_LOAD,  /* the library; answered */
    DRAWING_BEGIN, /* payload: the page's title; answered */
    DRAWING_TURN_PAGE,
    DRAWING_END, /* answered; its bytes come first */
    DRAWING_RECT,
    DRAWING_HATCH,
    DRAWING_FRAME,
    DRAWING_STROKES, /* payload: struct stroke … */
    DRAWING_PATH,    /* payload: struct point … */
    DRAWING_TEXT,    /* payload: the text, with its 0; so in all that follow but cells */
    DRAWING_MARKUP,
    DRAWING_PARAGRAPH,
    DRAWING_HEIGHT, /* answered */
    DRAWING_RAMP,   /* payload: the struct ramp of the next cells */
    DRAWING_CELLS,  /* payload: their levels */
};

struct drawing_order {
    enum drawing_verb verb;
    enum cairo_form form;
    struct box box;
    struct point at;
    struct colour colour; /* of a box; and of pens and letters, which come part by part, because */
    double line_width, opacity; /* what lies between the parts of a struct may hold anything */
    double size, turn;
    enum anchor anchor;
    bool bold;
    double width, height; /* of a page, or of a paragraph */
    size_t rows, columns; /* of cells */
    size_t payload;
};

struct drawing_answer {
    struct err err; /* of no kind: done */
    double height;
};

/* What the process does: serve orders until no more come. */
void drawing_serve(void);

#endif
