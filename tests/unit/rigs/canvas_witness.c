#include "canvas_witness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "asserts.h"
#include "draw/canvas.h"

struct canvas_witness witness;

static void check_inside(struct box box, const char *what)
{
    bool inside = box.x >= -0.01 && box.y >= -0.01 && box.x + box.width <= witness.width + 0.01 &&
                  box.y + box.height <= witness.height + 0.01;
    ck_assert_msg(inside, "%s at %g %g, %g x %g, in a page of %g x %g", what, box.x, box.y,
                  box.width, box.height, witness.width, witness.height);
}

static void see_open(struct canvas *canvas, const char *name)
{
    (void)canvas;
    ck_assert_str_ne(name, "");
    witness.depth++;
    witness.part_count++;
}

static void see_close(struct canvas *canvas)
{
    (void)canvas;
    ck_assert_uint_gt(witness.depth, 0);
    witness.depth--;
}

static void see_rect(struct canvas *canvas, struct box box, struct colour colour)
{
    (void)canvas, (void)colour;
    check_inside(box, "a rectangle");
}

static void see_table(struct canvas *canvas, struct box box, const struct pen *pen)
{
    (void)canvas, (void)pen;
    check_inside(box, "a table");
}

static void see_strokes(struct canvas *canvas, const struct stroke *strokes, size_t count,
                        bool straight, const struct pen *pen)
{
    (void)canvas;
    ck_assert_double_gt(pen->width, 0);
    *(straight ? &witness.hatch_count : &witness.stroke_count) += straight ? 1 : count;
    for (size_t i = 0; i < count; i++) {
        check_inside((struct box){strokes[i].from.x, strokes[i].from.y, 0, 0}, "a line");
        check_inside((struct box){strokes[i].to.x, strokes[i].to.y, 0, 0}, "a line");
    }
}

static void see_path(struct canvas *canvas, const struct point *points, size_t count,
                     const struct pen *pen)
{
    (void)canvas;
    ck_assert_double_gt(pen->width, 0);
    witness.path_count++;
    for (size_t i = 0; i < count; i++)
        check_inside((struct box){points[i].x, points[i].y, 0, 0}, "a path");
}

/* The box of a horizontal text, or the bounding box of a rotated one. */
static struct box box_of(struct point at, const struct font *text, double width)
{
    static const double before[] = {[ANCHOR_MIDDLE] = 0.5, [ANCHOR_END] = 1};
    double x = -before[text->anchor] * width;
    double radians = text->turn * 3.14159265 / 180;
    double size = 0.7 * text->size; /* above the baseline */
    double xs[2] = {1e9, -1e9};
    double ys[2] = {1e9, -1e9};
    for (int corner = 0; corner < 4; corner++) {
        double along = corner & 1 ? x + width : x;
        double up = corner & 2 ? -size : 0;
        double px = at.x + along * cos(radians) - up * sin(radians);
        double py = at.y + along * sin(radians) + up * cos(radians);
        xs[0] = fmin(xs[0], px), xs[1] = fmax(xs[1], px);
        ys[0] = fmin(ys[0], py), ys[1] = fmax(ys[1], py);
    }
    return (struct box){xs[0], ys[0], xs[1] - xs[0], ys[1] - ys[0]};
}

static void see_text(struct canvas *canvas, struct point at, const char *text,
                     const struct font *font)
{
    struct witness_text *seen = &witness.texts[witness.text_count++];
    (void)canvas;
    ck_assert_uint_lt(witness.text_count, WITNESS_TEXTS_MAX);
    ck_assert_double_ge(font->size, 5);
    snprintf(seen->text, WITNESS_TEXT_BYTES, "%s", text);
    seen->box = box_of(at, font, letters_width(text, font->size));
    seen->level = font->turn == 0;
    witness.inked |= font->colour.red == 255;
    check_inside(seen->box, text);
}

static void see_cells(struct canvas *canvas, struct box box, const struct cells *cells,
                      const struct ramp *ramp)
{
    (void)canvas, (void)ramp;
    check_inside(box, "cells");
    ck_assert_double_ge(box.width / (double)cells->columns, 0.37);
    witness.cell_count += cells->rows * cells->columns;
}

void canvas_witness_begin(double width, double height)
{
    witness = (struct canvas_witness){.canvas = {NULL, see_open, see_close, see_rect, see_table,
                                                 see_strokes, see_path, see_text, see_cells},
                                      .width = width,
                                      .height = height};
}

static bool overlap(const struct box *a, const struct box *b)
{
    return a->x + 0.01 < b->x + b->width && b->x + 0.01 < a->x + a->width &&
           a->y + 0.01 < b->y + b->height && b->y + 0.01 < a->y + a->height;
}

void canvas_witness_check(void)
{
    ck_assert_uint_eq(witness.depth, 0);
    for (size_t i = 0; i < witness.text_count; i++)
        for (size_t k = 0; k < i; k++) {
            const struct witness_text *a = &witness.texts[i];
            const struct witness_text *b = &witness.texts[k];
            ck_assert_msg(!a->level || !b->level || !overlap(&a->box, &b->box),
                          "'%s' stands on '%s'", a->text, b->text);
        }
}

size_t canvas_witness_texts(const char *text)
{
    size_t count = 0;
    for (size_t i = 0; i < witness.text_count; i++)
        count += strcmp(witness.texts[i].text, text) == 0;
    return count;
}
