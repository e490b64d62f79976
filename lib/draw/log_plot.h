/* log_plot.h: lines on two logarithmic axes, where a power is a straight line. */
#ifndef ATTN_DRAW_LOG_PLOT_H
#define ATTN_DRAW_LOG_PLOT_H

#include "draw/canvas.h"

#define LOG_PLOT_WIDTH 340.0
#define LOG_PLOT_HEIGHT 170.0

struct log_line {
    const char *name;
    const double *values; /* one for each x; drawn as at least 1e-9 */
};

struct log_plot {
    const char *title, *y_name;
    const size_t *x; /* rising, at least two */
    size_t count;
    const struct log_line *lines;
    size_t line_count;
};

/* Draw it LOG_PLOT_WIDTH by LOG_PLOT_HEIGHT points large, `top` points below the upper edge. */
void log_plot_draw(const struct log_plot *plot, struct canvas *canvas, double top);

#endif
