/* canvas_witness.h: a canvas that checks positions: all shapes are inside the page, and horizontal
 * texts do not overlap.
 *
 *     canvas_witness_begin(width, height);
 *     if (figure_draw(&figure, &witness.canvas, &err)) ...
 *     canvas_witness_check();
 */
#pragma once

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
    bool inked; /* white numbers on dark cells */
};

extern struct canvas_witness witness;

/* Start a new page of this size. */
void canvas_witness_begin(double width, double height);

/* Check that every opened part is closed and that texts do not overlap. */
void canvas_witness_check(void);

/* The number of times that a text was drawn. */
size_t canvas_witness_texts(const char *text);
