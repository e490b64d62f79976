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
    /* maximum number of lines of the title; the last line ends with "…" if the title is longer */
    FIGURE_TITLE_LINES = 3,
    FIGURE_CAPTION_LINES = 12, /* maximum number of lines of the caption; more are left out */
    FIGURE_LISTS = 4,          /* maximum number of lists of tokens below the sections */
    /* most lines of all lists together; a list that would exceed this is omitted */
    FIGURE_LISTED = 256,
};

struct section; /* see section.h */

struct figure {
    struct drawing_page page;                    /* page size and full title */
    const char *title_lines[FIGURE_TITLE_LINES]; /* the title as it is drawn, in lines */
    size_t title_count;
    struct section *sections;
    size_t section_count;
    /* the texts (or labels of axes) whose tokens are listed, each once */
    const void *lists[FIGURE_LISTS];
    /* lines of the lists below the sections: "tokens:", "12 ␣cabinet", … */
    const char *listed[FIGURE_LISTED];
    size_t list_count, listed_count, listed_down;
    double listed_width; /* width of a column of `listed`, without the gap */
    const char *caption_lines[FIGURE_CAPTION_LINES]; /* below sections and lists */
    size_t caption_count;
    double margin;
    const struct figure_form *form;
};

/* Append the title of a figure: the user's title if it is not empty; else the model's name without
 * folders, report.about, and the texts or, without a text, report.mechanism. */
void figure_title(struct buf *out, const struct report *report, const struct style *style);

/* figure_plan lays out the figure of a report; figure_draw draws it. The arena owns the layout; the
 * report and style must remain valid. */
int figure_plan(struct figure *figure, const struct report *report, const struct style *style,
                struct arena *arena, struct err *err);
int figure_draw(const struct figure *figure, struct canvas *canvas, struct err *err);

/* Write a report as a figure on an HTML page; the first report begins the page. */
extern report_writer figure_write_page;
