/* drawing.c: both sides of the process that draws. It is the same program, so that it is sent draw
 * commands as they are, with their data after them. Those that ask for something are answered; the
 * others are not, because most are drawn faster than an answer takes. */
#include "draw/drawing.h"

#include <string.h>

#include "base/heap.h"
#include "draw/cairo_canvas.h"
#include "draw/drawing_process.h"

enum { PIECE_BYTES = 16 * 1024 };

struct answer {
    struct err err; /* of no kind: done */
    double height;
    size_t size; /* of the picture, whose bytes follow */
};

/* --- there ------------------------------------------------------------------------------------ */

struct server {
    struct buf picture;
    struct cairo_canvas cairo;
    bool begun; /* a picture, and not refused */
    struct ramp ramp;
    void *data;
    size_t room; /* of the data */
    struct answer answer;
};

static void begin(struct server *server, const struct draw_command *command)
{
    const char *title = command->data;
    const char *font = title + strlen(title) + 1;
    const struct drawing_page page = {
        .width = command->width,
        .height = command->height,
        .title = title,
        .font = *font ? font : NULL,
        .dpi = command->dpi,
    };
    buf_clear(&server->picture);
    server->begun = !cairo_begin(&server->cairo, (enum drawing_form)command->form, &server->picture,
                                 &page, &server->answer.err);
}

static void end(struct server *server)
{
    if (!cairo_end(&server->cairo, &server->answer.err) &&
        !buf_check(&server->picture, &server->answer.err))
        server->answer.size = server->picture.size;
    server->begun = false;
}

/* False when there is no memory for them: the end of the process says so. */
static bool read_data(struct server *server, struct draw_command *command)
{
    if (command->data_size > server->room) {
        void *grown = heap_resize(server->data, command->data_size, 1, NULL);
        server->data = grown ? grown : server->data;
        server->room = grown ? command->data_size : server->room;
    }
    bool has_ramp = command->ramp != NULL;
    command->data = server->data;
    command->ramp = &server->ramp;
    return command->data_size <= server->room &&
           drawing_process_read(server->data, command->data_size) &&
           (!has_ramp || drawing_process_read(&server->ramp, sizeof server->ramp));
}

static bool serve_one(struct server *server)
{
    struct draw_command command;
    enum draw_verb verb;
    if (!drawing_process_read(&command, sizeof command) || !read_data(server, &command))
        return false;
    verb = command.verb;
    drawing_process_progress();
    if (verb == DRAW_LOAD)
        cairo_library_load(&server->answer.err);
    else if (verb == DRAW_BEGIN)
        begin(server, &command);
    else if (verb == DRAW_END && server->begun)
        end(server);
    else if (verb == DRAW_HEIGHT && server->begun)
        server->answer.height = cairo_text_height(&server->cairo, &command);
    else if (server->begun)
        server->cairo.canvas.draw(&server->cairo.canvas, &command);
    if (verb != DRAW_LOAD && verb != DRAW_BEGIN && verb != DRAW_END && verb != DRAW_HEIGHT)
        return true;
    bool answered = drawing_process_answer(&server->answer, sizeof server->answer) &&
                    drawing_process_answer(server->picture.bytes, server->answer.size);
    server->answer = (struct answer){0};
    return answered;
}

static void serve(void)
{
    static struct server server;
    heap_fail_at(0, 0); /* the faults of tests are meant for the process that plans them */
    while (serve_one(&server))
        ;
}

/* --- here ------------------------------------------------------------------------------------- */

static struct drawing_process process; /* for all pictures, from the first on */

static void send(struct canvas *canvas, const struct draw_command *command)
{
    struct drawing *to = (struct drawing *)canvas; /* it begins with the canvas */
    if (to->failed || command->verb == DRAW_OPEN || command->verb == DRAW_CLOSE)
        return;
    drawing_process_send(&process, command, sizeof *command);
    drawing_process_send(&process, command->data, command->data_size);
    if (command->ramp)
        drawing_process_send(&process, command->ramp, sizeof *command->ramp);
}

/* The bytes of a picture, from there to its stream. */
static void pass_on(struct drawing *drawing, size_t size)
{
    char bytes[PIECE_BYTES];
    while (size > 0 && !drawing->failed) {
        size_t piece = size < sizeof bytes ? size : sizeof bytes;
        drawing->failed = drawing_process_receive(&process, bytes, piece, &drawing->err);
        if (!drawing->failed)
            stream_bytes(drawing->canvas.out, bytes, piece);
        size -= piece;
    }
}

/* Send, and wait for the answer; the first error stays. */
static double ask(struct drawing *drawing, const struct draw_command *command)
{
    struct answer answer;
    send(&drawing->canvas, command);
    if (drawing->failed)
        return 0;
    drawing->failed = drawing_process_receive(&process, &answer, sizeof answer, &drawing->err);
    if (drawing->failed)
        return 0;
    if (answer.err.kind)
        err_adopt(&drawing->err, &answer.err);
    pass_on(drawing, answer.size);
    return answer.height;
}

/* Ask for a picture, or whether there can be one: what went wrong so far. */
static int demand(struct drawing *drawing, const struct draw_command *command, struct err *err)
{
    if (!process.pid && command->verb != DRAW_END && drawing_process_start(&process, serve, err))
        return -1;
    ask(drawing, command);
    return drawing->err.kind ? err_adopt(err, &drawing->err) : 0;
}

static int demand_page(struct drawing *drawing, const struct drawing_page *page, struct err *err)
{
    struct buf texts = {0};
    buf_bytes(&texts, page->title, strlen(page->title) + 1);
    buf_text(&texts, page->font ? page->font : "");
    const struct draw_command command = {
        .verb = DRAW_BEGIN,
        .form = (int)drawing->form,
        .width = page->width,
        .height = page->height,
        .dpi = page->dpi,
        .data = texts.bytes,
        .data_size = texts.size + 1,
    };
    int failed = buf_check(&texts, err) || demand(drawing, &command, err);
    buf_release(&texts);
    return failed ? -1 : 0;
}

int drawing_check(struct err *err)
{
    struct drawing drawing = {0};
    return demand(&drawing, &(struct draw_command){.verb = DRAW_LOAD}, err);
}

int drawing_begin(struct drawing *drawing, enum drawing_form form, struct stream *out,
                  const struct drawing_page *page, struct err *err)
{
    *drawing = (struct drawing){.canvas = {send, out}, .form = form};
    if (form == DRAWING_SVG || form == DRAWING_TEX) {
        (form == DRAWING_SVG ? svg_begin : tex_begin)(&drawing->canvas, out, page);
        return 0;
    }
    stream_binary(out);
    return demand_page(drawing, page, err);
}

int drawing_end(struct drawing *drawing, struct err *err)
{
    if (drawing->form != DRAWING_SVG && drawing->form != DRAWING_TEX)
        return demand(drawing, &(struct draw_command){.verb = DRAW_END}, err);
    (drawing->form == DRAWING_SVG ? svg_end : tex_end)(&drawing->canvas);
    return 0;
}

void drawing_turn_page(struct drawing *drawing)
{
    send(&drawing->canvas, &(struct draw_command){.verb = DRAW_TURN_PAGE});
}

void drawing_markup(struct drawing *drawing, struct point at, const char *markup,
                    const struct lettering *lettering)
{
    struct draw_command command = draw_letters(DRAW_MARKUP, markup, lettering);
    command.at = at;
    send(&drawing->canvas, &command);
}

double drawing_height(struct drawing *drawing, const char *markup, double width,
                      const struct lettering *lettering)
{
    struct draw_command command = draw_letters(DRAW_HEIGHT, markup, lettering);
    command.width = width;
    return ask(drawing, &command);
}

void drawing_paragraph(struct drawing *drawing, struct point at, const char *markup, double width,
                       const struct lettering *lettering)
{
    struct draw_command command = draw_letters(DRAW_PARAGRAPH, markup, lettering);
    command.at = at;
    command.width = width;
    send(&drawing->canvas, &command);
}
