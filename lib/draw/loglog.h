/* loglog.h: lines on two logarithmic axes, in several panels side by side: what grows as a power of
 * something is straight there, and its slope is the power.
 *
 *     struct loglog_line lines[] = {{"dense", "n^1.98", seconds}, …};
 *     struct loglog_panel panels[] = {{"time", lines, 3, tick_label}};
 *     struct loglog plot = {"attention", "tokens", x, 5, panels, 1};
 *     loglog_fit(&plot);
 *     svg_begin(&svg, out, &page);
 *     if (loglog_draw(&plot, &svg.canvas, err)) ...
 */
#ifndef ATTN_DRAW_LOGLOG_H
#define ATTN_DRAW_LOGLOG_H

#include "draw/canvas.h"

struct loglog_line {
    const char *name;
    const char *note;     /* after the name: "n^1.98"; "": none */
    const double *values; /* above 0, one a place */
};

struct loglog_panel {
    const char *title;
    const struct loglog_line *lines;
    size_t line_count;
    double base; /* of the numbers at the axis: 10, or 2 for bytes */
    const char *(*label)(char text[32], double value);
};

struct loglog {
    const char *title;
    const char *places_name;
    const size_t *places; /* rising, above 0, at least two */
    size_t place_count;
    const struct loglog_panel *panels;
    size_t panel_count;

    double width, height; /* points, of it all */
    double names;         /* what names at the ends of lines take */
};

/* Find out how much room it takes. */
void loglog_fit(struct loglog *plot);

int loglog_draw(const struct loglog *plot, struct canvas *canvas, struct err *err);

#endif
