#include "canvas_witness.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/canvas.h"

struct canvas_witness witness;

static void check_inside(struct box box, const char *what)
{
    bool inside = box.x >= -0.01 && box.y >= -0.01 && box.x + box.width <= witness.width + 0.01 &&
                  box.y + box.height <= witness.height + 0.01;
    ck_assert_msg(inside, "%s at %g %g, %g x %g, of a picture of %g x %g", what, box.x, box.y,
                  box.width, box.height, witness.width, witness.height);
}

static void see_strokes(const struct stroke *strokes, size_t count)
{
    witness.stroke_count += count;
    for (size_t i = 0; i < count; i++) {
        check_inside((struct box){strokes[i].from.x, strokes[i].from.y, 0, 0}, "a line");
        check_inside((struct box){strokes[i].to.x, strokes[i].to.y, 0, 0}, "a line");
    }
}

static void see_path(const struct point *points, size_t count)
{
    witness.path_count++;
    for (size_t i = 0; i < count; i++)
        check_inside((struct box){points[i].x, points[i].y, 0, 0}, "a path");
}

/* The box of a level text, or the corner points of a turned one. */
static struct box box_of(const struct draw_command *text, double width)
{
    static const double before[] = {[ANCHOR_MIDDLE] = 0.5, [ANCHOR_END] = 1};
    double x = -before[text->anchor] * width;
    double radians = text->turn * 3.14159265 / 180;
    double size = 0.7 * text->size; /* above the base line */
    double xs[2] = {1e9, -1e9};
    double ys[2] = {1e9, -1e9};
    for (int corner = 0; corner < 4; corner++) {
        double along = corner & 1 ? x + width : x;
        double up = corner & 2 ? -size : 0;
        double px = text->at.x + along * cos(radians) - up * sin(radians);
        double py = text->at.y + along * sin(radians) + up * cos(radians);
        xs[0] = fmin(xs[0], px), xs[1] = fmax(xs[1], px);
        ys[0] = fmin(ys[0], py), ys[1] = fmax(ys[1], py);
    }
    return (struct box){xs[0], ys[0], xs[1] - xs[0], ys[1] - ys[0]};
}

static void see_text(const struct draw_command *text)
{
    struct witness_text *seen = &witness.texts[witness.text_count++];
    ck_assert_uint_lt(witness.text_count, WITNESS_TEXTS_MAX);
    ck_assert_double_ge(text->size, 5);
    snprintf(seen->text, WITNESS_TEXT_BYTES, "%s", (const char *)text->data);
    seen->box = box_of(text, letters_width(text->data, text->size));
    seen->level = text->turn == 0;
    witness.inked |= text->colour.red == 255;
    check_inside(seen->box, text->data);
}

static void see(struct canvas *canvas, const struct draw_command *command)
{
    ck_assert_ptr_eq(canvas, &witness.canvas);
    switch (command->verb) {
    case DRAW_OPEN:
        ck_assert_str_ne(command->data, "");
        witness.depth++;
        witness.part_count++;
        break;
    case DRAW_CLOSE:
        ck_assert_uint_gt(witness.depth, 0);
        witness.depth--;
        break;
    case DRAW_RECT:
        check_inside(command->box, "a rectangle");
        break;
    case DRAW_FRAME:
        check_inside(command->box, "a frame");
        break;
    case DRAW_STROKES:
    case DRAW_LINES:
        ck_assert_double_gt(command->line_width, 0);
        witness.hatch_count += command->verb == DRAW_LINES;
        see_strokes(command->data, command->data_size / sizeof(struct stroke));
        break;
    case DRAW_PATH:
        ck_assert_double_gt(command->line_width, 0);
        see_path(command->data, command->data_size / sizeof(struct point));
        break;
    case DRAW_TEXT:
        see_text(command);
        break;
    case DRAW_CELLS:
        check_inside(command->box, "cells");
        ck_assert_double_ge(command->box.width / (double)command->columns, 0.37);
        witness.cell_count += command->data_size;
        break;
    default:
        ck_abort_msg("a command that no figure has: %d", (int)command->verb);
    }
}

void canvas_witness_begin(double width, double height)
{
    witness = (struct canvas_witness){.canvas = {.draw = see}, .width = width, .height = height};
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
