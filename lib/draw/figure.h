/* figure.h: the picture of a report: a title, and a section for each kind of tensor in it.
 *
 *     struct figure figure;
 *     if (figure_plan(&figure, report, style, &arena, err) ||
 *         figure_write(&stream, DRAWING_PDF, &figure, err)) ...
 */
#ifndef ATTN_DRAW_FIGURE_H
#define ATTN_DRAW_FIGURE_H

#include "draw/drawing.h"
#include "draw/section.h"

struct figure {
    const char *title; /* all of it; on the picture it may be shortened … */
    double title_room; /* … or, where none is wanted, have no room: then it names the file alone */
    struct section *sections;
    size_t section_count;
    double width, height; /* points */
};

/* Append the title: the one that was given, where it is not empty; else the model's name and the
 * sentence. */
void figure_title(struct buf *out, const struct report *report, const struct style *style);

/* Lay out a report, which lives longer than the figure. The memory is the arena's. */
int figure_plan(struct figure *figure, const struct report *report, const struct style *style,
                struct arena *arena, struct err *err);

/* Lay out sheets that are no report's, [count] kinds of them: a section for each. */
int figure_plan_sheets(struct figure *figure, const char *title, const struct section_sheets *kinds,
                       size_t count, const struct style *style, struct arena *arena,
                       struct err *err);

int figure_draw(const struct figure *figure, struct canvas *canvas, struct err *err);

/* Draw it in one of the forms. */
int figure_write(struct stream *out, enum drawing_form form, const struct figure *figure,
                 struct err *err);

#endif
