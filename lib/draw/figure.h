/* figure.h: the figure of a report: a title and one section per kind of tensor. A section shows
 * each layer and head as a small picture (panel), or is one chart or coloured text.
 *
 *     struct figure figure;
 *     if (figure_plan(&figure, report, style, &arena, err) ||
 *         figure_draw(&figure, canvas, err)) ...
 */
#pragma once

#include "draw/canvas.h"
#include "lens/report.h"
#include "write/format.h"
#include "write/style.h"

enum {
    FIGURE_TITLE_LINES = 3, /* limit; the last line ends with "…" if the title is longer */
    FIGURE_LISTS = 4,       /* limit of lists of tokens, below the sections */
    FIGURE_LISTED = 256,    /* limit of lines of all lists together; a list beyond it is omitted */
};

struct section; /* section.h */

struct figure {
    struct drawing_page page;                    /* page size and full title */
    const char *title_lines[FIGURE_TITLE_LINES]; /* title as drawn */
    size_t title_count;
    struct section *sections;
    size_t section_count;
    const void *lists[FIGURE_LISTS];   /* the listed texts (or labels of axes), each once */
    const char *listed[FIGURE_LISTED]; /* "tokens:", "12 ␣cabinet", …, below the sections */
    size_t list_count, listed_count, listed_down;
    double listed_width; /* width of a column of `listed`, without the gap */
    double margin;
    const struct figure_form *form;
};

/* Append the title: the user's if not empty, else the model's name without folders, report.about,
 * and the texts or, without a text, report.mechanism. */
void figure_title(struct buf *out, const struct report *report, const struct style *style);

/* Lay out a report, then draw it. The arena owns the layout; the report and style stay in use. */
int figure_plan(struct figure *figure, const struct report *report, const struct style *style,
                struct arena *arena, struct err *err);
int figure_draw(const struct figure *figure, struct canvas *canvas, struct err *err);

/* Write a report as a figure of a page for browsers; the first report begins the page. */
extern report_writer figure_write_page;

/* Write each tensor without heads whose rows are three numbers (sheet_is_spatial) as an SVG of
 * arrows, in a <template> that names the text and the tensor by their indices. */
int figure_write_arrows(struct stream *out, const struct report *report, size_t text,
                        struct err *err);
