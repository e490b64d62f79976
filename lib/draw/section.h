/* section.h: a section of a figure, for the files that draw it: section.c, panel.c, curves.c and
 * arrows.c. A section shows each layer and head as a small picture, its panel, or is a chart or
 * coloured text. figure.c places sections below one another.
 *
 *     struct section section = {.what = {.sheets = sheets, .layers = 1, .heads = 1}};
 *     if (section_plan(&section, style, width, &arena, err)) ...
 *     section_draw(&section, canvas);
 */
#pragma once

#include "draw/canvas.h"
#include "lens/sheet.h"
#include "write/style.h"

enum { SECTION_NOTES_MAX = 32 /* maximum number of lines in `notes` */ };

enum section_kind { KIND_MATRIX, KIND_LINES, KIND_ARROWS, KIND_TEXT, KIND_BARS, KIND_CURVES };

/* Matrices of one kind, which are drawn together. All have the size of the first. */
struct section_sheets {
    const struct sheet *sheets; /* [layers, heads] the matrices */
    size_t layers, heads;
    /* name of the kind of attention, if several sections show attention weights; else NULL */
    const char *attention;
    bool first_hidden, cropped;
    bool listed; /* panels are single heads of different layers: each names its layer and head */
    bool fills;  /* if the section is a single matrix whose columns are not keys, it may be as wide
                  * as the page */
    /* `shares_bar`: all sections with attention weights share one colour bar; `barless`: another
     * section shows this bar */
    bool barless, shares_bar;
};

/* An axis fitted to a length. If not all labels fit, every n-th position has a label, or its
 * number. */
struct axis_fit {
    size_t step;  /* number of positions in a cell */
    size_t cells; /* number of cells along the axis */
    double pitch; /* size of a cell along the axis */
    double size;  /* font size of labels; 0: no labels */
    size_t every; /* every n-th position has a label; n is 1, 2 or 5 times a power of ten */
    double turn;  /* angle of column labels: 0, -45 or -90 degrees */
    /* largest width of labels: wider labels are shortened, except level labels of columns */
    double label;
    double depth; /* space for labels perpendicular to the axis */
    double over;  /* space for column labels beyond the last cell */
};

struct section {
    enum section_kind kind;
    const struct style *style;
    struct section_sheets what;
    size_t panels, across; /* `panels`: number of panels; `across`: number of panels in a row */
    size_t tracks;         /* number of heads in a panel: 1 or, in an overlay, all of the layer */
    bool by_layer; /* panels are a grid with a row for each layer and a column for each head */
    struct colour_norms norms;
    struct ramp ramp;
    struct axis_fit rows, columns;
    double number_size;                   /* font size of numbers in cells; 0: no numbers */
    struct numeral numeral;               /* format of numbers in cells */
    const char *row_title, *column_title; /* titles of the axes; NULL: no title */
    const char *bar_title;
    /* labels such as "(a)": index of the first label, and number of labels */
    size_t first_label, label_count;
    struct point at;  /* upper left corner in the figure */
    double limit;     /* width limit of the section */
    double bar_limit; /* width limit of the colour bar with its title */
    double head;      /* height of the subtitle; 0: there is none */
    struct box area;  /* area of cells or lines in the panel; for curves, in the section */
    double panel_width, panel_height; /* size of a panel, including the gap after it */
    double left, top;                 /* space left of the panels and above them */
    double foot;                      /* y coordinate of the colour bar or legend, below the
                                       * panels */
    double width, height;             /* size of the section with its titles and colour bar */
    const char *subtitle;
    const char *notes[SECTION_NOTES_MAX]; /* lines below the colour bar */
    size_t note_count;
    struct bars *bars; /* data of bar charts, for KIND_BARS */
};

static const double FIGURE_MARGIN = 12;
static const double FIGURE_WIDEST = 504; /* width in points of two columns of a paper */
static const double SLANT = 0.7072;      /* approximate sine and cosine of 45 degrees */

/* Weights below this share of the colour scale are not drawn as lines. */
static const double LINES_LEAST = 0.03;

/* Return the font size (type_size) and the line height (type_line) of a kind of text. If
 * form.font_size is given, every kind of text has this size. */
enum type_kind { TYPE_TITLE, TYPE_SUBTITLE, TYPE_NAME, TYPE_NUMBER, TYPE_TEXT };

double type_size(const struct figure_form *form, enum type_kind kind);
double type_line(const struct figure_form *form, enum type_kind kind);
double section_line(const struct section *section, enum type_kind kind);
struct font section_font(const struct section *section, enum type_kind kind, uint32_t hex);

/* True in print: the figure has a given width, which nothing may exceed, and sizes need not be
 * multiples of pixels. */
static inline bool section_is_printed(const struct section *section)
{
    return section->style->form.width > 0;
}

/* Lay out a section within the width `limit`. Before the call, all its members but `what` must be
 * 0. The arena owns the layout; the sheets and the style must outlive the section. */
int section_plan(struct section *section, const struct style *style, double limit,
                 struct arena *arena, struct err *err);

/* section_drop_notes removes the notes that `other`, the section with the common colour bar, also
 * has. section_draw draws a section. */
void section_drop_notes(struct section *section, const struct section *other);
void section_draw(const struct section *section, struct canvas *canvas);

/* Draw a panel's label in bold; returns its width including a gap. */
double section_draw_label(const struct section *section, size_t panel, struct canvas *canvas,
                          struct point at);

/* Draw a panel: its cells, lines or arrows, and the labels around them. */
void panel_draw(const struct section *section, size_t index, struct canvas *canvas);

/* Fit and draw a chart with a line for each column of a sheet (curves.c). */
void curves_fit(struct section *section);
void curves_draw(const struct section *section, struct canvas *canvas);

/* sheet_is_spatial: true if rows are vectors of three numbers. arrows_fit and arrows_draw lay them
 * out and draw them as arrows in space (arrows.c). */
bool sheet_is_spatial(const struct sheet *sheet);
void arrows_fit(struct section *section);
void arrows_draw(const struct section *section, const struct sheet *sheet, struct canvas *canvas,
                 struct box area);

/* Return the smallest number of the form 1, 2 or 5 times a power of ten that fits at most five
 * times into `whole`. */
double nice_step(double whole);

/* An axis of numbers: multiples of a step from `low` to `high`, and their number format. */
struct scale {
    double low, high, step;
    struct numeral numeral;
};

/* Return the scale of multiples of `step` that encloses two numbers (curves.c). */
struct scale scale_around(double low, double high, double step);

/* Reduce a sheet to the section's cells. A cell with several values shows the maximum or, on a
 * two-sided scale, the value farthest from 0: a mean would hide a single high weight. */
int cells_make(struct cells *cells, const struct section *section, const struct sheet *sheet,
               struct arena *arena, struct err *err);

/* Choose the format of numbers in cells (at most two decimals, fewer for large numbers) and the
 * font size at which the widest number fits. The size is 0 if there are no numbers: they are off or
 * do not fit, cells have several values or, unless cells have texts, all numbers are below 0.1 in
 * magnitude but not all are 0. */
void panel_fit_numbers(struct section *section);

/* True if numbers that round to 0 are left out: colours tell their cells from masked cells. A
 * single column shows all its numbers. */
bool panel_blanks(const struct section *section);

/* True if the mark refers to a cell of the sheet. */
bool cell_is_marked(const struct cell_mark *mark, const struct sheet *sheet);

/* Divide a length into cells for `size` positions. In print the cells fill the length. On screen, a
 * cell is at most `largest`, and pitches are multiples of half a pixel: all cells look equally
 * large. axis_fit_snap rounds a length up to such a multiple; axis_cells is the number of cells if
 * each has `step` positions. */
struct axis_fit axis_fit_cells(const struct section *section, size_t size, double length,
                               double largest);
double axis_fit_snap(double length);
size_t axis_cells(size_t size, size_t step);

static inline double axis_fit_length(const struct axis_fit *fit)
{
    return fit->pitch * (double)fit->cells;
}

/* Fit the labels of an axis; `limit` is the space for them perpendicular to the axis. Labels of
 * columns are level if they fit or are numbers. */
void axis_fit_labels(struct axis_fit *fit, const struct axis *axis, bool columns, double limit,
                     const struct figure_form *form);

/* True if the axis shows numbers of positions in place of labels. */
bool axis_is_numbered(const struct axis *axis, const struct axis_fit *fit);

/* Draw the labels next to rows, or above or below columns. `corner`: the corner of the first cell
 * on this side. */
enum axis_side { AXIS_LEFT, AXIS_RIGHT, AXIS_ABOVE, AXIS_BELOW };
void axis_draw(struct canvas *canvas, const struct axis *axis, const struct axis_fit *fit,
               struct point corner, enum axis_side side);
