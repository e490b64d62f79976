#include "draw/log_plot.h"

#include <math.h>
#include <stdio.h>

static const struct lettering right = {
    .size = 7, .colour = {0x22, 0x22, 0x22}, .anchor = ANCHOR_END};
static const struct pen border = {{0x99, 0x99, 0x99}, 0.5, 1};

static double share(double value, double low, double high)
{
    return log(fmax(value, 1e-9) / low) / log(high / low);
}

void log_plot_draw(const struct log_plot *plot, struct canvas *canvas, double top)
{
    struct box box = {40, top + 30, 190, 115};
    struct lettering left = right;
    double low = INFINITY;
    double high = 0;
    char text[32];
    left.anchor = ANCHOR_START;
    for (size_t i = 0; i < plot->line_count * plot->count; i++) {
        low = fmin(low, fmax(plot->lines[i / plot->count].values[i % plot->count], 1e-9));
        high = fmax(high, plot->lines[i / plot->count].values[i % plot->count]);
    }
    low = pow(10, floor(log10(low) + 1e-9)); /* whole powers of ten */
    high = fmax(pow(10, ceil(log10(high) - 1e-9)), 10 * low);
    canvas_text(canvas, (struct point){box.x, box.y - 16}, plot->title, &left);
    canvas_text(canvas, (struct point){box.x - 4, box.y - 5}, plot->y_name, &right);
    canvas_frame(canvas, box, &border);
    for (double tick = low; tick <= high * 1.001; tick *= 10) {
        double y = box.y + box.height * (1 - share(tick, low, high));
        snprintf(text, sizeof text, "%.0e", tick);
        canvas_path(canvas, (struct point[]){{box.x - 3, y}, {box.x, y}}, 2, &border);
        canvas_text(canvas, (struct point){box.x - 5, y + 2}, text, &right);
    }
    for (size_t line = 0; line < plot->line_count; line++) {
        struct pen pen = {palette_line(line, plot->line_count), 1.2, 1};
        struct point points[2];
        for (size_t i = 0; i < plot->count; i++) {
            double first = (double)plot->x[0];
            double last = (double)plot->x[plot->count - 1];
            double y = share(plot->lines[line].values[i], low, high);
            points[i % 2].x = box.x + box.width * share((double)plot->x[i], first, last);
            points[i % 2].y = box.y + box.height * (1 - y);
            if (i > 0)
                canvas_path(canvas, (struct point[]){points[1 - i % 2], points[i % 2]}, 2, &pen);
            snprintf(text, sizeof text, "%zu", plot->x[i]);
            if (line == 0)
                canvas_text(canvas, (struct point){points[i % 2].x + 6, box.y + box.height + 10},
                            text, &right);
        }
        left.colour = pen.colour;
        canvas_text(canvas, (struct point){box.x + box.width + 8, box.y + 8 + 10 * (double)line},
                    plot->lines[line].name, &left);
    }
}
