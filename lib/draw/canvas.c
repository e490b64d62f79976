#include "draw/canvas.h"

#include <string.h>

static void draw_named(struct canvas *canvas, enum draw_verb verb, const char *name)
{
    struct draw_command command = {.verb = verb, .data = name, .data_size = strlen(name) + 1};
    canvas->draw(canvas, &command);
}

void canvas_open(struct canvas *canvas, const char *name)
{
    draw_named(canvas, DRAW_OPEN, name);
}

void canvas_close(struct canvas *canvas)
{
    draw_named(canvas, DRAW_CLOSE, "");
}

void canvas_rect(struct canvas *canvas, struct box box, struct colour colour)
{
    struct draw_command command = {.verb = DRAW_RECT, .box = box, .colour = colour};
    canvas->draw(canvas, &command);
}

void canvas_hatch(struct canvas *canvas, struct box box)
{
    struct draw_command command = {.verb = DRAW_HATCH, .box = box};
    canvas->draw(canvas, &command);
}

static void draw_with(struct canvas *canvas, const struct pen *pen, struct draw_command command)
{
    command.colour = pen->colour;
    command.line_width = pen->width;
    command.opacity = pen->opacity;
    canvas->draw(canvas, &command);
}

void canvas_frame(struct canvas *canvas, struct box box, const struct pen *pen)
{
    draw_with(canvas, pen, (struct draw_command){.verb = DRAW_FRAME, .box = box});
}

void canvas_strokes(struct canvas *canvas, const struct stroke *strokes, size_t count,
                    const struct pen *pen)
{
    draw_with(canvas, pen,
              (struct draw_command){
                  .verb = DRAW_STROKES, .data = strokes, .data_size = count * sizeof *strokes});
}

void canvas_path(struct canvas *canvas, const struct point *points, size_t count,
                 const struct pen *pen)
{
    draw_with(canvas, pen,
              (struct draw_command){
                  .verb = DRAW_PATH, .data = points, .data_size = count * sizeof *points});
}

struct draw_command draw_letters(enum draw_verb verb, const char *text,
                                 const struct lettering *lettering)
{
    return (struct draw_command){
        .verb = verb,
        .colour = lettering->colour,
        .size = lettering->size,
        .turn = lettering->turn,
        .anchor = lettering->anchor,
        .bold = lettering->bold,
        .data = text,
        .data_size = strlen(text) + 1,
    };
}

void canvas_text(struct canvas *canvas, struct point at, const char *text,
                 const struct lettering *lettering)
{
    struct draw_command command = draw_letters(DRAW_TEXT, text, lettering);
    command.at = at;
    canvas->draw(canvas, &command);
}

void canvas_cells(struct canvas *canvas, struct box box, const struct cells *cells,
                  const struct ramp *ramp)
{
    struct draw_command command = {
        .verb = DRAW_CELLS,
        .box = box,
        .rows = cells->rows,
        .columns = cells->columns,
        .ramp = ramp,
        .data = cells->levels,
        .data_size = cells->rows * cells->columns,
    };
    canvas->draw(canvas, &command);
}
