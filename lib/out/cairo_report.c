/* cairo_report.c: a report as one picture, in PNG and PDF. */
#include "draw/cairo_canvas.h"
#include "draw/figure.h"
#include "out/format.h"

static int write_figure(struct stream *out, enum cairo_form form, const struct figure *figure,
                        struct err *err)
{
    struct cairo_canvas cairo;
    struct cairo_page page = {figure->width, figure->height, figure->title};
    if (cairo_begin(&cairo, form, out, &page, err))
        return -1;
    int failed = figure_draw(figure, &cairo.canvas, err);
    return cairo_end(&cairo, err) || failed ? -1 : 0;
}

static int write_report(struct stream *out, enum cairo_form form, const struct report *report,
                        const struct place *place, struct err *err)
{
    struct arena arena = {0};
    struct figure figure;
    const struct style *style = place->style ? place->style : &style_default;
    int failed =
        figure_plan(&figure, report, style, &arena, err) || write_figure(out, form, &figure, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}

int png_report_write(struct stream *out, const struct report *report, const struct place *place,
                     struct err *err)
{
    return write_report(out, CAIRO_PNG, report, place, err);
}

int pdf_report_write(struct stream *out, const struct report *report, const struct place *place,
                     struct err *err)
{
    return write_report(out, CAIRO_PDF, report, place, err);
}

int cairo_report_check(struct err *err)
{
    return cairo_library_load(err) ? 0 : -1;
}
