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
#include "lens/sheet.h"
#include "write/format.h"
#include "write/style.h"

enum {
    SECTION_NOTES_MAX = 32, /* limit of lines of `notes` */
    FIGURE_TITLE_LINES = 3, /* limit; the last line ends with "…" if the title is longer */
    FIGURE_LISTS = 4,       /* limit of lists of tokens, below the sections */
    FIGURE_LISTED = 256,    /* limit of lines of all lists together; a list beyond it is omitted */
};

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

/* --- for the files of figures: section.c, panel.c and others ---------------------------------- */

enum section_kind { KIND_MATRIX, KIND_LINES, KIND_ARROWS, KIND_TEXT, KIND_BARS, KIND_CURVES };

/* Matrices of one kind, drawn together; all have the size of the first. */
struct section_sheets {
    const struct sheet *sheets; /* [layers, heads] */
    size_t layers, heads;
    const char *attention; /* its name, if several sections show attention weights; else NULL */
    bool first_hidden, cropped;
    bool listed; /* single heads of layers, with different numbers: a panel names both */
    bool fills;  /* a single matrix without keys may be as wide as the page */
    bool barless, shares_bar; /* attentions share a colour bar; barless: another section has it */
};

/* An axis fitted to a length. If not all labels fit, every n-th position has one, or its number. */
struct axis_fit {
    size_t step;  /* positions per cell */
    size_t cells; /* number of cells */
    double pitch; /* size of a cell along the axis */
    double size;  /* font size of labels; 0: no labels */
    size_t every; /* label every n-th position: 1, 2 or 5 times a power of ten */
    double turn;  /* angle of column labels: 0, -45 or -90 degrees */
    double label; /* wider labels are shortened, except level ones of columns */
    double depth; /* space that labels take perpendicular to the axis */
    double over;  /* space for column labels beyond the last cell */
};

struct section {
    enum section_kind kind;
    const struct style *style;
    struct section_sheets what;
    size_t panels, across; /* number of panels, in all and per row */
    size_t tracks;         /* heads per panel: 1, or in an overlay all of the layer */
    bool by_layer;         /* grid with a row for each layer and a column for each head */
    struct colour_norms norms;
    struct ramp ramp;
    struct axis_fit rows, columns;
    double number_size;                   /* font size of numbers in cells; 0: no numbers */
    struct numeral numeral;               /* format of numbers in cells */
    const char *row_title, *column_title; /* NULL: none */
    const char *bar_title;
    size_t first_label, label_count;  /* labels like "(a)": index of the first; number */
    struct point at;                  /* upper left corner in the figure */
    double limit;                     /* width limit of the section */
    double bar_limit;                 /* width limit of the colour bar with its title */
    double head;                      /* height of the subtitle */
    struct box area;                  /* cells or lines, in the panel; of curves in the section */
    double panel_width, panel_height; /* size of a panel with the gap after it */
    double left, top;                 /* space left of the panels and above them */
    double foot;                      /* y of the colour bar or legend, below the panels */
    double width, height;             /* size with titles and colour bar */
    const char *subtitle;
    const char *notes[SECTION_NOTES_MAX]; /* lines below the colour bar */
    size_t note_count;
    struct bars *bars; /* for KIND_BARS */
};

static const double FIGURE_MARGIN = 12;
static const double FIGURE_WIDEST = 504; /* two columns of a paper */
static const double SLANT = 0.7072;      /* sine and cosine of 45 degrees, about */

/* Weights below this share of the colour scale are not drawn as lines. */
static const double LINES_LEAST = 0.03;

/* Font size and line height for a kind of text; a given form.font_size applies to all kinds. */
enum type_kind { TYPE_TITLE, TYPE_SUBTITLE, TYPE_NAME, TYPE_NUMBER, TYPE_TEXT };

double type_size(const struct figure_form *form, enum type_kind kind);
double type_line(const struct figure_form *form, enum type_kind kind);
double section_line(const struct section *section, enum type_kind kind);
struct font section_font(const struct section *section, enum type_kind kind, uint32_t hex);

/* True if the figure has a given width, which nothing may exceed, and pixels do not matter. */
static inline bool section_is_printed(const struct section *section)
{
    return section->style->form.width > 0;
}

/* Lay out a section within a width; all its members but `what` are 0 before. The arena owns the
 * layout; the sheets and the style must outlive the section. */
int section_plan(struct section *section, const struct style *style, double limit,
                 struct arena *arena, struct err *err);

/* Remove the notes that `other`, the section with the common colour bar, has as well. */
void section_drop_notes(struct section *section, const struct section *other);
void section_draw(const struct section *section, struct canvas *canvas);

/* Draw a panel's label in bold; returns its width including a gap. */
double section_draw_label(const struct section *section, size_t panel, struct canvas *canvas,
                          struct point at);

/* Draw a panel: its cells, lines or arrows, and the labels around them. */
void panel_draw(const struct section *section, size_t index, struct canvas *canvas);

/* A line for each column of a sheet (curves.c). */
void curves_fit(struct section *section);
void curves_draw(const struct section *section, struct canvas *canvas);

/* Vectors of three numbers as arrows in space (arrows.c). */
bool sheet_is_spatial(const struct sheet *sheet);
void arrows_fit(struct section *section);
void arrows_draw(const struct section *section, const struct sheet *sheet, struct canvas *canvas,
                 struct box area);

/* Return 1, 2 or 5 times a power of ten that fits at most five times into `whole`. */
double nice_step(double whole);

/* An axis of numbers: multiples of a step, and their number format. */
struct scale {
    double low, high, step;
    struct numeral numeral;
};

/* The multiples of a step that enclose two numbers (curves.c). */
struct scale scale_around(double low, double high, double step);

/* Reduce a sheet to the section's cells. A cell of several values shows the maximum, or on a
 * two-sided scale the value farthest from 0: a mean would hide a single high weight. */
int cells_make(struct cells *cells, const struct section *section, const struct sheet *sheet,
               struct arena *arena, struct err *err);

/* Choose the number format (at most two decimals, fewer for large numbers) and the font size at
 * which the widest number fits. Size 0: there are no numbers, they are off or do not fit, cells
 * have several values or, unless cells have texts, all are below 0.1 in magnitude but not all 0. */
void panel_fit_numbers(struct section *section);

/* True if some numbers are left out because they round to 0: the colours tell their cells from
 * masked ones. A single column has all its numbers. */
bool panel_blanks(const struct section *section);

/* True if the mark refers to a cell of the sheet. */
bool cell_is_marked(const struct cell_mark *mark, const struct sheet *sheet);

/* Divide a length into cells for `size` positions. In print the cells fill the length. On screen, a
 * cell is at most `largest`, and pitches are multiples of half a pixel, so that all cells look
 * equally large. axis_fit_snap rounds a length up to such a multiple. */
struct axis_fit axis_fit_cells(const struct section *section, size_t size, double length,
                               double largest);
double axis_fit_snap(double length);
size_t axis_cells(size_t size, size_t step);

static inline double axis_fit_length(const struct axis_fit *fit)
{
    return fit->pitch * (double)fit->cells;
}

/* Fit labels into `limit` across the axis; of columns, level ones if they fit or are numbers. */
void axis_fit_labels(struct axis_fit *fit, const struct axis *axis, bool columns, double limit,
                     const struct figure_form *form);

/* True if the axis shows numbers of positions in place of labels. */
bool axis_is_numbered(const struct axis *axis, const struct axis_fit *fit);

/* Draw labels beside rows, or above or below columns. `corner`: the first cell's on that side. */
enum axis_side { AXIS_LEFT, AXIS_RIGHT, AXIS_ABOVE, AXIS_BELOW };
void axis_draw(struct canvas *canvas, const struct axis *axis, const struct axis_fit *fit,
               struct point corner, enum axis_side side);
