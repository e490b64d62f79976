#include "draw/cairo_canvas.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "draw/drawing_process.h"

enum { USUAL_DPI = 192 };

enum { LARGEST = 32000 }; /* pixels: cairo's images end there */
static const double ROUNDING = 1e-6;

static void set_colour(struct cairo_canvas *to, struct colour colour, double opacity)
{
    to->lib->cairo_set_source_rgba(to->cairo, colour.red / 255.0, colour.green / 255.0,
                                   colour.blue / 255.0, opacity);
}

static void take_pen(struct cairo_canvas *to, const struct draw_command *command)
{
    set_colour(to, command->colour, command->opacity);
    to->lib->cairo_set_line_width(to->cairo, command->line_width);
}

static void add_box(struct cairo_canvas *to, struct box box)
{
    to->lib->cairo_rectangle(to->cairo, box.x, box.y, box.width, box.height);
}

static void fill_box(struct cairo_canvas *to, struct box box, struct colour colour)
{
    set_colour(to, colour, 1);
    add_box(to, box);
    to->lib->cairo_fill(to->cairo);
}

static void draw_hatch(struct cairo_canvas *to, struct box box)
{
    const struct cairo_library *lib = to->lib;
    double step = CANVAS_HATCH_PITCH * sqrt(2);
    fill_box(to, box, colour_of_hex(CANVAS_HATCH_GROUND));
    lib->cairo_save(to->cairo);
    add_box(to, box);
    lib->cairo_clip(to->cairo);
    for (double x = box.x; x < box.x + box.width + box.height; x += step) {
        lib->cairo_move_to(to->cairo, x, box.y);
        lib->cairo_line_to(to->cairo, x - box.height, box.y + box.height);
    }
    set_colour(to, colour_of_hex(CANVAS_HATCH_LINE), 1);
    lib->cairo_set_line_width(to->cairo, CANVAS_HATCH_WIDTH);
    lib->cairo_stroke(to->cairo);
    lib->cairo_restore(to->cairo);
}

static void draw_strokes(struct cairo_canvas *to, const struct draw_command *command)
{
    const struct stroke *strokes = command->data;
    bool opaque = command->opacity >= 1; /* one by one, which is faster and looks the same */
    take_pen(to, command);
    for (size_t i = 0; i < command->data_size / sizeof *strokes; i++) {
        struct point a = strokes[i].from;
        struct point b = strokes[i].to;
        double middle = (a.x + b.x) / 2;
        to->lib->cairo_move_to(to->cairo, a.x, a.y);
        to->lib->cairo_curve_to(to->cairo, middle, a.y, middle, b.y, b.x, b.y);
        if (opaque)
            to->lib->cairo_stroke(to->cairo);
    }
    if (!opaque)
        to->lib->cairo_stroke(to->cairo);
}

static void draw_path(struct cairo_canvas *to, const struct draw_command *command)
{
    const struct point *points = command->data;
    take_pen(to, command);
    for (size_t i = 0; i < command->data_size / sizeof *points; i++)
        (i ? to->lib->cairo_line_to : to->lib->cairo_move_to)(to->cairo, points[i].x, points[i].y);
    to->lib->cairo_stroke(to->cairo);
}

/* --- texts ------------------------------------------------------------------------------------ */

/* Give the layout a text: as it is, or in markup, in lines of at most `width`; -1: in one. */
static void set_text(struct cairo_canvas *to, const struct draw_command *command, double width)
{
    const struct cairo_library *lib = to->lib;
    int size = (int)strlen(command->data);
    lib->pango_font_description_set_absolute_size(to->font, command->size * PANGO_UNITS);
    lib->pango_font_description_set_weight(to->font, command->bold ? PANGO_BOLD : 400);
    lib->pango_layout_set_font_description(to->layout, to->font);
    if (command->verb == DRAW_TEXT)
        lib->pango_layout_set_text(to->layout, command->data, size);
    else
        lib->pango_layout_set_markup(to->layout, command->data, size);
    if (width >= 0)
        lib->pango_layout_set_width(to->layout, (int)(width * PANGO_UNITS));
}

/* What markup leaves would go for plain texts, too. */
static void forget_markup(struct cairo_canvas *to)
{
    to->lib->pango_layout_set_markup(to->layout, "", 0);
    to->lib->pango_layout_set_width(to->layout, -1);
}

/* The layout's base line goes through the point. */
static void draw_line(struct cairo_canvas *to, const struct draw_command *command)
{
    static const double before[] = {[ANCHOR_MIDDLE] = 0.5, [ANCHOR_END] = 1};
    const struct cairo_library *lib = to->lib;
    int width = 0;
    int height = 0;
    set_text(to, command, -1);
    lib->pango_layout_get_size(to->layout, &width, &height);
    lib->cairo_save(to->cairo);
    lib->cairo_translate(to->cairo, command->at.x, command->at.y);
    lib->cairo_rotate(to->cairo, command->turn * 3.14159265358979 / 180);
    lib->cairo_move_to(to->cairo, -before[command->anchor] * width / PANGO_UNITS,
                       -(double)lib->pango_layout_get_baseline(to->layout) / PANGO_UNITS);
    set_colour(to, command->colour, 1);
    lib->pango_cairo_show_layout(to->cairo, to->layout);
    lib->cairo_restore(to->cairo);
    if (command->verb == DRAW_MARKUP)
        forget_markup(to);
}

static void draw_paragraph(struct cairo_canvas *to, const struct draw_command *command)
{
    set_text(to, command, command->width);
    to->lib->cairo_move_to(to->cairo, command->at.x, command->at.y);
    set_colour(to, command->colour, 1);
    to->lib->pango_cairo_show_layout(to->cairo, to->layout);
    forget_markup(to);
}

double cairo_text_height(struct cairo_canvas *to, const struct draw_command *command)
{
    int across = 0;
    int down = 0;
    set_text(to, command, command->width);
    to->lib->pango_layout_get_size(to->layout, &across, &down);
    forget_markup(to);
    return (double)down / PANGO_UNITS;
}

/* --- cells ------------------------------------------------------------------------------------ */

/* Viewers of PDF smooth every edge, and white shines through between neighbours: so cells reach a
 * bit below those that are drawn after them. */
static void draw_shapes(struct cairo_canvas *to, const struct draw_command *cells, size_t row)
{
    static const double lap = 0.15;
    const unsigned char *levels = (const unsigned char *)cells->data + row * cells->columns;
    struct box box = cells->box;
    double width = box.width / (double)cells->columns;
    double height = box.height / (double)cells->rows;
    for (size_t first = 0, end = 0; first < cells->columns; first = end) {
        while (end < cells->columns && levels[end] == levels[first])
            end++;
        if (levels[first] == 0)
            continue;
        bool beside = end < cells->columns && levels[end];
        bool below = row + 1 < cells->rows && /* all cells below are there */
                     !memchr(levels + cells->columns + first, 0, end - first);
        struct box run = {box.x + (double)first * width, box.y + (double)row * height,
                          (double)(end - first) * width + (beside ? lap : 0),
                          height + (below ? lap : 0)};
        fill_box(to, run, cells->ramp->colours[levels[first]]);
    }
}

/* The whole pixels from one edge of a cell to the next. */
struct stretch {
    long first, end;
};

/* Never beyond the image. */
static struct stretch stretch_of(double start, double pitch, size_t index, long most)
{
    long first = lround(start + pitch * (double)index);
    long end = lround(start + pitch * (double)(index + 1));
    return (struct stretch){first < 0 ? 0 : first, end > most ? most : end};
}

static void fill_pixels(unsigned char *pixels, size_t stride, struct stretch x, struct stretch y,
                        struct colour colour)
{
    uint32_t pixel =
        0xff000000U | (uint32_t)colour.red << 16 | (uint32_t)colour.green << 8 | colour.blue;
    for (long row = y.first; row < y.end; row++)
        for (long column = x.first; column < x.end; column++)
            memcpy(pixels + (size_t)row * stride + 4 * (size_t)column, &pixel, sizeof pixel);
}

/* An image's cells are whole pixels, and faster written than drawn. */
static void draw_pixels(struct cairo_canvas *to, const struct draw_command *cells)
{
    const unsigned char *levels = cells->data;
    struct box box = cells->box;
    double width = to->pixels * box.width / (double)cells->columns;
    double height = to->pixels * box.height / (double)cells->rows;
    to->lib->cairo_surface_flush(to->surface);
    unsigned char *pixels = to->lib->cairo_image_surface_get_data(to->surface);
    size_t stride = (size_t)to->lib->cairo_image_surface_get_stride(to->surface);
    for (size_t i = 0; i < cells->rows * cells->columns && pixels; i++)
        if (levels[i])
            fill_pixels(pixels, stride,
                        stretch_of(to->pixels * box.x, width, i % cells->columns, to->across),
                        stretch_of(to->pixels * box.y, height, i / cells->columns, to->down),
                        cells->ramp->colours[levels[i]]);
    to->lib->cairo_surface_mark_dirty(to->surface);
}

static void draw_cells(struct cairo_canvas *to, const struct draw_command *cells)
{
    if (to->form == DRAWING_PNG) {
        draw_pixels(to, cells);
        return;
    }
    for (size_t row = 0; row < cells->rows; row++)
        draw_shapes(to, cells, row);
}

/* --- pictures --------------------------------------------------------------------------------- */

static void draw(struct canvas *canvas, const struct draw_command *command)
{
    struct cairo_canvas *to = (struct cairo_canvas *)canvas; /* it begins with the canvas */
    enum draw_verb verb = command->verb;
    if (verb == DRAW_RECT) {
        fill_box(to, command->box, command->colour);
    } else if (verb == DRAW_HATCH) {
        draw_hatch(to, command->box);
    } else if (verb == DRAW_FRAME) {
        take_pen(to, command);
        add_box(to, command->box);
        to->lib->cairo_stroke(to->cairo);
    } else if (verb == DRAW_STROKES) {
        draw_strokes(to, command);
    } else if (verb == DRAW_PATH) {
        draw_path(to, command);
    } else if (verb == DRAW_TEXT || verb == DRAW_MARKUP) {
        draw_line(to, command);
    } else if (verb == DRAW_PARAGRAPH) {
        draw_paragraph(to, command);
    } else if (verb == DRAW_CELLS) {
        draw_cells(to, command);
    } else if (verb == DRAW_TURN_PAGE) {
        to->lib->cairo_show_page(to->cairo);
    }
}

enum { PNG_HEADER_BYTES = 33 }; /* its signature and its first chunk */

/* How many pixels are an inch: a chunk that cairo does not write. */
static void add_density(struct cairo_canvas *to)
{
    uint32_t density = (uint32_t)lround((double)to->dpi / 0.0254); /* of a metre */
    unsigned char chunk[] = {0, 0, 0, 9, 'p', 'H', 'Y', 's', 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0};
    uint32_t crc = 0xffffffffU;
    for (int i = 0; i < 8; i++)
        chunk[8 + i] = (unsigned char)(density >> (24 - 8 * (i % 4)));
    for (int i = 4; i < 17; i++) {
        crc ^= chunk[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320U : 0);
    }
    for (int i = 0; i < 4; i++)
        chunk[17 + i] = (unsigned char)(~crc >> (24 - 8 * i));
    buf_bytes(to->out, chunk, sizeof chunk);
}

static unsigned write_bytes(void *closure, const unsigned char *data, unsigned length)
{
    struct cairo_canvas *to = closure;
    drawing_process_progress(); /* a large one takes long */
    buf_bytes(to->out, data, length);
    if (to->form == DRAWING_PNG && to->out->size == PNG_HEADER_BYTES)
        add_density(to);
    return to->out->out_of_memory ? CAIRO_WRITE_FAILED : 0;
}

static void open_pdf(struct cairo_canvas *to, const struct drawing_page *page)
{
    to->surface =
        to->lib->cairo_pdf_surface_create_for_stream(write_bytes, to, page->width, page->height);
    to->lib->cairo_pdf_surface_set_metadata(to->surface, CAIRO_TITLE, page->title);
    /* The same input gives the same bytes: not the time of day. */
    to->lib->cairo_pdf_surface_set_metadata(to->surface, CAIRO_CREATION_DATE, "");
}

static int open_png(struct cairo_canvas *to, const struct drawing_page *page, struct err *err)
{
    double width = ceil(page->width * to->pixels - ROUNDING);
    double height = ceil(page->height * to->pixels - ROUNDING);
    to->across = (long)width;
    to->down = (long)height;
    if (fmax(width, height) > LARGEST)
        return err_output(err,
                          "--format png: expected at most %d pixels a side, found %.0f: choose "
                          "fewer layers or heads, or write svg or pdf",
                          LARGEST, fmax(width, height));
    to->surface = to->lib->cairo_image_surface_create(CAIRO_RGB24, (int)width, (int)height);
    return 0;
}

static void give_back(struct cairo_canvas *to)
{
    to->lib->pango_font_description_free(to->font);
    to->lib->g_object_unref(to->layout);
    to->lib->cairo_destroy(to->cairo);
    to->lib->cairo_surface_destroy(to->surface);
}

int cairo_begin(struct cairo_canvas *to, enum drawing_form form, struct buf *out,
                const struct drawing_page *page, struct err *err)
{
    *to = (struct cairo_canvas){.canvas = {draw, NULL}, .out = out, .form = form};
    to->lib = cairo_library_load(err);
    if (!to->lib)
        return -1;
    to->dpi = page->dpi ? page->dpi : USUAL_DPI;
    to->pixels = (double)to->dpi / 72;
    if (form == DRAWING_PNG && open_png(to, page, err))
        return -1;
    cairo_library_check(NULL); /* not what was said of another picture */
    if (form == DRAWING_PDF)
        open_pdf(to, page);
    to->cairo = to->lib->cairo_create(to->surface);
    if (form == DRAWING_PNG)
        to->lib->cairo_scale(to->cairo, to->pixels, to->pixels);
    if (cairo_letters_open(to, page->font, err)) {
        give_back(to);
        return -1;
    }
    struct box all = {0, 0, page->width + 1, page->height + 1}; /* the last pixels, too */
    fill_box(to, all, colour_of_hex(0xffffff));
    return 0;
}

int cairo_end(struct cairo_canvas *to, struct err *err)
{
    unsigned status = to->lib->cairo_status(to->cairo);
    if (!status && to->form == DRAWING_PNG)
        status = to->lib->cairo_surface_write_to_png_stream(to->surface, write_bytes, to);
    to->lib->cairo_surface_finish(to->surface);
    if (!status)
        status = to->lib->cairo_surface_status(to->surface);
    give_back(to);
    if (cairo_library_check(err))
        return -1;
    if (status && !to->out->out_of_memory)
        return err_output(err, "cairo cannot draw the picture: %s",
                          to->lib->cairo_status_to_string(status));
    return 0;
}
