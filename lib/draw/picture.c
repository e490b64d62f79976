#include "draw/picture.h"

#include "draw/drawing.h"
#include "draw/svg_canvas.h"
#include "write/format.h"

static int write_svg(struct stream *out, const struct figure *figure, struct err *err)
{
    struct svg_canvas svg;
    svg_begin(&svg, out, figure->width, figure->height, figure->title);
    int failed = figure_draw(figure, &svg.canvas, err);
    svg_end(&svg);
    return failed;
}

static int write_cairo(struct stream *out, enum cairo_form form, const struct figure *figure,
                       struct err *err)
{
    struct drawing drawing;
    struct cairo_page page = {figure->width, figure->height, figure->title};
    if (drawing_begin(&drawing, form, out, &page, err))
        return -1;
    int failed = figure_draw(figure, &drawing.canvas, err);
    return drawing_end(&drawing, err) || failed ? -1 : 0;
}

int picture_write(struct stream *out, enum picture_form form, const struct figure *figure,
                  struct err *err)
{
    if (form == PICTURE_SVG)
        return write_svg(out, figure, err);
    return write_cairo(out, form == PICTURE_PNG ? CAIRO_PNG : CAIRO_PDF, figure, err);
}

int picture_check(enum picture_form form, struct err *err)
{
    return form == PICTURE_SVG ? 0 : drawing_check(err);
}

/* --- of a report: the rows of the table of formats -------------------------------------------- */

static int write_report(struct stream *out, enum picture_form form, const struct report *report,
                        const struct place *place, struct err *err)
{
    struct arena arena = {0};
    struct figure figure;
    const struct style *style = place->style ? place->style : &style_default;
    int failed =
        figure_plan(&figure, report, style, &arena, err) || picture_write(out, form, &figure, err);
    arena_release(&arena);
    return failed ? -1 : 0;
}

int picture_write_svg(struct stream *out, const struct report *report, const struct place *place,
                      struct err *err)
{
    return write_report(out, PICTURE_SVG, report, place, err);
}

int picture_write_png(struct stream *out, const struct report *report, const struct place *place,
                      struct err *err)
{
    return write_report(out, PICTURE_PNG, report, place, err);
}

int picture_write_pdf(struct stream *out, const struct report *report, const struct place *place,
                      struct err *err)
{
    return write_report(out, PICTURE_PDF, report, place, err);
}

int picture_check_cairo(struct err *err)
{
    return picture_check(PICTURE_PNG, err);
}
