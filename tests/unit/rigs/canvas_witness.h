/* canvas_witness.h: a canvas that looks where things stand: all of it inside the picture, no level
 * text over another.
 *
 *     canvas_witness_begin(width, height);
 *     if (figure_draw(&figure, &witness.canvas, &err)) ...
 *     canvas_witness_check();
 */
#ifndef ATTN_TESTS_CANVAS_WITNESS_H
#define ATTN_TESTS_CANVAS_WITNESS_H

#include <stdbool.h>

#include "draw/canvas.h"

enum { WITNESS_TEXTS_MAX = 2000, WITNESS_TEXT_BYTES = 64 };

struct canvas_witness {
    struct canvas canvas;
    double width, height;
    struct witness_text {
        char text[WITNESS_TEXT_BYTES];
        struct box box;
        bool level;
    } texts[WITNESS_TEXTS_MAX];
    size_t text_count, cell_count, stroke_count, path_count, hatch_count, depth, part_count;
    bool inked; /* numbers in white: on dark cells */
};

extern struct canvas_witness witness;

/* Forget what was seen; the next picture has this size. */
void canvas_witness_begin(double width, double height);

/* Every part that was opened is closed, and texts stand apart. */
void canvas_witness_check(void);

/* How often a text was set. */
size_t canvas_witness_texts(const char *text);

#endif
