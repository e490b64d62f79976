#include "draw/drawing.h"

#include <string.h>

#include "draw/drawing_order.h"
#include "draw/drawing_process.h"

static struct drawing_process process; /* for all pictures, from the first on */

static struct drawing *own(struct canvas *canvas)
{
    return (struct drawing *)canvas; /* it begins with the canvas */
}

static void send(struct drawing *to, struct drawing_order *order, const void *payload, size_t size)
{
    order->payload = size;
    if (to->failed)
        return;
    drawing_process_send(&process, order, sizeof *order, to->out);
    drawing_process_send(&process, payload, size, to->out);
}

static void send_text(struct drawing *to, struct drawing_order *order, const char *text)
{
    send(to, order, text, strlen(text) + 1);
}

static void take_pen(struct drawing_order *order, const struct pen *pen)
{
    order->colour = pen->colour;
    order->line_width = pen->width;
    order->opacity = pen->opacity;
}

static void take_lettering(struct drawing_order *order, const struct lettering *lettering)
{
    order->colour = lettering->colour;
    order->size = lettering->size;
    order->turn = lettering->turn;
    order->anchor = lettering->anchor;
    order->bold = lettering->bold;
}

/* The answer to what was sent last; the first error stays. */
static double receive(struct drawing *to)
{
    struct drawing_answer answer;
    if (to->failed)
        return 0;
    to->failed = drawing_process_receive(&process, &answer, sizeof answer, to->out, &to->err);
    if (!to->failed && answer.err.kind)
        err_adopt(&to->err, &answer.err);
    return to->failed ? 0 : answer.height;
}

/* --- the canvas ------------------------------------------------------------------------------- */

static void no_name(struct canvas *canvas, const char *name)
{
    (void)canvas, (void)name;
}

static void no_end(struct canvas *canvas)
{
    (void)canvas;
}

static void draw_rect(struct canvas *canvas, struct box box, struct colour colour)
{
    struct drawing_order order = {.verb = DRAWING_RECT, .box = box, .colour = colour};
    send(own(canvas), &order, NULL, 0);
}

static void draw_hatch(struct canvas *canvas, struct box box)
{
    struct drawing_order order = {.verb = DRAWING_HATCH, .box = box};
    send(own(canvas), &order, NULL, 0);
}

static void draw_frame(struct canvas *canvas, struct box box, const struct pen *pen)
{
    struct drawing_order order = {.verb = DRAWING_FRAME, .box = box};
    take_pen(&order, pen);
    send(own(canvas), &order, NULL, 0);
}

static void draw_strokes(struct canvas *canvas, const struct stroke *strokes, size_t count,
                         const struct pen *pen)
{
    struct drawing_order order = {.verb = DRAWING_STROKES};
    take_pen(&order, pen);
    send(own(canvas), &order, strokes, count * sizeof *strokes);
}

static void draw_path(struct canvas *canvas, const struct point *points, size_t count,
                      const struct pen *pen)
{
    struct drawing_order order = {.verb = DRAWING_PATH};
    take_pen(&order, pen);
    send(own(canvas), &order, points, count * sizeof *points);
}

static void draw_text(struct canvas *canvas, struct point at, const char *text,
                      const struct lettering *lettering)
{
    struct drawing_order order = {.verb = DRAWING_TEXT, .at = at};
    take_lettering(&order, lettering);
    send_text(own(canvas), &order, text);
}

static void draw_cells(struct canvas *canvas, struct box box, const struct cells *cells,
                       const struct ramp *ramp)
{
    struct drawing_order colours = {.verb = DRAWING_RAMP};
    struct drawing_order order = {
        .verb = DRAWING_CELLS, .box = box, .rows = cells->rows, .columns = cells->columns};
    send(own(canvas), &colours, ramp, sizeof *ramp);
    send(own(canvas), &order, cells->levels, cells->rows * cells->columns);
}

static const struct canvas_form drawing_form = {
    .open = no_name,
    .close = no_end,
    .rect = draw_rect,
    .hatch = draw_hatch,
    .frame = draw_frame,
    .strokes = draw_strokes,
    .path = draw_path,
    .text = draw_text,
    .cells = draw_cells,
};

/* --- texts ------------------------------------------------------------------------------------ */

void drawing_markup(struct drawing *drawing, struct point at, const char *markup,
                    const struct lettering *lettering)
{
    struct drawing_order order = {.verb = DRAWING_MARKUP, .at = at};
    take_lettering(&order, lettering);
    send_text(drawing, &order, markup);
}

double drawing_height(struct drawing *drawing, const char *markup, double width,
                      const struct lettering *lettering)
{
    struct drawing_order order = {.verb = DRAWING_HEIGHT, .width = width};
    take_lettering(&order, lettering);
    send_text(drawing, &order, markup);
    return receive(drawing);
}

void drawing_paragraph(struct drawing *drawing, struct point at, const char *markup, double width,
                       const struct lettering *lettering)
{
    struct drawing_order order = {.verb = DRAWING_PARAGRAPH, .at = at, .width = width};
    take_lettering(&order, lettering);
    send_text(drawing, &order, markup);
}

/* --- pictures --------------------------------------------------------------------------------- */

/* What went wrong so far; then the process is as good as new. */
static int check(const struct drawing *drawing, struct err *err)
{
    return drawing->err.kind ? err_adopt(err, &drawing->err) : 0;
}

int drawing_check(struct err *err)
{
    struct drawing drawing = {0};
    struct drawing_order order = {.verb = DRAWING_LOAD};
    if (!process.pid && drawing_process_start(&process, drawing_serve, err))
        return -1;
    send(&drawing, &order, NULL, 0);
    receive(&drawing);
    return check(&drawing, err);
}

int drawing_begin(struct drawing *drawing, enum cairo_form form, struct stream *out,
                  const struct cairo_page *page, struct err *err)
{
    struct drawing_order order = {
        .verb = DRAWING_BEGIN, .form = form, .width = page->width, .height = page->height};
    *drawing = (struct drawing){.canvas = {&drawing_form}, .out = out};
    stream_binary(out);
    if (!process.pid && drawing_process_start(&process, drawing_serve, err))
        return -1;
    send_text(drawing, &order, page->title);
    receive(drawing);
    return check(drawing, err);
}

void drawing_turn_page(struct drawing *drawing)
{
    struct drawing_order order = {.verb = DRAWING_TURN_PAGE};
    send(drawing, &order, NULL, 0);
}

int drawing_end(struct drawing *drawing, struct err *err)
{
    struct drawing_order order = {.verb = DRAWING_END};
    send(drawing, &order, NULL, 0);
    receive(drawing);
    return check(drawing, err);
}
