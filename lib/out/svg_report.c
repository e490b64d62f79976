/* svg_report.c: a report as one picture, in SVG. */
#include "draw/figure.h"
#include "draw/svg_canvas.h"
#include "out/format.h"

int svg_report_write(struct stream *out, const struct report *report, const struct place *place,
                     struct err *err)
{
    struct arena arena = {0};
    struct figure figure;
    struct svg_canvas svg;
    const struct style *style = place->style ? place->style : &style_default;
    int failed = figure_plan(&figure, report, style, &arena, err);
    if (!failed) {
        svg_begin(&svg, out, figure.width, figure.height, figure.title);
        failed = figure_draw(&figure, &svg.canvas, err);
        svg_end(&svg);
    }
    arena_release(&arena);
    return failed;
}
