#include "draw/loglog.h"

#include <math.h>
#include <stdio.h>

enum { NUMBER_BYTES = 32, TICKS_MAX = 6 };

static const double MARGIN = 12, TITLE_ROOM = 15;
static const double PANEL_WIDTH = 170, PANEL_HEIGHT = 150;
static const double PANEL_TITLE = 14, LEFT = 40, BELOW = 24, GAP = 10;
static const double TICK = 2.5, MARK = 3.2, NAME_HEIGHT = 9;

static const struct lettering plot_title = {.size = 9.5, .colour = {0, 0, 0}, .bold = true};
static const struct lettering panel_title = {.size = 7, .colour = {0x11, 0x11, 0x11}};
static const struct lettering number = {.size = 6, .colour = {0x33, 0x33, 0x33}};
static const struct lettering name = {.size = 6.5, .colour = {0x11, 0x11, 0x11}};
static const struct pen border = {{0xbb, 0xbb, 0xbb}, 0.5, 1};
static const struct pen grid = {{0xe4, 0xe4, 0xe4}, 0.4, 1};
static const struct pen edge = {{0x99, 0x99, 0x99}, 0.4, 1};

void loglog_fit(struct loglog *plot)
{
    plot->names = 0;
    for (size_t p = 0; p < plot->panel_count; p++) {
        const struct loglog_panel *panel = &plot->panels[p];
        for (size_t i = 0; i < panel->line_count; i++) {
            double width = letters_width(panel->lines[i].name, name.size) +
                           letters_width(panel->lines[i].note, name.size) +
                           letters_width("  ", name.size);
            plot->names = fmax(plot->names, width);
        }
    }
    double panel = LEFT + PANEL_WIDTH + 2 * MARK + plot->names;
    plot->width = 2 * MARGIN + (double)plot->panel_count * (panel + GAP) - GAP;
    plot->height = 2 * MARGIN + TITLE_ROOM + PANEL_TITLE + PANEL_HEIGHT + BELOW;
}

/* --- axes ------------------------------------------------------------------------------------- */

/* One panel while it is drawn. */
struct frame {
    const struct loglog *plot;
    const struct loglog_panel *panel;
    struct box area;
    double left, right, low, high; /* logarithms at the edges */
};

static double find_x(const struct frame *frame, double value)
{
    return frame->area.x +
           (log(value) - frame->left) / (frame->right - frame->left) * frame->area.width;
}

static double find_y(const struct frame *frame, double value)
{
    return frame->area.y +
           (frame->high - log(value)) / (frame->high - frame->low) * frame->area.height;
}

/* Whole powers of the base around all values, and a little room beside the first and last place. */
static void find_edges(struct frame *frame)
{
    const struct loglog *plot = frame->plot;
    double low = INFINITY;
    double high = -INFINITY;
    double unit = log(frame->panel->base);
    for (size_t i = 0; i < frame->panel->line_count; i++) {
        for (size_t p = 0; p < plot->place_count; p++) {
            low = fmin(low, log(frame->panel->lines[i].values[p]));
            high = fmax(high, log(frame->panel->lines[i].values[p]));
        }
    }
    frame->low = floor(low / unit + 1e-9) * unit;
    frame->high = fmax(ceil(high / unit - 1e-9) * unit, frame->low + unit);
    double first = log((double)plot->places[0]);
    double last = log((double)plot->places[plot->place_count - 1]);
    frame->left = first - 0.05 * (last - first);
    frame->right = last + 0.05 * (last - first);
}

static void draw_line(struct canvas *canvas, double x0, double y0, double x1, double y1,
                      const struct pen *pen)
{
    const struct point points[] = {{x0, y0}, {x1, y1}};
    canvas_path(canvas, points, 2, pen);
}

/* Powers of the base, as many as stand clear of each other. */
static void draw_rows(const struct frame *frame, struct canvas *canvas)
{
    char text[NUMBER_BYTES];
    struct lettering lettering = number;
    struct box area = frame->area;
    double unit = log(frame->panel->base);
    double powers = (frame->high - frame->low) / unit;
    double step = unit * ceil(powers / TICKS_MAX - 1e-9);
    lettering.anchor = ANCHOR_END;
    for (double at = frame->low; at <= frame->high + 1e-9; at += step) {
        double y = find_y(frame, exp(at));
        draw_line(canvas, area.x, y, area.x + area.width, y, &grid);
        draw_line(canvas, area.x - TICK, y, area.x, y, &edge);
        canvas_text(canvas, (struct point){area.x - TICK - 2, y + 2},
                    frame->panel->label(text, exp(at)), &lettering);
    }
}

/* The places, but for those whose numbers would run into the one before. */
static void draw_columns(const struct frame *frame, struct canvas *canvas)
{
    char text[NUMBER_BYTES];
    struct lettering lettering = number;
    struct box area = frame->area;
    double below = area.y + area.height;
    double free = area.x;
    lettering.anchor = ANCHOR_MIDDLE;
    for (size_t i = 0; i < frame->plot->place_count; i++) {
        double x = find_x(frame, (double)frame->plot->places[i]);
        snprintf(text, sizeof text, "%zu", frame->plot->places[i]);
        double half = letters_width(text, number.size) / 2;
        draw_line(canvas, x, area.y, x, below, &grid);
        draw_line(canvas, x, below, x, below + TICK, &edge);
        if (i > 0 && x - half < free)
            continue;
        canvas_text(canvas, (struct point){x, below + TICK + 7}, text, &lettering);
        free = x + half + 2;
    }
    canvas_text(canvas, (struct point){area.x + area.width / 2, below + TICK + 16},
                frame->plot->places_name, &lettering);
}

/* --- lines ------------------------------------------------------------------------------------ */

static void draw_marks(const struct frame *frame, const struct loglog_line *line,
                       struct canvas *canvas, struct colour colour)
{
    struct pen pen = {colour, 1.2, 1};
    struct point last = {0, 0};
    for (size_t i = 0; i < frame->plot->place_count; i++) {
        struct point at = {find_x(frame, (double)frame->plot->places[i]),
                           find_y(frame, line->values[i])};
        if (i > 0)
            draw_line(canvas, last.x, last.y, at.x, at.y, &pen);
        canvas_rect(canvas, (struct box){at.x - MARK / 2, at.y - MARK / 2, MARK, MARK}, colour);
        last = at;
    }
}

static double last_y(const struct frame *frame, size_t line)
{
    return find_y(frame, frame->panel->lines[line].values[frame->plot->place_count - 1]);
}

static int draw_name(const struct frame *frame, size_t index, double y, struct canvas *canvas,
                     struct err *err)
{
    const struct loglog_line *line = &frame->panel->lines[index];
    struct lettering lettering = name;
    struct buf text = {0};
    double x = frame->area.x + frame->area.width + MARK;
    lettering.colour = palette_line(index, frame->panel->line_count);
    buf_format(&text, "%s%s%s", line->name, *line->note ? "  " : "", line->note);
    int failed = buf_check(&text, err);
    if (!failed)
        canvas_text(canvas, (struct point){x, y + 2.2}, text.bytes, &lettering);
    buf_release(&text);
    return failed;
}

/* The line whose end comes next below another's; of ends at one height, in their order. */
static size_t next_below(const struct frame *frame, size_t above)
{
    size_t count = frame->panel->line_count;
    size_t next = count;
    for (size_t i = 0; i < count; i++) {
        double y = last_y(frame, i);
        bool below =
            above == count || y > last_y(frame, above) || (y >= last_y(frame, above) && i > above);
        if (below && (next == count || y < last_y(frame, next)))
            next = i;
    }
    return next;
}

/* At the ends of the lines, from the uppermost on, none over another. */
static int draw_names(const struct frame *frame, struct canvas *canvas, struct err *err)
{
    size_t count = frame->panel->line_count;
    double free = frame->area.y;
    for (size_t i = 0, at = count; i < count; i++) {
        at = next_below(frame, at);
        double y = fmax(last_y(frame, at), free);
        if (draw_name(frame, at, y, canvas, err))
            return -1;
        free = y + NAME_HEIGHT;
    }
    return 0;
}

static int draw_panel(const struct frame *frame, struct canvas *canvas, struct err *err)
{
    canvas_open(canvas, frame->panel->title);
    canvas_text(canvas, (struct point){frame->area.x, frame->area.y - 4}, frame->panel->title,
                &panel_title);
    draw_rows(frame, canvas);
    draw_columns(frame, canvas);
    canvas_frame(canvas, frame->area, &border);
    for (size_t i = 0; i < frame->panel->line_count; i++) {
        struct colour colour = palette_line(i, frame->panel->line_count);
        draw_marks(frame, &frame->panel->lines[i], canvas, colour);
    }
    int failed = draw_names(frame, canvas, err);
    canvas_close(canvas);
    return failed;
}

int loglog_draw(const struct loglog *plot, struct canvas *canvas, struct err *err)
{
    double x = MARGIN;
    canvas_text(canvas, (struct point){MARGIN, MARGIN + plot_title.size - 1}, plot->title,
                &plot_title);
    for (size_t p = 0; p < plot->panel_count; p++) {
        struct frame frame = {
            .plot = plot,
            .panel = &plot->panels[p],
            .area = {x + LEFT, MARGIN + TITLE_ROOM + PANEL_TITLE, PANEL_WIDTH, PANEL_HEIGHT},
        };
        find_edges(&frame);
        if (draw_panel(&frame, canvas, err))
            return -1;
        x += LEFT + PANEL_WIDTH + 2 * MARK + plot->names + GAP;
    }
    return 0;
}
