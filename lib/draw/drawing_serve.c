/* drawing_serve.c: orders to draw, carried out by cairo and pango, in a process of their own. */
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "draw/cairo_text.h"
#include "draw/drawing_order.h"
#include "draw/drawing_process.h"

struct server {
    struct stream out;
    struct cairo_canvas cairo;
    bool begun; /* a picture, and not refused */
    struct ramp ramp;
    void *payload;
    size_t room; /* of the payload */
    struct drawing_answer answer;
};

static void begin(struct server *server, const struct drawing_order *order)
{
    const struct cairo_page page = {order->width, order->height, server->payload};
    server->begun =
        !cairo_begin(&server->cairo, order->form, &server->out, &page, &server->answer.err);
}

static void end(struct server *server)
{
    int failed = cairo_end(&server->cairo, &server->answer.err);
    stream_flush(&server->out);
    if (!failed && server->out.failure)
        err_output(&server->answer.err, "cannot hand the picture on: %s",
                   strerror(server->out.failure));
    server->begun = false;
}

static void draw_cells(struct server *server, const struct drawing_order *order)
{
    struct cells cells = {
        .rows = order->rows, .columns = order->columns, .levels = server->payload};
    canvas_cells(&server->cairo.canvas, order->box, &cells, &server->ramp);
}

static void draw(struct server *server, const struct drawing_order *order)
{
    struct cairo_canvas *cairo = &server->cairo;
    struct canvas *canvas = &cairo->canvas;
    const void *payload = server->payload;
    const struct pen pen = {order->colour, order->line_width, order->opacity};
    const struct lettering letters = {order->size, order->colour, order->anchor, order->turn,
                                      order->bold};
    switch (order->verb) {
    case DRAWING_LOAD:
    case DRAWING_BEGIN:
    case DRAWING_RAMP:
        break;
    case DRAWING_TURN_PAGE:
        cairo_turn_page(cairo);
        break;
    case DRAWING_END:
        end(server);
        break;
    case DRAWING_RECT:
        canvas_rect(canvas, order->box, order->colour);
        break;
    case DRAWING_HATCH:
        canvas_hatch(canvas, order->box);
        break;
    case DRAWING_FRAME:
        canvas_frame(canvas, order->box, &pen);
        break;
    case DRAWING_STROKES:
        canvas_strokes(canvas, payload, order->payload / sizeof(struct stroke), &pen);
        break;
    case DRAWING_PATH:
        canvas_path(canvas, payload, order->payload / sizeof(struct point), &pen);
        break;
    case DRAWING_TEXT:
        canvas_text(canvas, order->at, payload, &letters);
        break;
    case DRAWING_MARKUP:
        cairo_text_markup(cairo, order->at, payload, &letters);
        break;
    case DRAWING_PARAGRAPH:
        cairo_text_paragraph(cairo, order->at, payload, order->width, &letters);
        break;
    case DRAWING_HEIGHT:
        server->answer.height = cairo_text_height(cairo, payload, order->width, &letters);
        break;
    case DRAWING_CELLS:
        draw_cells(server, order);
        break;
    }
}

/* False when there is no memory for it: the end of the process says so. */
static bool read_payload(struct server *server, size_t size)
{
    if (size > server->room) {
        void *grown = heap_resize(server->payload, size, 1, NULL);
        server->payload = grown ? grown : server->payload;
        server->room = grown ? size : server->room;
    }
    return size <= server->room && drawing_process_read(server->payload, size);
}

static bool is_answered(enum drawing_verb verb)
{
    return verb == DRAWING_LOAD || verb == DRAWING_BEGIN || verb == DRAWING_END ||
           verb == DRAWING_HEIGHT;
}

static bool serve_one(struct server *server)
{
    struct drawing_order order;
    if (!drawing_process_read(&order, sizeof order) || !read_payload(server, order.payload))
        return false;
    drawing_process_progress();
    if (order.verb == DRAWING_LOAD)
        cairo_library_load(&server->answer.err);
    else if (order.verb == DRAWING_RAMP)
        memcpy(&server->ramp, server->payload, sizeof server->ramp);
    else if (order.verb == DRAWING_BEGIN)
        begin(server, &order);
    else if (server->begun)
        draw(server, &order);
    if (!is_answered(order.verb))
        return true;
    bool answered = drawing_process_answer(&server->answer, sizeof server->answer);
    server->answer = (struct drawing_answer){0};
    return answered;
}

void drawing_serve(void)
{
    static struct server server;
    heap_fail_at(0, 0); /* the faults of tests are meant for the process that plans them */
    if (stream_to(&server.out, STDOUT_FILENO, NULL))
        return;
    while (serve_one(&server))
        ;
}
